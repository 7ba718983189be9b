// Enough of CUDA to run kernels on a CPU, thread by thread.
//
// The threads of a block are fibers. Each runs until its next barrier; a block goes on when all have
// reached it. Blocks run one after the other, and blocks and threads run from the first to the last or
// backwards: a kernel whose threads race gives other results then. Writes beyond the shared memory
// that was asked for are counted. Barriers of a warp are barriers of the block here, so
// kernels must reach them with all threads.
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
#define __restrict__

struct Triple { int x, y, z; };
static Triple threadIdx, blockIdx, blockDim, gridDim;

static inline double __longlong_as_double(long long bits) {
  double value;
  std::memcpy(&value, &bits, 8);
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

static inline void __syncthreads() { swapcontext(&fibers[current], &scheduler); }

static void run_fiber() {
  body();
  done[current] = true;
}

static void run_block() {
  std::memset(shared, 0x5a, sizeof shared);  // what a kernel does not set is not zero
  for (int t = 0; t < threads; t++) {
    done[t] = false;
    getcontext(&fibers[t]);
    fibers[t].uc_stack.ss_sp = stacks[t];
    fibers[t].uc_stack.ss_size = STACK;
    fibers[t].uc_link = &scheduler;
    makecontext(&fibers[t], run_fiber, 0);
  }
  for (bool left = true; left;) {
    left = false;
    for (int i = 0; i < threads; i++) {
      int t = backwards ? threads - 1 - i : i;
      if (done[t]) continue;
      current = t;
      threadIdx = {t, 0, 0};
      swapcontext(&scheduler, &fibers[t]);
      left = left || !done[t];
    }
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
