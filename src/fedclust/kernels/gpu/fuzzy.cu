// Memberships and their sums. ---------------------------------------------------------------------

#if CELLS && !EXACT && F <= 64
// Up to 64 features and 64 clusters, in one pass. A block takes 32 rows at a time: distances come from
// matrix products, then a thread takes a quarter of a row's memberships, and sums are products again.
#define EIGHTHS (((F) + 7) / 8)
#define SPREAD (EIGHTHS * 8 + 4)        // from row to row: lanes do not wait for one bank
#define CLUSTERS (CELLS * 16)
#define SPACED 36                       // from cluster to cluster of D
#define OWN_CLUSTERS (CELLS * 4)        // of a thread
#define OWN_EIGHTHS ((EIGHTHS + 3) / 4) // of columns, of a warp
#define TILES (sizeof(ROW) == 4 ? 2 : 1) // of rows; three blocks of a multiprocessor have to fit

__device__ inline void fetch_rows(const ROW* X, long long first, long long n, ROW* tile) {
  const int bytes = F * sizeof(ROW), unit = bytes % 16 == 0 ? 16 : (int)sizeof(ROW);
#pragma unroll 4
  for (int i = threadIdx.x; i < 32 * (bytes / unit); i += THREADS) {
    int row = i / (bytes / unit), at = i % (bytes / unit) * unit;
    bool there = first + row < n;
    copy_ahead<unit>((char*)(tile + row * SPREAD) + at,
                     (const char*)(X + (there ? first + row : 0) * F) + at, there);
  }
  end_of_copies();
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
    fuzzy_in_blocks(const ROW* X, const double* w, long long n, const double* centers, int k,
                    const double* shift, double fuzzifier, double* sums) {
  extern __shared__ double shared[];
  double* C = shared;                       // (CLUSTERS, SPREAD)
  double* D = C + CLUSTERS * SPREAD;        // (CLUSTERS, SPACED): distances, then memberships
  double* norms = D + CLUSTERS * SPACED;
  double* moved = norms + CLUSTERS;
  double* totals = moved + EIGHTHS * 8;     // (4, 32)
  double* lost = totals + THREADS;          // the last turn in which a distance had to be repaired
  ROW* tiles = (ROW*)(lost + 2);            // (TILES, 32, SPREAD)
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;

  long long step = (long long)gridDim.x * 32, first = (long long)blockIdx.x * 32;
  fetch_rows(X, first, n, tiles);
  for (int i = threadIdx.x; i < CLUSTERS * SPREAD; i += THREADS)
    C[i] = i / SPREAD < k && i % SPREAD < F ? centers[i / SPREAD * F + i % SPREAD] : 0.0;
  for (int i = threadIdx.x; i < CLUSTERS * SPACED; i += THREADS) D[i] = 0.0;
  for (int i = threadIdx.x; i < EIGHTHS * 8; i += THREADS)
    moved[i] = shift && i < F ? shift[i] : 0.0;
  for (int i = threadIdx.x; i < TILES * 32 * SPREAD; i += THREADS)
    if (i % SPREAD >= F) tiles[i] = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < CLUSTERS; c += THREADS) {
    double square = 0.0;
    for (int f = 0; f < F; f++) square = fused(C[c * SPREAD + f], C[c * SPREAD + f], square);
    norms[c] = square;
  }
  double sum[CELLS][OWN_EIGHTHS][4], mass[2] = {0.0, 0.0};
#pragma unroll
  for (int i = 0; i < CELLS; i++) {
#pragma unroll
    for (int j = 0; j < OWN_EIGHTHS; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) sum[i][j][e] = 0.0;
  }

  if (threadIdx.x == 0) *lost = -1.0;
  for (int turn = 0; first < n; first += step, turn++) {
    const ROW* tile = tiles + turn % TILES * 32 * SPREAD;
    wait_for_copies<0>();
    __syncthreads();
    if (TILES > 1) fetch_rows(X, first + step, n, tiles + (turn + 1) % TILES * 32 * SPREAD);

    // Products of 16 rows and half of the clusters.
    int r0 = warp % 2 * 16, c0 = warp / 2 * CELLS * 8;
    double product[CELLS][4], square[2] = {0.0, 0.0};
#pragma unroll
    for (int j = 0; j < CELLS; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) product[j][e] = 0.0;
#pragma unroll 4
    for (int f0 = 0; f0 < EIGHTHS * 8; f0 += 8) {
      double a[4];
#pragma unroll
      for (int e = 0; e < 4; e++) {
        int f = f0 + e / 2 * 4 + t;
        a[e] = (double)tile[(r0 + e % 2 * 8 + g) * SPREAD + f];
        if (shift) a[e] -= moved[f];
        square[e % 2] = fused(a[e], a[e], square[e % 2]);
      }
#pragma unroll
      for (int j = 0; j < CELLS; j++) {
        const double* center = C + (c0 + j * 8 + g) * SPREAD + f0 + t;
        double b[2] = {center[0], center[4]};
        multiply_add(product[j], a, b);
      }
    }
    square[0] = sum_of_four(square[0]);
    square[1] = sum_of_four(square[1]);
#pragma unroll
    for (int j = 0; j < CELLS; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        int c = c0 + j * 8 + t * 2 + e % 2, row = r0 + e / 2 * 8 + g;
        double squares = square[e / 2] + norms[c], d = squares - 2.0 * product[j][e];
        if (!(d > CANCELLED * squares)) {
          d = -1.0;
          *lost = turn;
        }
        if (c < k) D[c * SPACED + row] = d;
      }
    __syncthreads();
    if (*lost == turn) {  // differences of squares have lost their digits
#pragma unroll 1
      for (int c = warp; c < k; c += WARPS)
        if (D[c * SPACED + lane] < 0.0) {
          double d = 0.0;
#pragma unroll 1
          for (int f = 0; f < F; f++) {
            double e = (double)tile[lane * SPREAD + f] - moved[f] - C[c * SPREAD + f];
            d = fused(e, e, d);
          }
          D[c * SPACED + lane] = d;
        }
      __syncthreads();
    }

    // Memberships, from powers of ratios to the shortest distance. For the usual fuzzifiers, inverse
    // powers of distances will do, unless they leave the range of numbers.
    double a[OWN_CLUSTERS], low = INFINITE, inverse = 0.0;
    if (!POWER)
      for (int c = 0; c < k; c++) low = D[c * SPACED + lane] < low ? D[c * SPACED + lane] : low;
#pragma unroll
    for (int i = 0; i < OWN_CLUSTERS; i++) {
      int c = warp * OWN_CLUSTERS + i;
      a[i] = 0.0;
      if (c < k)
        a[i] = POWER ? inverse_power(D[c * SPACED + lane])
                     : ratio_of(D[c * SPACED + lane], low, 1.0 / (fuzzifier - 1.0));
      inverse += a[i];
    }
    totals[threadIdx.x] = inverse;
    __syncthreads();
    inverse = 0.0;
#pragma unroll
    for (int i = 0; i < WARPS; i++) inverse += totals[i * 32 + lane];
    if (POWER && !(inverse > TINY_TOTAL && inverse < 1.0 / TINY_TOTAL)) {
      inverse = 0.0;
      for (int c = 0; c < k; c++) low = D[c * SPACED + lane] < low ? D[c * SPACED + lane] : low;
      for (int c = 0; c < k; c++)
        inverse += ratio_of(D[c * SPACED + lane], low, 1.0 / (fuzzifier - 1.0));
#pragma unroll
      for (int i = 0; i < OWN_CLUSTERS; i++) {
        int c = warp * OWN_CLUSTERS + i;
        if (c < k) a[i] = ratio_of(D[c * SPACED + lane], low, 1.0 / (fuzzifier - 1.0));
      }
    }
    __syncthreads();  // D is read above, and written below
    inverse = 1.0 / inverse;
    bool there = first + lane < n;
    double v = there ? WEIGHTED ? w[first + lane] : 1.0 : 0.0;
#pragma unroll
    for (int i = 0; i < OWN_CLUSTERS; i++) {
      int c = warp * OWN_CLUSTERS + i;
      if (c < k) D[c * SPACED + lane] = there ? power_of(a[i] * inverse, fuzzifier) * v : 0.0;
    }
    __syncthreads();

    // Sums of all clusters and a quarter of the columns.
#pragma unroll
    for (int r = 0; r < 32; r += 8) {
      double b[OWN_EIGHTHS][2];
#pragma unroll
      for (int j = 0; j < OWN_EIGHTHS; j++) {
        int f = (warp * OWN_EIGHTHS + j) * 8 + g;
#pragma unroll
        for (int half = 0; half < 2; half++)
          b[j][half] = f < F ? (double)tile[(r + half * 4 + t) * SPREAD + f] : 0.0;
      }
#pragma unroll
      for (int i = 0; i < CELLS; i++) {
        double u[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
          u[e] = D[(i * 16 + e % 2 * 8 + g) * SPACED + r + e / 2 * 4 + t];
        if (i == warp) {  // there are at most as many sixteens of clusters as warps
          mass[0] += u[0] + u[2];
          mass[1] += u[1] + u[3];
        }
#pragma unroll
        for (int j = 0; j < OWN_EIGHTHS; j++) multiply_add(sum[i][j], u, b[j]);
      }
    }
    if (TILES == 1) {
      __syncthreads();
      fetch_rows(X, first + step, n, tiles);
    }
  }
  wait_for_copies<0>();
  double* part = sums + (long long)blockIdx.x * k * FUZZY_COLUMNS;
#pragma unroll
  for (int i = 0; i < CELLS; i++)
#pragma unroll
    for (int half = 0; half < 2; half++) {
      int c = i * 16 + half * 8 + g;
      double all = sum_of_four(mass[half]);
      if (i == warp && t == 0 && c < k) part[c * FUZZY_COLUMNS + F] = all;
#pragma unroll
      for (int j = 0; j < OWN_EIGHTHS; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
          int f = (warp * OWN_EIGHTHS + j) * 8 + t * 2 + e;
          if (c < k && f < F) part[c * FUZZY_COLUMNS + f] = sum[i][j][half * 2 + e];
        }
    }
}
#endif

// In several kernels, for any number of features and clusters; and integer sums.
#if !CELLS
#if F <= 32 && EXACT
// Integer sums of u^m and u^m x, in one pass: every product is rounded. The memberships of a tile are in shared memory. Then every
// thread adds the products of 4 clusters and 4 columns over a share of the tile's rows.
extern "C" __global__ void fuzzy_fused(const ROW* X, const double* w, long long n,
                                       const double* centers, int k, const double* shift,
                                       double fuzzifier, double mass, const double* offset,
                                       const double* unit, SUM* sums) {
  extern __shared__ double shared[];
  int cells = (k + 3) / 4, columns = (FUZZY_COLUMNS + 3) / 4, tiles = cells * columns;
  int shares = THREADS / tiles;
  double* C = shared;
  double* D = C + k * F;                               // (4 cells, THREADS)
  double* steps = D + 4 * cells * THREADS;             // (THREADS, FUZZY_STRIDE), then 4 of slack
  ROW* tile = (ROW*)(steps + THREADS * FUZZY_STRIDE + 4);
  for (int i = threadIdx.x; i < k * F; i += THREADS) C[i] = centers[i];

  int own = threadIdx.x % tiles, share = threadIdx.x / tiles;
  int c0 = own / columns * 4, f0 = own % columns * 4;
  SUM sum[4][4];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) sum[i][j] = 0;

  for (long long first = (long long)blockIdx.x * THREADS; first < n;
       first += (long long)gridDim.x * THREADS) {
    int size = n - first < THREADS ? (int)(n - first) : THREADS;
    __syncthreads();
    for (int i = threadIdx.x; i < size * F; i += THREADS)
      tile[i / F * STRIDE + i % F] = X[first * F + i];
    __syncthreads();
    int t = threadIdx.x;
    double x[F], low = INFINITE, inverse = 0.0;
#pragma unroll
    for (int f = 0; f < F; f++) {
      double value = t < size ? (double)tile[t * STRIDE + f] : 0.0;
      x[f] = shift ? value - shift[f] : value;
      steps[t * FUZZY_STRIDE + f] = t < size ? on_grid(value, offset, unit, f) : 0.0;
    }
    steps[t * FUZZY_STRIDE + F] = mass;
    for (int c = 0; c < k; c++) {
      double d = 0.0;
#pragma unroll
      for (int f = 0; f < F; f++) {
        double e = x[f] - C[c * F + f];
        d = fused(e, e, d);
      }
      D[c * THREADS + t] = d;
      low = d < low ? d : low;
    }
    for (int c = 0; c < k; c++) {
      double a = ratio_of(D[c * THREADS + t], low, 1.0 / (fuzzifier - 1.0));
      D[c * THREADS + t] = a;
      inverse += a;
    }
    inverse = 1.0 / inverse;
    double v = t < size ? (WEIGHTED ? w[first + t] : 1.0) : 0.0;
    for (int c = 0; c < 4 * cells; c++)
      D[c * THREADS + t] =
          c < k && t < size ? power_of(D[c * THREADS + t] * inverse, fuzzifier) * v : 0.0;
    __syncthreads();
    if (share < shares)
      for (int row = share; row < size; row += shares) {
        double a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++) a[i] = D[(c0 + i) * THREADS + row];
#pragma unroll
        for (int j = 0; j < 4; j++) b[j] = steps[row * FUZZY_STRIDE + f0 + j];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
          for (int j = 0; j < 4; j++) sum[i][j] += contribution(a[i], b[j]);
      }
  }
  // Columns beyond the last one hold numbers of the next row; they are never read.
  __syncthreads();
  SUM* parts = (SUM*)D;  // one (cluster, column) of a 4 x 4 cell at a time fits in any case
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      if (share < shares) parts[share * tiles + own] = sum[i][j];
      __syncthreads();
      int c = c0 + i, f = f0 + j;
      if (share == 0 && c < k && f < FUZZY_COLUMNS) {
        SUM all = 0;
        for (int s = 0; s < shares; s++) all += parts[s * tiles + own];
        sums[((long long)blockIdx.x * k + c) * FUZZY_COLUMNS + f] = all;
      }
      __syncthreads();
    }
}
#endif

#define SIDE 64   // rows and centres of a tile of products
#define DEPTH 16  // features loaded at a time
#define WIDE 256  // threads: 16 x 16, each with 4 x 4 products

// Loads `DEPTH` features of 64 rows and 64 centres, and adds their products.
template <typename NUMBER>
__device__ void add_products(const ROW* X, long long first, int rows, const NUMBER* centers, int c0,
                             int cells, const NUMBER* shift, NUMBER* xs, NUMBER* cs,
                             NUMBER product[4][4]) {
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) product[i][j] = 0;
  for (int f0 = 0; f0 < F; f0 += DEPTH) {
    __syncthreads();
    for (int i = threadIdx.x; i < SIDE * DEPTH; i += WIDE) {
      int side = i / DEPTH, f = f0 + i % DEPTH;
      NUMBER x = 0, c = 0;
      if (side < rows && f < F) {
        x = (NUMBER)X[(first + side) * F + f];
        if (shift) x = x - shift[f];
      }
      if (side < cells && f < F) c = centers[(long long)(c0 + side) * F + f];
      xs[i % DEPTH * (SIDE + 1) + side] = x;
      cs[i % DEPTH * (SIDE + 1) + side] = c;
    }
    __syncthreads();
    for (int f = 0; f < DEPTH; f++) {
      NUMBER a[4], b[4];
#pragma unroll
      for (int i = 0; i < 4; i++) a[i] = xs[f * (SIDE + 1) + ty + 16 * i];
#pragma unroll
      for (int j = 0; j < 4; j++) b[j] = cs[f * (SIDE + 1) + tx + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) product[i][j] = fused(a[i], b[j], product[i][j]);
    }
  }
}

// Squared lengths of some rows.
extern "C" __global__ void squares(const ROW* X, long long first, int size, const double* shift,
                                   double* out) {
  for (int row = blockIdx.x * THREADS + threadIdx.x; row < size; row += gridDim.x * THREADS) {
    double square = 0.0;
    for (int f = 0; f < F; f++) {
      double value = (double)X[(first + row) * F + f];
      if (shift) value = value - shift[f];
      square = fused(value, value, square);
    }
    out[row] = square;
  }
}

// The squared distance of a row to a centre, feature by feature. Not inlined 16 times.
__device__ __noinline__ double difference(const ROW* x, const double* center, const double* shift) {
  double d = 0.0;
  for (int f = 0; f < F; f++) {
    double value = shift ? (double)x[f] - shift[f] : (double)x[f];
    double e = value - center[f];
    d = fused(e, e, d);
  }
  return d;
}

// All squared distances of some rows, (k, rows), in double.
extern "C" __global__ void distances(const ROW* X, long long first, int size, const double* centers,
                                     int k, const double* shift, const double* norms,
                                     const double* lengths, double* D) {
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int r0 = blockIdx.x * SIDE, c0 = blockIdx.y * SIDE;
  int rows = size - r0 < SIDE ? size - r0 : SIDE, cells = k - c0 < SIDE ? k - c0 : SIDE;
#if F > DIRECT
  extern __shared__ double shared[];
  double* xs = shared;
  double* cs = xs + DEPTH * (SIDE + 1);
  double product[4][4];
  add_products<double>(X, first + r0, rows, centers, c0, cells, shift, xs, cs, product);
#endif
  // Unrolled, so that the products stay in registers.
#pragma unroll
  for (int i = 0; i < 4; i++) {
    int row = ty + 16 * i;
    const ROW* x = X + (first + r0 + row) * F;
#pragma unroll
    for (int j = 0; j < 4; j++) {
      int c = tx + 16 * j;
      if (row >= rows || c >= cells) continue;
      const double* center = centers + (long long)(c0 + c) * F;
#if F > DIRECT
      double squares = lengths[r0 + row] + norms[c0 + c];
      double d = squares - 2.0 * product[i][j];
      if (!(d > CANCELLED * squares))
#else
      double d;
#endif
        d = difference(x, center, shift);
      D[(long long)(c0 + c) * size + r0 + row] = d;
    }
  }
}

// From squared distances to memberships, in place, or to their powers times the row's weight.
extern "C" __global__ void weigh_rows(double* D, const double* w, long long first, int size, int k,
                                      double fuzzifier, int powers) {
  for (int row = blockIdx.x * THREADS + threadIdx.x; row < size; row += gridDim.x * THREADS) {
    double low = INFINITE, inverse = 0.0;
    for (int c = 0; c < k; c++) {
      double d = D[(long long)c * size + row];
      low = d < low ? d : low;
    }
    for (int c = 0; c < k; c++) {
      double a = ratio_of(D[(long long)c * size + row], low, 1.0 / (fuzzifier - 1.0));
      D[(long long)c * size + row] = a;
      inverse += a;
    }
    inverse = 1.0 / inverse;
    double v = WEIGHTED ? w[first + row] : 1.0;
    for (int c = 0; c < k; c++) {
      double u = D[(long long)c * size + row] * inverse;
      D[(long long)c * size + row] = powers ? power_of(u, fuzzifier) * v : u;
    }
  }
}

// Adds the products of weights (k, size) and rows to the sums of this block's part of the rows.
extern "C" __global__ void add_weighted(const double* W, const ROW* X, long long first, int size,
                                        int k, double mass, const double* offset, const double* unit,
                                        SUM* sums) {
  extern __shared__ double shared[];
  double* ws = shared;                      // (DEPTH, SIDE + 1): rows, clusters
  double* xs = ws + DEPTH * (SIDE + 1);     // (DEPTH, SIDE + 1): rows, columns
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  int c0 = blockIdx.y * SIDE, f0 = blockIdx.z * SIDE;
  int part = (size + gridDim.x - 1) / gridDim.x;
  int from = part * blockIdx.x, to = from + part < size ? from + part : size;
  SUM sum[4][4];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) sum[i][j] = 0;
  for (int r0 = from; r0 < to; r0 += DEPTH) {
    __syncthreads();
    for (int i = threadIdx.x; i < SIDE * DEPTH; i += WIDE) {
      int row = r0 + i % DEPTH, c = c0 + i / DEPTH;
      ws[i % DEPTH * (SIDE + 1) + i / DEPTH] = row < to && c < k ? W[(long long)c * size + row] : 0.0;
      row = r0 + i / SIDE;
      int f = f0 + i % SIDE;
      double value = EXACT ? mass : 1.0;
      if (f < F && row < to) value = on_grid(X[(first + row) * F + f], offset, unit, f);
      xs[i / SIDE * (SIDE + 1) + i % SIDE] = row < to && f < FUZZY_COLUMNS ? value : 0.0;
    }
    __syncthreads();
    for (int r = 0; r < DEPTH; r++) {
      double a[4], b[4];
#pragma unroll
      for (int i = 0; i < 4; i++) a[i] = ws[r * (SIDE + 1) + ty + 16 * i];
#pragma unroll
      for (int j = 0; j < 4; j++) b[j] = xs[r * (SIDE + 1) + tx + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] += contribution(a[i], b[j]);
    }
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      int c = c0 + ty + 16 * i, f = f0 + tx + 16 * j;
      if (c < k && f < FUZZY_COLUMNS)
        sums[((long long)blockIdx.x * k + c) * FUZZY_COLUMNS + f] += sum[i][j];
    }
}

#endif

