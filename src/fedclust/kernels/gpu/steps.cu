// The local steps of k-means and fuzzy c-means over rows on a GPU.
//
// The source is compiled once for each form of the rows:
//   ROW        the type of the stored rows, float or double
//   F          the number of features
//   EXACT      1 if sums are integers on a grid, else 0
//   WEIGHTED   1 if rows have weights, else 0
//   POWER      2 or 3 for the fuzzifiers 2 and 1.5, 0 for any other
//
// Rules that every kernel keeps:
//   - A sum is made of parts. The number of parts depends on the number of rows alone, each part
//     adds its rows in a fixed order, and parts are added in a fixed order. Sums are therefore the
//     same in every run. Integer sums do not depend on the order at all.
//   - A label is decided by differences, added feature by feature with fused multiply-add, and the
//     lowest index wins a tie. This is the rule of the compiled loops for the CPU.
//   - The compiler does not fuse by itself (--fmad=false). What is fused is written so.

#define DIRECT 16                       // up to so many features the CPU labels in the rows' type
#define THREADS 128                     // of a block, in all kernels but the tiled products
#define STRIDE ((F) | 1)                // odd, so that threads do not wait for one bank
#define COLUMNS ((F) + (WEIGHTED))      // of hard sums: features, then the weight
#define FUZZY_COLUMNS ((F) + 1)         // of fuzzy sums: features, then the weight
#define FUZZY_STRIDE ((F) + 1 | 1)
// Compilers turn the unrolled sum a*a + b*b into fma(a, a, b*b): the second square comes first.
#define FIRST_TWO_SWAPPED ((F) >= 2 && (F) <= DIRECT)
#define PER ((F) <= DIRECT ? 2 : 1)     // rows of a thread in the fused hard step
#define TILE_ROWS (THREADS * PER)

#if EXACT
typedef double REAL;                    // in which rows are compared with centres
typedef long long SUM;
#else
typedef ROW REAL;
typedef double SUM;
#endif
typedef long long COUNT;

#define INFINITE __longlong_as_double(0x7ff0000000000000LL)
#define SMALLEST 2.2250738585072014e-308 // smaller numbers raised to a power count as zero
#define CANCELLED 1e-6                  // below this share a difference of squares is unreliable

__device__ inline float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

// What one row adds to a sum: `value` on the grid's steps (or as it is), times its weight.
__device__ inline SUM contribution(double weight, double value) {
#if EXACT
  return __double2ll_rn(weight * value);
#else
  return weight * value;
#endif
}

__device__ inline double on_grid(double value, const double* offset, const double* unit, int f) {
#if EXACT
  return (value - offset[f]) * unit[f];
#else
  return value;
#endif
}

// The type of differences: that of the rows for few features, and double for many.
template <bool FEW> struct Differences { typedef REAL type; };
template <> struct Differences<false> { typedef double type; };
typedef Differences<((F) <= DIRECT)>::type DIFFERENCE;

__device__ inline DIFFERENCE shifted(ROW value, const REAL* shift, int f) {
  return shift ? (DIFFERENCE)((REAL)value - shift[f]) : (DIFFERENCE)(REAL)value;
}

__device__ void load_tile(const ROW* X, long long first, int size, ROW* tile) {
  const ROW* from = X + first * F;
  for (int i = threadIdx.x; i < size * F; i += THREADS) tile[i / F * STRIDE + i % F] = from[i];
}

// Fused steps, for up to 32 features. ------------------------------------------------------------

#if F <= 32
// Labels of the rows of this thread, PER of them, which lie THREADS apart in the tile.
__device__ void label_rows(const ROW* tile, const REAL* C, int k, const REAL* shift, int size,
                           int* label, DIFFERENCE* best) {
  DIFFERENCE x[PER][F];
#pragma unroll
  for (int p = 0; p < PER; p++) {
    int row = threadIdx.x + p * THREADS;
    best[p] = (DIFFERENCE)INFINITE;
    label[p] = 0;
#pragma unroll
    for (int f = 0; f < F; f++)
      x[p][f] = row < size ? shifted(tile[row * STRIDE + f], shift, f) : (DIFFERENCE)0;
  }
  for (int c = 0; c < k; c++) {
    DIFFERENCE d[PER];
#pragma unroll
    for (int p = 0; p < PER; p++) d[p] = 0;
#pragma unroll
    for (int i = 0; i < F; i++) {
      int f = FIRST_TWO_SWAPPED && i < 2 ? 1 - i : i;
      DIFFERENCE v = C[c * F + f];
#pragma unroll
      for (int p = 0; p < PER; p++) {
        DIFFERENCE e = x[p][f] - v;
        d[p] = fused(e, e, d[p]);
      }
    }
#pragma unroll
    for (int p = 0; p < PER; p++) {
      bool low = d[p] < best[p];
      best[p] = low ? d[p] : best[p];
      label[p] = low ? c : label[p];
    }
  }
}

// Counts and sums of the rows nearest to each centre, in one pass. `copies` groups of lanes add the
// rows of a tile, each into its own sums in shared memory; a lane of a group adds one column.
extern "C" __global__ void hard_fused(const ROW* X, const double* w, long long n, const REAL* centers,
                                      int k, const REAL* shift, double mass, const double* offset,
                                      const double* unit, int copies, COUNT* counts, SUM* sums) {
  extern __shared__ double shared[];
  SUM* total = (SUM*)shared;
  COUNT* count = (COUNT*)(total + copies * k * COLUMNS);
  REAL* C = (REAL*)(count + copies * k);
  ROW* tile = (ROW*)(C + k * F + (k * F & 1));
  int* labels = (int*)(tile + TILE_ROWS * STRIDE + (STRIDE & 1));

  for (int i = threadIdx.x; i < copies * k * COLUMNS; i += THREADS) total[i] = 0;
  for (int i = threadIdx.x; i < copies * k; i += THREADS) count[i] = 0;
  for (int i = threadIdx.x; i < k * F; i += THREADS) C[i] = centers[i];

  int lanes = 1;
  while (lanes < COLUMNS && lanes < 32) lanes *= 2;
  int groups = copies / (THREADS / 32);  // of a warp
  int lane = threadIdx.x % lanes, place = threadIdx.x % 32 / lanes;
  int group = threadIdx.x / 32 * groups + place;
  SUM* mine = total + group * k * COLUMNS;

  for (long long first = (long long)blockIdx.x * TILE_ROWS; first < n;
       first += (long long)gridDim.x * TILE_ROWS) {
    int size = n - first < TILE_ROWS ? (int)(n - first) : TILE_ROWS;
    __syncthreads();
    load_tile(X, first, size, tile);
    __syncthreads();
    int label[PER];
    DIFFERENCE best[PER];
    label_rows(tile, C, k, shift, size, label, best);
    for (int p = 0; p < PER; p++) labels[threadIdx.x + p * THREADS] = label[p];
    __syncthreads();
    if (place < groups)
      for (int row = group; row < size; row += copies) {
        int c = labels[row];
        double v = WEIGHTED ? w[first + row] : 1.0;
        if (lane == 0) count[group * k + c] += 1;
        for (int f = lane; f < COLUMNS; f += lanes)
          mine[c * COLUMNS + f] +=
              f < F ? contribution(v, on_grid(tile[row * STRIDE + f], offset, unit, f))
                    : contribution(v, EXACT ? mass : 1.0);
      }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < k * COLUMNS; i += THREADS) {
    SUM sum = 0;
    for (int g = 0; g < copies; g++) sum += total[g * k * COLUMNS + i];
    sums[(long long)blockIdx.x * k * COLUMNS + i] = sum;
  }
  for (int i = threadIdx.x; i < k; i += THREADS) {
    COUNT sum = 0;
    for (int g = 0; g < copies; g++) sum += count[g * k + i];
    counts[(long long)blockIdx.x * k + i] = sum;
  }
}

// Each row's nearest centre and its squared distance. Centres pass through shared memory in parts.
extern "C" __global__ void nearest_fused(const ROW* X, long long n, const REAL* centers, int k,
                                         const REAL* shift, int part, int* labels, double* d2) {
  extern __shared__ double shared[];
  REAL* C = (REAL*)shared;
  ROW* tile = (ROW*)(C + part * F + (part * F & 1));
  for (long long first = (long long)blockIdx.x * TILE_ROWS; first < n;
       first += (long long)gridDim.x * TILE_ROWS) {
    int size = n - first < TILE_ROWS ? (int)(n - first) : TILE_ROWS;
    __syncthreads();
    load_tile(X, first, size, tile);
    int label[PER];
    DIFFERENCE best[PER];
    for (int from = 0; from < k; from += part) {
      int here = k - from < part ? k - from : part;
      __syncthreads();
      for (int i = threadIdx.x; i < here * F; i += THREADS) C[i] = centers[from * F + i];
      __syncthreads();
      int near[PER];
      DIFFERENCE low[PER];
      label_rows(tile, C, here, shift, size, near, low);
      for (int p = 0; p < PER; p++) {
        bool closer = from == 0 || low[p] < best[p];
        best[p] = closer ? low[p] : best[p];
        label[p] = closer ? from + near[p] : label[p];
      }
    }
    for (int p = 0; p < PER; p++) {
      int row = threadIdx.x + p * THREADS;
      if (row < size) {
        labels[first + row] = label[p];
        if (d2) d2[first + row] = best[p];
      }
    }
  }
}
#endif

// Powers of memberships. -------------------------------------------------------------------------

__device__ inline double raised(double x, double power) {
  return x >= SMALLEST ? pow(x, power) : 0.0;
}

__device__ inline double ratio_of(double d, double low, double inner) {
  double a = d == low ? 1.0 : low / d;
#if POWER == 2
  return a;
#elif POWER == 3
  return a * a;
#else
  return raised(a, inner);
#endif
}

__device__ inline double power_of(double u, double fuzzifier) {
#if POWER == 2
  return u * u;
#elif POWER == 3
  return u * sqrt(u);
#else
  return raised(u, fuzzifier);
#endif
}

#if F <= 32
// Sums of u^m and u^m x, in one pass. The memberships of a tile are in shared memory. Then every
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
    load_tile(X, first, size, tile);
    __syncthreads();
    int t = threadIdx.x;
    double x[F], low = INFINITE, inverse = 0.0;
#pragma unroll
    for (int f = 0; f < F; f++) {
      double value = t < size ? (double)tile[t * STRIDE + f] : 0.0;
      x[f] = shift ? value - shift[f] : value;
      steps[t * FUZZY_STRIDE + f] = t < size ? on_grid(value, offset, unit, f) : 0.0;
    }
    steps[t * FUZZY_STRIDE + F] = EXACT ? mass : 1.0;
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

// Steps in several kernels, for any number of features and clusters. -----------------------------

#define FEW_NUMBERS 1024 // of a sum whose parts are added by blocks
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

// Labels by |c|^2 - 2xc. Rows whose two best values are too close to call are put on a list.
extern "C" __global__ void label_by_products(const ROW* X, long long n, const REAL* centers, int k,
                                             const REAL* shift, const REAL* norms, REAL ceiling,
                                             REAL doubt, int* labels, long long* doubtful,
                                             unsigned long long* doubts) {
  extern __shared__ double shared[];
  REAL* xs = (REAL*)shared;
  REAL* cs = xs + DEPTH * (SIDE + 1);
  REAL* lows = cs + DEPTH * (SIDE + 1);  // (SIDE, 16) best and second best of each column of threads
  REAL* seconds = lows + SIDE * 16;
  int* places = (int*)(seconds + SIDE * 16);
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (long long first = (long long)blockIdx.x * SIDE; first < n;
       first += (long long)gridDim.x * SIDE) {
    int rows = n - first < SIDE ? (int)(n - first) : SIDE;
    REAL best[4], second[4];
    int label[4];
    for (int i = 0; i < 4; i++) {
      best[i] = second[i] = (REAL)INFINITE;
      label[i] = 0;
    }
    for (int c0 = 0; c0 < k; c0 += SIDE) {
      REAL product[4][4];
      int cells = k - c0 < SIDE ? k - c0 : SIDE;
      add_products<REAL>(X, first, rows, centers, c0, cells, shift, xs, cs, product);
#pragma unroll
      for (int j = 0; j < 4; j++) {
        int c = tx + 16 * j;
        if (c >= cells) continue;
        REAL norm = norms[c0 + c];
#pragma unroll
        for (int i = 0; i < 4; i++) {
          REAL v = norm - (REAL)2 * product[i][j];
          bool low = v < best[i];
          REAL other = low ? best[i] : v;
          second[i] = other < second[i] ? other : second[i];
          best[i] = low ? v : best[i];
          label[i] = low ? c0 + c : label[i];
        }
      }
    }
    for (int i = 0; i < 4; i++) {
      int at = (ty + 16 * i) * 16 + tx;
      lows[at] = best[i];
      seconds[at] = second[i];
      places[at] = label[i];
    }
    __syncthreads();
    if (threadIdx.x < rows) {
      int at = threadIdx.x * 16;
      REAL low = lows[at], next = seconds[at];
      int place = places[at];
      for (int j = 1; j < 16; j++) {
        REAL v = lows[at + j], other = seconds[at + j];
        if (v < low) {
          next = low < other ? low : other;
          low = v;
          place = places[at + j];
        } else if (v < next) {
          next = v;
        }
      }
      labels[first + threadIdx.x] = place;
      REAL size = low < 0 ? -low : low;
      if (next - low <= doubt * (size + ceiling))
        doubtful[atomicAdd(doubts, 1ULL)] = first + threadIdx.x;
    }
    __syncthreads();
  }
}

// Labels of the rows on the list, by differences in double. A block takes a row.
extern "C" __global__ void settle_doubts(const ROW* X, const REAL* centers, int k, const REAL* shift,
                                         const long long* doubtful, const unsigned long long* doubts,
                                         int* labels) {
  extern __shared__ double shared[];
  double* lows = shared;
  int* places = (int*)(lows + THREADS);
  long long size = (long long)*doubts;
  for (long long i = blockIdx.x; i < size; i += gridDim.x) {
    const ROW* x = X + doubtful[i] * F;
    double best = INFINITE;
    int label = 0;
    for (int c = threadIdx.x; c < k; c += THREADS) {
      double d = 0.0;
      for (int f = 0; f < F; f++) {
        REAL value = shift ? (REAL)x[f] - shift[f] : (REAL)x[f];
        double e = (double)value - (double)centers[(long long)c * F + f];
        d = fused(e, e, d);
      }
      if (d < best) {
        best = d;
        label = c;
      }
    }
    lows[threadIdx.x] = best;
    places[threadIdx.x] = label;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int t = 1; t < THREADS; t++)
        if (lows[t] < best || (lows[t] == best && places[t] < label)) {
          best = lows[t];
          label = places[t];
        }
      labels[doubtful[i]] = label;
    }
    __syncthreads();
  }
}

// Each row's squared distance to the centre of its label.
extern "C" __global__ void distances_to_labels(const ROW* X, long long n, const REAL* centers,
                                               const REAL* shift, const int* labels, double* d2) {
  for (long long row = (long long)blockIdx.x * THREADS + threadIdx.x; row < n;
       row += (long long)gridDim.x * THREADS) {
    const REAL* center = centers + (long long)labels[row] * F;
    double d = 0.0;
    for (int f = 0; f < F; f++) {
      REAL value = shift ? (REAL)X[row * F + f] - shift[f] : (REAL)X[row * F + f];
      double e = (double)value - (double)center[f];
      d = fused(e, e, d);
    }
    d2[row] = d;
  }
}

// Counts and sums of labelled rows. A block takes `width` columns and one part of the rows; each of
// its `copies` groups of `width` threads adds into its own sums.
extern "C" __global__ void sum_by_label(const ROW* X, const double* w, long long n,
                                        const int* labels, int k, int width, int copies, double mass,
                                        const double* offset, const double* unit, COUNT* counts,
                                        SUM* sums) {
  extern __shared__ double shared[];
  SUM* total = (SUM*)shared;
  int* count = (int*)(total + (long long)copies * k * width);
  for (int i = threadIdx.x; i < copies * k * width; i += THREADS) total[i] = 0;
  for (int i = threadIdx.x; i < k; i += THREADS) count[i] = 0;
  __syncthreads();
  int lane = threadIdx.x % width, group = threadIdx.x / width;
  int f = blockIdx.y * width + lane;
  long long part = (n + gridDim.x - 1) / gridDim.x;
  long long first = part * blockIdx.x, last = first + part < n ? first + part : n;
  if (group < copies && f < COLUMNS) {
    SUM* mine = total + (long long)group * k * width + lane;
    for (long long row = first + group; row < last; row += copies) {
      double v = WEIGHTED ? w[row] : 1.0;
      mine[(long long)labels[row] * width] +=
          f < F ? contribution(v, on_grid(X[row * F + f], offset, unit, f))
                : contribution(v, EXACT ? mass : 1.0);
      if (f == 0) atomicAdd(count + labels[row], 1);  // integers: the order does not matter
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < k * width; i += THREADS) {
    int column = blockIdx.y * width + i % width;
    if (column >= COLUMNS) continue;
    SUM sum = 0;
    for (int g = 0; g < copies; g++) sum += total[(long long)g * k * width + i];
    sums[((long long)blockIdx.x * k + i / width) * COLUMNS + column] = sum;
  }
  if (blockIdx.y == 0)
    for (int i = threadIdx.x; i < k; i += THREADS)
      if (count[i]) atomicAdd((unsigned long long*)counts + i, (unsigned long long)count[i]);
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

// Adds parts (n, size) in a fixed order: few numbers by a block each, many by a thread each.
template <typename NUMBER>
__device__ void add_in_order(const NUMBER* parts, int n, int size, NUMBER* out, NUMBER* sums) {
  if (size > FEW_NUMBERS) {
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < size; i += gridDim.x * THREADS) {
      NUMBER sum = out[i];
      for (int p = 0; p < n; p++) sum += parts[(long long)p * size + i];
      out[i] = sum;
    }
    return;
  }
  for (int i = blockIdx.x; i < size; i += gridDim.x) {
    NUMBER sum = 0;
    for (int p = threadIdx.x; p < n; p += THREADS) sum += parts[(long long)p * size + i];
    sums[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    }
    if (threadIdx.x == 0) out[i] += sums[0];
    __syncthreads();
  }
}

extern "C" __global__ void add_sums(const SUM* parts, int n, int size, SUM* out) {
  extern __shared__ double shared[];
  add_in_order<SUM>(parts, n, size, out, (SUM*)shared);
}

extern "C" __global__ void add_counts(const COUNT* parts, int n, int size, COUNT* out) {
  extern __shared__ double shared[];
  add_in_order<COUNT>(parts, n, size, out, (COUNT*)shared);
}
