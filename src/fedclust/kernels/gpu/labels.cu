// Labels of rows of more than 32 features. --------------------------------------------------------
//
// Rows and centres are split into a number of 16 bits and a rest of 16 bits (bfloat16), and scores
// |c|^2 - 2xc are computed from products of these. What this leaves out is known to be below
// `error` x |x| |c|. Where that could change the nearest centre, the row is put on a list and
// compared again by differences in double. So no label depends on the products.

#if F > 32 && !CELLS
#define LABELERS ((F) <= 64 ? 128 : 256)   // threads
#define STEPS (((F) + 15) / 16)            // of 16 features
#define CHUNK (STEPS <= 8 ? STEPS : 8)     // steps whose centres are in shared memory
#define CHUNKS ((STEPS + CHUNK - 1) / CHUNK)
#define PART 8                             // eights of centres in shared memory
#define GROUP (CHUNKS == 1 ? 4 : PART)     // eights of centres that a lane multiplies at a time
#define PRODUCT_QUADS (PART * CHUNK * 32)
#define PART_QUADS (PRODUCT_QUADS + PART * 4)  // with norms and lengths
#define LABELED (LABELERS / 2)             // rows of a block: 16 of a warp
#define OWN 2                              // rows of a lane
#define RESIDENT 8                         // blocks of a multiprocessor: products wait for rows

// Two numbers and their rests.
__device__ inline void split(float low, float high, unsigned* pair, unsigned* rests) {
  *pair = rounded_pair(low, high);
  *rests = rounded_pair(low - __uint_as_float(*pair << 16),
                        high - __uint_as_float(*pair & 0xffff0000u));
}

struct Bound { float norm, length; };

// Squared lengths of centres times `scale`, squared, and lengths, rounded up; infinite norms fill the
// last part. The centres by feature; and nothing is in doubt yet.
extern "C" __global__ void measure_centers(const REAL* centers, int k, int parts, double scale,
                                           Bound* bounds, REAL* columns,
                                           unsigned long long* doubts) {
  if (blockIdx.x + threadIdx.x == 0) *doubts = 0;
  for (int c = blockIdx.x * THREADS + threadIdx.x; c < parts * PART * 8;
       c += gridDim.x * THREADS) {
    double square = c < k ? 0.0 : INFINITE;
    for (int f = 0; f < F && c < k; f++) {
      REAL value = centers[(long long)c * F + f];
      columns[(long long)f * k + c] = value;
      square = fused(value * scale, value * scale, square);
    }
    bounds[c].norm = (float)square;
    bounds[c].length = c < k ? (float)(sqrt(square) * (1.0 + 1e-6)) : 0.0f;
  }
}

// Centres in the order in which lanes multiply them: for each part, chunk, 8 centres, 16 features and
// lane, two pairs and their rests. Zeros fill the last part and the last chunk.
extern "C" __global__ void lay_out_centers(const REAL* centers, int k, int parts, REAL scale,
                                           const Bound* bounds, Quad* out) {
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < parts * CHUNKS * PART_QUADS;
       i += gridDim.x * THREADS) {
    int turn = i / PART_QUADS, chunk = turn % CHUNKS, part = turn / CHUNKS, at = i % PART_QUADS;
    if (at >= PRODUCT_QUADS) {  // two bounds
      out[i] = ((const Quad*)bounds)[part * PART * 4 + at - PRODUCT_QUADS];
      continue;
    }
    int lane = at % 32, step = at / 32 % CHUNK, cell = at / 32 / CHUNK;
    int c = (part * PART + cell) * 8 + lane / 4;
    unsigned pairs[2], rests[2];
    for (int half = 0; half < 2; half++) {
      int f = (chunk * CHUNK + step) * 16 + lane % 4 * 4 + half * 2;
      const REAL* center = centers + (long long)c * F + f;
      float low = c < k && f < F ? (float)(center[0] * scale) : 0.0f;
      float high = c < k && f + 1 < F ? (float)(center[1] * scale) : 0.0f;
      split(low, high, pairs + half, rests + half);
    }
    out[i].a = (int)pairs[0];
    out[i].b = (int)pairs[1];
    out[i].c = (int)rests[0];
    out[i].d = (int)rests[1];
  }
}

// Loads 16 rows x 16 features of this warp, as lanes multiply them, and adds their squares. `at` are
// the lane's two rows, from its first feature on. A lane takes four features that follow each other.
__device__ inline void load_rows(const ROW* const at[OWN], int step, const REAL* shift, REAL scale,
                                 unsigned pair[4], unsigned rest[4], float square[OWN]) {
  int first = step * 16 + threadIdx.x % 4 * 4;
#pragma unroll
  for (int own = 0; own < OWN; own++) {
    alignas(16) ROW x[4] = {0, 0, 0, 0};
    if (F % 4 == 0) {
      if (F % 16 == 0 || first < F) load<4>(at[own] + step * 16, x);
    } else {
#pragma unroll
      for (int e = 0; e < 4; e++)
        if (first + e < F) x[e] = at[own][step * 16 + e];
    }
    float y[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
      REAL value = x[e];
      if (shift && first + e < F) value = value - shift[first + e];
      y[e] = (float)(value * scale);
      square[own] = fused(y[e], y[e], square[own]);
    }
    split(y[0], y[1], pair + own, rest + own);
    split(y[2], y[3], pair + 2 + own, rest + 2 + own);
  }
}

// Starts to copy a chunk of a part of the centres.
__device__ inline void fetch_centers(const Quad* centers, int turn, Quad* area) {
  for (int i = threadIdx.x; i < PART_QUADS; i += LABELERS)
    copy_ahead<16>(area + i, centers + (long long)turn * PART_QUADS + i, true);
  end_of_copies();
}

extern "C" __global__ void __launch_bounds__(LABELERS, LABELERS <= 128 ? RESIDENT : 2)
    label_by_products(const ROW* X, long long n, const Quad* centers, int cells, const REAL* shift,
                      REAL scale, const Bound* bounds, float error, int* labels,
                      long long* doubtful, unsigned long long* doubts) {
  extern __shared__ double shared[];
  int turns = (cells + PART - 1) / PART * CHUNKS;
  Quad* quads = (Quad*)shared;                                           // one area, or two
  float* squares = (float*)(quads + (turns > 1 ? 2 : 1) * PART_QUADS);  // (LABELED, 4)
  float* lows = squares + LABELED * 4;
  float* nexts = lows + LABELED * 4;
  int* places = (int*)(nexts + LABELED * 4);
  int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, own = threadIdx.x / 32 * 16;

  int coming = 0, area = 0;
  fetch_centers(centers, 0, quads);
  for (long long start = (long long)blockIdx.x * LABELED; start < n;
       start += (long long)gridDim.x * LABELED) {
    const ROW* at[OWN];
    float square[OWN], reach[OWN];
#pragma unroll
    for (int i = 0; i < OWN; i++) {
      long long row = start + own + i * 8 + g;
      at[i] = X + (row < n ? row : n - 1) * F + t * 4;
      square[i] = 0.0f;
    }
    unsigned pair[CHUNK][4], rest[CHUNK][4];  // of one of the chunks
#if CHUNKS == 1
#pragma unroll
    for (int s = 0; s < CHUNK; s++)
      load_rows(at, s, shift, scale, pair[s], rest[s], square);
#else
    for (int s = 0; s < STEPS; s++)
      load_rows(at, s, shift, scale, pair[0], rest[0], square);
#endif
#pragma unroll
    for (int i = 0; i < OWN; i++) squares[(own + i * 8 + g) * 4 + t] = square[i];
    __syncwarp();
    float low[OWN], next[OWN];
    int place[OWN];
#pragma unroll
    for (int i = 0; i < OWN; i++) {
      const float* of = squares + (own + i * 8 + g) * 4;
      reach[i] = error * sqrtf(of[0] + of[1] + of[2] + of[3]);
      low[i] = next[i] = (float)INFINITE;
      place[i] = 0;
    }
    float sum[GROUP][4];
    for (int turn = 0; turn < turns; turn++) {
      const Quad* here = quads + area * PART_QUADS;
      int chunk = turn % CHUNKS, first_cell = turn / CHUNKS * PART;
      if (turns > 1) {
        coming = coming + 1 == turns ? 0 : coming + 1;
        area = 1 - area;
        __syncthreads();  // nobody reads the other area any more
        fetch_centers(centers, coming, quads + area * PART_QUADS);
        wait_for_copies<1>();
      } else {
        wait_for_copies<0>();
      }
      __syncthreads();
#pragma unroll 1
      for (int cell = 0; cell < PART && first_cell + cell < cells; cell += GROUP) {
        if (chunk == 0) {
#pragma unroll
          for (int j = 0; j < GROUP; j++)
#pragma unroll
            for (int i = 0; i < 4; i++) sum[j][i] = 0.0f;
        }
#pragma unroll
        for (int s = 0; s < CHUNK; s++) {
#if CHUNKS > 1
          if (chunk * CHUNK + s >= STEPS) continue;
          float ignored[OWN] = {};
          load_rows(at, chunk * CHUNK + s, shift, scale, pair[s], rest[s], ignored);
#endif
          Quad q[GROUP];
#pragma unroll
          for (int j = 0; j < GROUP; j++) q[j] = here[((cell + j) * CHUNK + s) * 32 + lane];
          // The same sum again only after all others: products take their time.
#pragma unroll
          for (int j = 0; j < GROUP; j++)
            multiply_add(sum[j], pair[s], (unsigned)q[j].c, (unsigned)q[j].d);
#pragma unroll
          for (int j = 0; j < GROUP; j++)
            multiply_add(sum[j], rest[s], (unsigned)q[j].a, (unsigned)q[j].b);
#pragma unroll
          for (int j = 0; j < GROUP; j++)
            multiply_add(sum[j], pair[s], (unsigned)q[j].a, (unsigned)q[j].b);
        }
        if (chunk + 1 < CHUNKS) continue;
#pragma unroll
        for (int j = 0; j < GROUP; j++)
#pragma unroll
          for (int e = 0; e < 2; e++) {
            int c = (first_cell + cell + j) * 8 + t * 2 + e;
            Bound bound = ((const Bound*)(here + PRODUCT_QUADS))[(cell + j) * 8 + t * 2 + e];
#pragma unroll
            for (int i = 0; i < OWN; i++) {
              // The lowest value that the score can have.
              float v = fused(-2.0f, sum[j][i * 2 + e], bound.norm);
              v = fused(-reach[i], bound.length, v);
              bool lower = v < low[i];
              float other = lower ? low[i] : v;
              next[i] = other < next[i] ? other : next[i];
              low[i] = lower ? v : low[i];
              place[i] = lower ? c : place[i];
            }
          }
      }
    }
#pragma unroll
    for (int i = 0; i < OWN; i++) {
      int here = (own + i * 8 + g) * 4 + t;
      lows[here] = low[i];
      nexts[here] = next[i];
      places[here] = place[i];
    }
    __syncwarp();
    if (lane < 16 && start + own + lane < n) {
      int here = (own + lane) * 4;
      float best = lows[here], second = nexts[here];
      int label = places[here];
      for (int j = 1; j < 4; j++) {
        float v = lows[here + j], other = nexts[here + j];
        if (v < best) {
          second = best < other ? best : other;
          best = v;
          label = places[here + j];
        } else if (v < second) {
          second = v;
        }
      }
      const float* of = squares + here;
      float farther = 2.0f * error * sqrtf(of[0] + of[1] + of[2] + of[3]) * bounds[label].length;
      labels[start + own + lane] = label;
      // Also true of numbers that are not finite. Norms and scores are rounded as well.
      if (!(second - best > farther + 1e-6f * (bounds[label].norm + farther)))
        doubtful[atomicAdd(doubts, 1ULL)] = start + own + lane;
    }
    __syncwarp();
  }
  wait_for_copies<0>();
}

#define AT_ONCE 8 // rows of the list that a block compares with all centres

// Labels of the rows on the list, by differences in double. `columns` holds the centres by feature.
extern "C" __global__ void settle_doubts(const ROW* X, const REAL* columns, int k, const REAL* shift,
                                         const long long* doubtful, const unsigned long long* doubts,
                                         int* labels) {
  extern __shared__ double shared[];
  double* rows = shared;                       // (F, AT_ONCE)
  double* lows = rows + F * AT_ONCE;           // (AT_ONCE, THREADS)
  int* places = (int*)(lows + AT_ONCE * THREADS);
  long long size = (long long)*doubts;
  for (long long first = (long long)blockIdx.x * AT_ONCE; first < size;
       first += (long long)gridDim.x * AT_ONCE) {
    int here = size - first < AT_ONCE ? (int)(size - first) : AT_ONCE;
    __syncthreads();
    for (int i = threadIdx.x; i < AT_ONCE * F; i += THREADS) {
      int r = i / F, f = i % F;
      REAL value = r < here ? (REAL)X[doubtful[first + r] * F + f] : (REAL)0;
      rows[f * AT_ONCE + r] = (double)(shift ? value - shift[f] : value);
    }
    __syncthreads();
    double best[AT_ONCE];
    int label[AT_ONCE];
    for (int r = 0; r < AT_ONCE; r++) {
      best[r] = INFINITE;
      label[r] = 0;
    }
    for (int c = threadIdx.x; c < k; c += THREADS) {
      double d[AT_ONCE];
#pragma unroll
      for (int r = 0; r < AT_ONCE; r++) d[r] = 0.0;
#pragma unroll 4
      for (int f = 0; f < F; f++) {
        double center = (double)columns[(long long)f * k + c];
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
          double e = rows[f * AT_ONCE + r] - center;
          d[r] = fused(e, e, d[r]);
        }
      }
#pragma unroll
      for (int r = 0; r < AT_ONCE; r++)
        if (d[r] < best[r]) {
          best[r] = d[r];
          label[r] = c;
        }
    }
#pragma unroll
    for (int r = 0; r < AT_ONCE; r++) {
      lows[r * THREADS + threadIdx.x] = best[r];
      places[r * THREADS + threadIdx.x] = label[r];
    }
    __syncthreads();
    if (threadIdx.x < here) {
      const double* low = lows + threadIdx.x * THREADS;
      const int* place = places + threadIdx.x * THREADS;
      int at = 0;
      for (int t = 1; t < THREADS; t++)
        if (low[t] < low[at] || (low[t] == low[at] && place[t] < place[at])) at = t;
      labels[doubtful[first + threadIdx.x]] = place[at];
    }
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
#endif

