// Sums of labelled rows, and of parts. ------------------------------------------------------------

#if !CELLS
#define AHEAD 8 // rows that a thread reads before it adds them

// What a row adds to a column of hard sums.
struct Column {
  const ROW* X;
  const double* w;
  int f;
  double mass, offset, unit;

  __device__ Column(const ROW* X, const double* w, int f, double mass, const double* offsets,
                    const double* units)
      : X(X), w(w), f(f), mass(mass), offset(0.0), unit(1.0) {
    if (EXACT && f < F) {
      offset = offsets[f];
      unit = units[f];
    }
  }

  __device__ SUM of(ROW x, double weight) const {
    double value = EXACT ? mass : 1.0;
    if (f < F) value = EXACT ? ((double)x - offset) * unit : (double)x;
    return contribution(weight, value);
  }

  __device__ ROW row(long long r) const { return f < F ? X[r * F + f] : (ROW)0; }
  __device__ double weight(long long r) const { return WEIGHTED ? w[r] : 1.0; }
};

// Rows that follow each other and were read ahead. They are converted when they are added, not before.
struct Ahead {
  alignas(16) int label[AHEAD];
  ROW value[AHEAD];
  double weight[AHEAD];

  __device__ inline void read(const int* labels, const Column& column, long long row) {
    load<AHEAD>(labels + row, label);
    const ROW* x = column.X + row * F + (column.f < F ? column.f : 0);
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      value[i] = x[i * F];
      if (WEIGHTED) weight[i] = column.w[row + i];
    }
  }
};

// Adds four rows to the sums of their labels, in order. All sums are read first: where two rows have
// the same label, the second adds to the first one's result.
__device__ inline void add_four(SUM* sums, int width, const int* label, const SUM value[4]) {
  SUM sum[4];
#pragma unroll
  for (int i = 0; i < 4; i++) sum[i] = sums[label[i] * width];
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int j = 0; j < i; j++) sum[i] = label[j] == label[i] ? sum[j] : sum[i];
    sum[i] += value[i];
  }
#pragma unroll
  for (int i = 0; i < 4; i++) sums[label[i] * width] = sum[i];
}

// Counts and sums for few clusters. A block takes `width` columns and one part of the rows; each of
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
  long long part = ((n + gridDim.x - 1) / gridDim.x + AHEAD - 1) / AHEAD * AHEAD;
  long long first = part * blockIdx.x, last = first + part < n ? first + part : n;
  if (blockIdx.y == 0)
    for (long long row = first + threadIdx.x; row < last; row += THREADS)
      atomicAdd(count + labels[row], 1);  // integers: the order does not matter
  if (group < copies && f < COLUMNS) {
    SUM* mine = total + (long long)group * k * width + lane;
    Column column(X, w, f, mass, offset, unit);
    long long row = first + group * AHEAD, step = (long long)copies * AHEAD;
    Ahead now, next;
    if (row + AHEAD <= last) now.read(labels, column, row);
    for (; row + AHEAD <= last; row += step) {
      if (row + step + AHEAD <= last) next.read(labels, column, row + step);
#pragma unroll
      for (int i = 0; i < AHEAD; i += 4) {
        SUM value[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
          value[j] = column.of(now.value[i + j], WEIGHTED ? now.weight[i + j] : 1.0);
        add_four(mine, width, now.label + i, value);
      }
      now = next;
    }
    for (int i = 0; row + i < last && i < AHEAD; i++)
      mine[labels[row + i] * width] += column.of(column.row(row + i), column.weight(row + i));
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

// For many clusters, rows are put in the order of their labels first; rows of one label keep theirs.
#define SEGMENT 512 // rows of one label that a block adds up

// Rows of each label in each part of the rows.
extern "C" __global__ void count_by_part(const int* labels, long long n, int k, int* table) {
  extern __shared__ double shared[];
  int* count = (int*)shared;
  for (int i = threadIdx.x; i < k; i += THREADS) count[i] = 0;
  __syncthreads();
  long long part = (n + gridDim.x - 1) / gridDim.x;
  long long first = part * blockIdx.x, last = first + part < n ? first + part : n;
#pragma unroll 4
  for (long long row = first + threadIdx.x; row < last; row += THREADS)
    atomicAdd(count + labels[row], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < k; i += THREADS) table[(long long)blockIdx.x * k + i] = count[i];
}

// From counts of parts to how many rows of a label are in earlier parts; totals of labels.
extern "C" __global__ void add_up_parts(int* table, int parts, int k, COUNT* totals) {
  for (int c = blockIdx.x * THREADS + threadIdx.x; c < k; c += gridDim.x * THREADS) {
    int before = 0;
#pragma unroll 8
    for (int p = 0; p < parts; p++) {
      int here = table[(long long)p * k + c];
      table[(long long)p * k + c] = before;
      before += here;
    }
    totals[c] = before;
  }
}

// Where the rows and the segments of each label start (k + 1 numbers each). One block.
extern "C" __global__ void find_starts(const COUNT* totals, int k, int* rows, int* segments) {
  extern __shared__ double shared[];
  int *row_sums = (int*)shared, *segment_sums = row_sums + THREADS;
  int each = (k + THREADS - 1) / THREADS, first = threadIdx.x * each;
  int last = first + each < k ? first + each : k, row = 0, segment = 0;
  for (int c = first; c < last; c++) {
    row += (int)totals[c];
    segment += (int)((totals[c] + SEGMENT - 1) / SEGMENT);
  }
  row_sums[threadIdx.x] = row;
  segment_sums[threadIdx.x] = segment;
  __syncthreads();
  row = segment = 0;
  for (int t = 0; t < threadIdx.x; t++) {
    row += row_sums[t];
    segment += segment_sums[t];
  }
  for (int c = first; c < last; c++) {
    rows[c] = row;
    segments[c] = segment;
    row += (int)totals[c];
    segment += (int)((totals[c] + SEGMENT - 1) / SEGMENT);
  }
  if (first < k && last == k) {
    rows[k] = row;
    segments[k] = segment;
  }
}

// The rows in the order of their labels.
extern "C" __global__ void order_rows(const int* labels, long long n, int k, const int* table,
                                      const int* starts, int* order) {
  extern __shared__ double shared[];
  int *next = (int*)shared, *tile = next + k;
  for (int i = threadIdx.x; i < k; i += THREADS)
    next[i] = starts[i] + table[(long long)blockIdx.x * k + i];
  long long part = (n + gridDim.x - 1) / gridDim.x;
  long long first = part * blockIdx.x, last = first + part < n ? first + part : n;
  for (long long start = first; start < last; start += THREADS) {
    long long row = start + threadIdx.x;
    int label = row < last ? labels[row] : -1;
    __syncthreads();
    tile[threadIdx.x] = label;
    __syncthreads();
    int before = 0, after = 0;
#pragma unroll 16
    for (int t = 0; t < THREADS; t++) {
      int same = tile[t] == label;
      before += same && t < threadIdx.x;
      after += same && t > threadIdx.x;
    }
    int at = label >= 0 ? next[label] + before : 0;
    __syncthreads();
    if (label >= 0) {
      order[at] = (int)row;
      if (after == 0) next[label] = at + 1;
    }
  }
}

// Sums of segments. `lanes` threads take the columns of a row.
extern "C" __global__ void sum_segments(const ROW* X, const double* w, const int* order, int k,
                                        const int* rows, const int* segments, int lanes,
                                        double mass, const double* offset, const double* unit,
                                        SUM* parts) {
  extern __shared__ double shared[];
  SUM* sums = (SUM*)shared;
  int* own = (int*)(sums + THREADS);
  int lane = threadIdx.x % lanes, group = threadIdx.x / lanes, groups = THREADS / lanes;
  for (int segment = blockIdx.x; segment < segments[k]; segment += gridDim.x) {
    int low = 0, high = k;  // the last label whose segments start here or before
    while (high - low > 1) {
      int middle = (low + high) / 2;
      if (segments[middle] <= segment) low = middle;
      else high = middle;
    }
    int first = rows[low] + (segment - segments[low]) * SEGMENT;
    int size = rows[low + 1] - first < SEGMENT ? rows[low + 1] - first : SEGMENT;
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += THREADS) own[i] = order[first + i];
    __syncthreads();
    for (int f0 = 0; f0 < COLUMNS; f0 += lanes) {
      int f = f0 + lane;
      SUM sum = 0;
      if (f < COLUMNS) {
        Column column(X, w, f, mass, offset, unit);
        for (int i = group; i < size; i += groups * AHEAD) {
          SUM value[AHEAD];
#pragma unroll
          for (int j = 0; j < AHEAD; j++) {
            int at = i + j * groups;
            value[j] = at < size ? column.of(column.row(own[at]), column.weight(own[at])) : (SUM)0;
          }
#pragma unroll
          for (int j = 0; j < AHEAD; j++) sum += value[j];
        }
      }
      sums[threadIdx.x] = sum;
      __syncthreads();
      if (group == 0 && f < COLUMNS) {
        for (int i = 1; i < groups; i++) sum += sums[i * lanes + lane];
        parts[(long long)segment * COLUMNS + f] = sum;
      }
      __syncthreads();
    }
  }
}

// Adds the segments of each label, in order, to its sums, and its rows to its count.
extern "C" __global__ void add_segments(const SUM* parts, const int* segments, const COUNT* totals,
                                        int k, COUNT* counts, SUM* sums) {
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < k * COLUMNS; i += gridDim.x * THREADS) {
    int c = i / COLUMNS, f = i % COLUMNS;
    SUM sum = sums[i];
    for (int s = segments[c]; s < segments[c + 1]; s++) sum += parts[(long long)s * COLUMNS + f];
    sums[i] = sum;
    if (f == 0) counts[c] += totals[c];
  }
}
#endif

// Adds parts (n, size) in a fixed order: a thread adds a slice of the parts of one number. The first
// `counted` numbers are counts.
#define SLICES 8

template <typename NUMBER>
__device__ inline void add_slices(const NUMBER* parts, int n, int size, int i, bool store,
                                  NUMBER* out, NUMBER* slices) {
  int slice = threadIdx.x / (THREADS / SLICES);
  int each = (n + SLICES - 1) / SLICES, first = slice * each;
  int last = first + each < n ? first + each : n;
  NUMBER sum = 0;
#pragma unroll 8
  for (int p = first; p < last; p++) sum += parts[(long long)p * size + i];
  slices[threadIdx.x] = sum;
  __syncthreads();
  if (slice == 0) {
    for (int s = 1; s < SLICES; s++) sum += slices[threadIdx.x + s * (THREADS / SLICES)];
    if (store) out[i] += sum;
  }
  __syncthreads();
}

extern "C" __global__ void add_parts(const SUM* parts, int n, int size, int counted, SUM* out) {
  extern __shared__ double shared[];
  const int lanes = THREADS / SLICES;
  int counting = (counted + lanes - 1) / lanes;  // blocks that add counts; the others add sums
  int blocks = counting + (size - counted + lanes - 1) / lanes;
  for (int block = blockIdx.x; block < blocks; block += gridDim.x) {
    bool counts = block < counting;
    int first = counts ? block * lanes : counted + (block - counting) * lanes;
    int i = first + threadIdx.x % lanes, last = (counts ? counted : size) - 1;
    bool store = i <= last;
    if (!store) i = last;
    if (counts)
      add_slices((const COUNT*)parts, n, size, i, store, (COUNT*)out, (COUNT*)shared);
    else
      add_slices(parts, n, size, i, store, out, (SUM*)shared);
  }
}
