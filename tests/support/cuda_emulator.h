// Enough of CUDA to run kernels on a CPU, thread by thread.
//
// The threads of a block are fibers. Each runs until its next barrier; a block goes on when all have
// reached it. Blocks run one after the other, and blocks and threads run from the first to the last or
// backwards: a kernel whose threads race gives other results then. Writes beyond the shared memory
// that was asked for are counted. At a barrier of a warp, each lane lets the others run up to theirs;
// the lanes of a warp reach as many.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <ucontext.h>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __noinline__
#define __launch_bounds__(...)
#define EMULATED

struct Triple { int x, y, z; };
static Triple threadIdx, blockIdx, blockDim, gridDim;

static inline double __longlong_as_double(long long bits) {
  double value;
  std::memcpy(&value, &bits, 8);
  return value;
}
static inline float __uint_as_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
static inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
static inline long long __double2ll_rn(double value) { return std::llrint(value); }
template <typename Number> static inline Number atomicAdd(Number* at, Number value) {
  Number old = *at;
  *at += value;
  return old;
}

static const int MOST_THREADS = 256, STACK = 64 * 1024;
static ucontext_t scheduler, fibers[MOST_THREADS];
static char stacks[MOST_THREADS][STACK];
static bool done[MOST_THREADS];
static int current, threads, asked;
static bool backwards;
static long long beyond;  // blocks that wrote where no shared memory was asked for
static void (*body)();
alignas(64) static double shared[256 * 1024 / 8];


static inline void __syncwarp() { swapcontext(&fibers[current], &scheduler); }
static bool waiting[MOST_THREADS];  // at a barrier of the block
static inline void __syncthreads() {
  waiting[current] = true;
  swapcontext(&fibers[current], &scheduler);
}

// Matrix products of a warp: lanes show each other their numbers.
static double left[MOST_THREADS], right[MOST_THREADS];
static inline void multiply_add(double sum[2], double a, double b) {
  int own = threadIdx.x, warp = own / 32 * 32, lane = own % 32;
  left[own] = a;
  right[own] = b;
  __syncwarp();
  for (int e = 0; e < 2; e++)
    for (int i = 0; i < 4; i++)
      sum[e] = std::fma(left[warp + lane / 4 * 4 + i], right[warp + (lane % 4 * 2 + e) * 4 + i], sum[e]);
  __syncwarp();
}

static inline double inverse_of(double d) { return 1.0 / d; }
static inline double sum_of_four(double value) {
  int own = threadIdx.x;
  left[own] = value;
  __syncwarp();
  double sum = (left[own] + left[own ^ 1]) + (left[own ^ 2] + left[own ^ 3]);
  __syncwarp();
  return sum;
}

static unsigned pairs[MOST_THREADS][6];
static inline float half_of(unsigned pair, int high) {
  return __uint_as_float(high ? pair & 0xffff0000u : pair << 16);
}
static inline void multiply_add(float sum[4], const unsigned a[4], unsigned b0, unsigned b1) {
  int own = threadIdx.x, warp = own / 32 * 32, lane = own % 32, g = lane / 4, t = lane % 4;
  for (int i = 0; i < 4; i++) pairs[own][i] = a[i];
  pairs[own][4] = b0;
  pairs[own][5] = b1;
  __syncwarp();
  for (int e = 0; e < 4; e++)
    for (int i = 0; i < 16; i++) {
      unsigned x = pairs[warp + g * 4 + i % 8 / 2][i / 8 * 2 + e / 2];
      unsigned y = pairs[warp + (t * 2 + e % 2) * 4 + i % 8 / 2][4 + i / 8];
      sum[e] += half_of(x, i % 2) * half_of(y, i % 2);
    }
  __syncwarp();
}
static inline unsigned rounded_half(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static inline unsigned rounded_pair(float low, float high) {
  return rounded_half(low) | rounded_half(high) << 16;
}

// Copies end when they start. A kernel that does not wait for them is not found here.
template <int SIZE> static inline void copy_ahead(void* to, const void* from, bool there) {
  if (there) std::memcpy(to, from, SIZE);
  else std::memset(to, 0, SIZE);
}
static inline void end_of_copies() {}
template <int PENDING> static inline void wait_for_copies() {}

static void run_fiber() {
  body();
  done[current] = true;
}

static void run_block() {
  std::memset(shared, 0x5a, sizeof shared);  // what a kernel does not set is not zero
  for (int t = 0; t < threads; t++) {
    done[t] = waiting[t] = false;
    getcontext(&fibers[t]);
    fibers[t].uc_stack.ss_sp = stacks[t];
    fibers[t].uc_stack.ss_size = STACK;
    fibers[t].uc_link = &scheduler;
    makecontext(&fibers[t], run_fiber, 0);
  }
  for (bool left = true; left;) {
    left = false;
    bool ran = false;
    for (int i = 0; i < threads; i++) {
      int t = backwards ? threads - 1 - i : i;
      if (done[t]) continue;
      left = true;
      if (waiting[t]) continue;
      ran = true;
      current = t;
      threadIdx = {t, 0, 0};
      swapcontext(&scheduler, &fibers[t]);
    }
    if (!ran) std::memset(waiting, 0, sizeof waiting);
  }
  const unsigned char* memory = (const unsigned char*)shared;
  for (size_t i = asked; i < sizeof shared; i++)
    if (memory[i] != 0x5a) {
      beyond += 1;
      break;
    }
}

// Calls a kernel with arguments by address.
template <typename... Types> struct Call {
  static void (*kernel)(Types...);
  static void** given;
  template <size_t... Index> static void run_with(std::index_sequence<Index...>) {
    kernel(*static_cast<Types*>(given[Index])...);
  }
  static void run() { run_with(std::index_sequence_for<Types...>{}); }
};
template <typename... Types> void (*Call<Types...>::kernel)(Types...);
template <typename... Types> void** Call<Types...>::given;

template <typename... Types>
static void emulate(void (*kernel)(Types...), const int* grid, int block, int memory, bool back,
                    void** arguments) {
  Call<Types...>::kernel = kernel;
  Call<Types...>::given = arguments;
  body = &Call<Types...>::run;
  threads = block;
  asked = memory;
  backwards = back;
  blockDim = {block, 1, 1};
  gridDim = {grid[0], grid[1], grid[2]};
  int blocks = grid[0] * grid[1] * grid[2];
  for (int i = 0; i < blocks; i++) {
    int b = back ? blocks - 1 - i : i;
    blockIdx = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
    run_block();
  }
}
