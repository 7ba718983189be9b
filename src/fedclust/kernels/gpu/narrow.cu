// Steps over rows of up to 32 features. ----------------------------------------------------------
//
// Warps work alone: each copies its next tile of rows while it works on the present one, decides
// labels or memberships, a row or two for each lane, and adds the rows up as products of a matrix
// of clusters x rows (ones and zeros, or powers of memberships) and the rows.

#if F <= 32
#define PER ((F) <= 8 ? 2 : 1)          // rows of a lane in the hard step
#define ROW_BYTES ((int)(F * sizeof(ROW)))
// Sixteen bytes at a time if rows are made of them. An odd stride keeps lanes from waiting for one bank.
#define UNIT_BYTES (ROW_BYTES % 16 == 0 ? 16 : (int)sizeof(ROW))
#define STRIDE_BYTES ((ROW_BYTES / UNIT_BYTES | 1) * UNIT_BYTES)
#define STRIDE (STRIDE_BYTES / (int)sizeof(ROW))

// Starts to copy a tile of SIZE rows; rows beyond the last are zero.
template <int SIZE>
__device__ inline void fetch_tile(const ROW* X, long long first, long long n, ROW* tile) {
  const int units = ROW_BYTES / UNIT_BYTES;
#pragma unroll 8
  for (int i = threadIdx.x % 32; i < SIZE * units; i += 32) {
    int row = i / units, unit = i % units;
    bool there = first + row < n;
    const char* from = (const char*)(X + (there ? first + row : 0) * F) + unit * UNIT_BYTES;
    copy_ahead<UNIT_BYTES>((char*)tile + row * STRIDE_BYTES + unit * UNIT_BYTES, from, there);
  }
  end_of_copies();
}

// Labels of the rows of this lane, PER of them, which lie 32 apart in the tile.
__device__ inline void label_rows(const ROW* tile, const REAL* C, int k, const REAL* shift,
                                  int* label, DIFFERENCE* best) {
  DIFFERENCE x[PER][F];
#pragma unroll
  for (int p = 0; p < PER; p++) {
    alignas(16) ROW v[F];
    load<F>(tile + (threadIdx.x % 32 + p * 32) * STRIDE, v);
    best[p] = (DIFFERENCE)INFINITE;
    label[p] = 0;
#pragma unroll
    for (int f = 0; f < F; f++) x[p][f] = shifted(v[f], shift, f);
  }
#pragma unroll 2
  for (int c = 0; c < k; c++) {
    alignas(16) REAL center[F];
    load<F>(C + c * F, center);
    DIFFERENCE d[PER];
#pragma unroll
    for (int p = 0; p < PER; p++) d[p] = 0;
#pragma unroll
    for (int i = 0; i < F; i++) {
      int f = FIRST_TWO_SWAPPED && i < 2 ? 1 - i : i;
#pragma unroll
      for (int p = 0; p < PER; p++) {
        DIFFERENCE e = x[p][f] - (DIFFERENCE)center[f];
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
#endif

#if F <= 32 && !CELLS
// Each row's nearest centre and its squared distance. Centres pass through shared memory in parts.
extern "C" __global__ void nearest_fused(const ROW* X, long long n, const REAL* centers, int k,
                                         const REAL* shift, int part, int* labels, double* d2) {
  extern __shared__ double shared[];
  const int size = 32 * PER;
  ROW* tile = (ROW*)shared + threadIdx.x / 32 * size * STRIDE;
  REAL* C = (REAL*)((char*)shared + WARPS * size * STRIDE_BYTES);
  long long step = (long long)gridDim.x * WARPS * size;
  for (long long start = (long long)blockIdx.x * WARPS * size; start < n; start += step) {
    long long first = start + threadIdx.x / 32 * size;
    fetch_tile<size>(X, first, n, tile);
    int label[PER];
    DIFFERENCE best[PER];
    for (int from = 0; from < k; from += part) {
      int here = k - from < part ? k - from : part;
      __syncthreads();
      for (int i = threadIdx.x; i < here * F; i += THREADS) C[i] = centers[from * F + i];
      wait_for_copies<0>();
      __syncthreads();
      int near[PER];
      DIFFERENCE low[PER];
      label_rows(tile, C, here, shift, near, low);
      for (int p = 0; p < PER; p++) {
        bool closer = from == 0 || low[p] < best[p];
        best[p] = closer ? low[p] : best[p];
        label[p] = closer ? from + near[p] : label[p];
      }
    }
    for (int p = 0; p < PER; p++) {
      long long row = first + threadIdx.x % 32 + p * 32;
      if (row < n) {
        labels[row] = label[p];
        if (d2) d2[row] = best[p];
      }
    }
  }
}
#endif

#if F <= 32 && CELLS
// Sums in registers: CELLS x EIGHTS tiles of 16 clusters and 8 columns.
#define TOTAL (CELLS * 16 * EIGHTS * 8)  // numbers of a warp

// Adds a warp's sums to its area, and starts them again.
template <int EIGHTS, typename NUMBER>
__device__ inline void add_to_area(double sum[CELLS][EIGHTS][4], NUMBER* area) {
  int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  NUMBER* mine = area + threadIdx.x / 32 * TOTAL;
#pragma unroll
  for (int i = 0; i < CELLS; i++)
#pragma unroll
    for (int j = 0; j < EIGHTS; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        mine[(i * 16 + e / 2 * 8 + g) * EIGHTS * 8 + j * 8 + 2 * t + e % 2] += (NUMBER)sum[i][j][e];
        sum[i][j][e] = 0.0;
      }
}

// The areas of all warps of a block, added in order, become this block's part.
template <int EIGHTS, int WIDTH, typename NUMBER>
__device__ inline void store_part(const NUMBER* area, int k, NUMBER* part) {
  __syncthreads();
  for (int i = threadIdx.x; i < k * WIDTH; i += THREADS) {
    NUMBER all = 0;
    for (int warp = 0; warp < WARPS; warp++)
      all += area[warp * TOTAL + i / WIDTH * EIGHTS * 8 + i % WIDTH];
    part[i] = all;
  }
}

// Counts and sums of the rows nearest to each centre, in one pass. A block's part is k counts and
// k x COLUMNS sums. Up to 256 numbers of 45 bits add up exactly in double; then integers take them
// over.
extern "C" __global__ void hard_in_warps(const ROW* X, const double* w, long long n,
                                         const REAL* centers, int k, const REAL* shift, double mass,
                                         const double* offset, const double* unit, SUM* parts) {
  extern __shared__ double shared[];
  const int EIGHTS = (COLUMNS + 7) / 8, size = 32 * PER;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  ROW* tiles = (ROW*)((char*)shared + warp * 2 * size * STRIDE_BYTES);
  SUM* area = (SUM*)((char*)shared + WARPS * 2 * size * STRIDE_BYTES);  // (WARPS, clusters, columns)
  REAL* C = (REAL*)(area + WARPS * TOTAL);
  int* labels = (int*)((char*)C + (k * ROW_BYTES * sizeof(REAL) / sizeof(ROW) + 15) / 16 * 16);
  int* count = labels + THREADS * PER;
  labels += warp * size;

  long long step = (long long)gridDim.x * WARPS * size;
  long long first = ((long long)blockIdx.x * WARPS + warp) * size;
  fetch_tile<size>(X, first, n, tiles);
  for (int i = threadIdx.x; i < k; i += THREADS) count[i] = 0;
  for (int i = threadIdx.x; i < k * F; i += THREADS) C[i] = centers[i];
  for (int i = lane; i < TOTAL; i += 32) area[warp * TOTAL + i] = 0;
  double sum[CELLS][EIGHTS][4];
#pragma unroll
  for (int i = 0; i < CELLS; i++)
#pragma unroll
    for (int j = 0; j < EIGHTS; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) sum[i][j][e] = 0.0;
  __syncthreads();

  int turn = 0;
  for (; first < n; first += step, turn++) {
    const ROW* tile = tiles + (turn & 1) * size * STRIDE;
    fetch_tile<size>(X, first + step, n, tiles + (turn + 1 & 1) * size * STRIDE);
    wait_for_copies<1>();
    __syncwarp();
    int label[PER];
    DIFFERENCE best[PER];
    label_rows(tile, C, k, shift, label, best);
#pragma unroll
    for (int p = 0; p < PER; p++) {
      bool there = first + lane + p * 32 < n;
      labels[lane + p * 32] = there ? label[p] : -1;
      if (there) atomicAdd(count + label[p], 1);  // integers: the order does not matter
    }
    __syncwarp();
#pragma unroll 4
    for (int r0 = 0; r0 < size; r0 += 8) {
      double b[EIGHTS][2];
      int own[2];
#pragma unroll
      for (int half = 0; half < 2; half++) {
        int r = r0 + half * 4 + t;
        own[half] = labels[r];
        double v = 1.0;
#if WEIGHTED
        v = own[half] < 0 ? 0.0 : w[first + r];
#endif
#pragma unroll
        for (int j = 0; j < EIGHTS; j++) {
          int f = j * 8 + g;
          double value = EXACT ? mass : 1.0;
          if (f < F) value = on_grid(tile[r * STRIDE + f], offset, unit, f);
          if (WEIGHTED) value = v * value;
          b[j][half] = f < COLUMNS ? EXACT ? rint(value) : value : 0.0;
        }
      }
#pragma unroll
      for (int i = 0; i < CELLS; i++) {
        double one[4];
#pragma unroll
        for (int e = 0; e < 4; e++) one[e] = own[e / 2] == i * 16 + e % 2 * 8 + g ? 1.0 : 0.0;
#pragma unroll
        for (int j = 0; j < EIGHTS; j++) multiply_add(sum[i][j], one, b[j]);
      }
    }
    __syncwarp();
#if EXACT
    if ((turn + 1) * size % 256 == 0) add_to_area<EIGHTS>(sum, area);
#endif
  }
  wait_for_copies<0>();
  add_to_area<EIGHTS>(sum, area);
  SUM* part = parts + (long long)blockIdx.x * k * (1 + COLUMNS);
  store_part<EIGHTS, COLUMNS>(area, k, part + k);
  for (int i = threadIdx.x; i < k; i += THREADS) ((COUNT*)part)[i] = count[i];
}

#if !EXACT
// Sums of u^m and u^m x, in one pass. A lane takes a row; D holds clusters x rows of a warp.
extern "C" __global__ void fuzzy_in_warps(const ROW* X, const double* w, long long n,
                                          const double* centers, int k, const double* shift,
                                          double fuzzifier, double* sums) {
  extern __shared__ double shared[];
  const int EIGHTS = (FUZZY_COLUMNS + 7) / 8, PITCH = 36;  // of D: lanes do not wait for one bank
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  ROW* tiles = (ROW*)((char*)shared + warp * 2 * 32 * STRIDE_BYTES);
  double* C = (double*)((char*)shared + WARPS * 2 * 32 * STRIDE_BYTES);
  double* area = C + (k * F + 1) / 2 * 2;
  double* D = area + warp * CELLS * 16 * PITCH;

  long long step = (long long)gridDim.x * WARPS * 32;
  long long first = ((long long)blockIdx.x * WARPS + warp) * 32;
  fetch_tile<32>(X, first, n, tiles);
  for (int i = threadIdx.x; i < k * F; i += THREADS) C[i] = centers[i];
  for (int c = k; c < CELLS * 16; c++) D[c * PITCH + lane] = 0.0;
  double sum[CELLS][EIGHTS][4];
#pragma unroll
  for (int i = 0; i < CELLS; i++)
#pragma unroll
    for (int j = 0; j < EIGHTS; j++)
#pragma unroll
      for (int e = 0; e < 4; e++) sum[i][j][e] = 0.0;
  __syncthreads();

  for (int turn = 0; first < n; first += step, turn++) {
    const ROW* tile = tiles + (turn & 1) * 32 * STRIDE;
    fetch_tile<32>(X, first + step, n, tiles + (turn + 1 & 1) * 32 * STRIDE);
    wait_for_copies<1>();
    __syncwarp();
    double x[F], low = INFINITE, inverse = 0.0;
    {
      alignas(16) ROW v[F];
      load<F>(tile + lane * STRIDE, v);
#pragma unroll
      for (int f = 0; f < F; f++) x[f] = shift ? (double)v[f] - shift[f] : (double)v[f];
    }
#pragma unroll 2
    for (int c = 0; c < k; c++) {
      alignas(16) double center[F];
      load<F>(C + c * F, center);
      double d = 0.0;
#pragma unroll
      for (int f = 0; f < F; f++) {
        double e = x[f] - center[f];
        d = fused(e, e, d);
      }
      D[c * PITCH + lane] = d;
      low = d < low ? d : low;
    }
    for (int c = 0; c < k; c++) {
      double a = ratio_of(D[c * PITCH + lane], low, 1.0 / (fuzzifier - 1.0));
      D[c * PITCH + lane] = a;
      inverse += a;
    }
    inverse = 1.0 / inverse;
    bool there = first + lane < n;
    double v = there ? WEIGHTED ? w[first + lane] : 1.0 : 0.0;
    for (int c = 0; c < k; c++)
      D[c * PITCH + lane] = there ? power_of(D[c * PITCH + lane] * inverse, fuzzifier) * v : 0.0;
    __syncwarp();
#pragma unroll
    for (int r0 = 0; r0 < 32; r0 += 8) {
      double b[EIGHTS][2];
#pragma unroll
      for (int j = 0; j < EIGHTS; j++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
          int f = j * 8 + g;
          b[j][half] = f == F ? 1.0 : 0.0;
          if (f < F) b[j][half] = (double)tile[(r0 + half * 4 + t) * STRIDE + f];
        }
#pragma unroll
      for (int i = 0; i < CELLS; i++) {
        double a[4];
#pragma unroll
        for (int e = 0; e < 4; e++)
          a[e] = D[(i * 16 + e % 2 * 8 + g) * PITCH + r0 + e / 2 * 4 + t];
#pragma unroll
        for (int j = 0; j < EIGHTS; j++) multiply_add(sum[i][j], a, b[j]);
      }
    }
    __syncwarp();
  }
  wait_for_copies<0>();
  __syncthreads();
  for (int i = threadIdx.x; i < WARPS * TOTAL; i += THREADS) C[i] = 0.0;  // centres are done with
  __syncthreads();
  add_to_area<EIGHTS>(sum, C);
  double* part = sums + (long long)blockIdx.x * k * FUZZY_COLUMNS;
  store_part<EIGHTS, FUZZY_COLUMNS>(C, k, part);
}
#endif
#endif

