// The local steps of k-means and fuzzy c-means over rows on a GPU: what all kernels share.
//
// The source is compiled once for each form of the rows:
//   ROW        the type of the stored rows, float or double
//   F          the number of features
//   EXACT      1 if sums are integers on a grid, else 0
//   WEIGHTED   1 if rows have weights, else 0
//   POWER      2 or 3 for the fuzzifiers 2 and 1.5, 0 for any other
//   CELLS      sixteens of clusters, for the kernels that keep all sums in registers; else 0
//
// Rules that every kernel keeps:
//   - A sum is made of parts. The number of parts depends on the number of rows alone, each part
//     adds its rows in a fixed order, and parts are added in a fixed order. Sums are therefore the
//     same in every run. Integer sums do not depend on the order at all.
//   - A label is decided by differences, added feature by feature with fused multiply-add, and the
//     lowest index wins a tie. This is the rule of the compiled loops for the CPU.
//   - The compiler does not fuse by itself (--fmad=false). What is fused is written so.

#define DIRECT 16                       // up to so many features the CPU labels in the rows' type
#define THREADS 128                     // of a block, in most kernels
#define WARPS (THREADS / 32)
#define COLUMNS ((F) + (WEIGHTED))      // of hard sums: features, then the weight
#define FUZZY_COLUMNS ((F) + 1)         // of fuzzy sums: features, then the weight
#define FUZZY_STRIDE ((F) + 1 | 1)
// Compilers turn the unrolled sum a*a + b*b into fma(a, a, b*b): the second square comes first.
#define FIRST_TWO_SWAPPED ((F) >= 2 && (F) <= DIRECT)

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
#define TINY 1e-290                     // below, and above its inverse, reciprocals lose bits
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

// Instructions of the card, of compute capability 8.0 or newer. ----------------------------------
#ifndef EMULATED
// Products of 8 x 4 and 4 x 8 numbers: lane 4g + t holds a[g][t] and b[t][g], and adds to columns
// 2t and 2t + 1 of row g.
__device__ inline void multiply_add(double sum[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(sum[0]), "+d"(sum[1])
      : "d"(a), "d"(b));
}

// One over d, to about the last bit, for d from 1e-290 to 1e290. Else it may be infinite, NaN or zero.
__device__ inline double inverse_of(double d) {
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(d));
  double e = fused(-d, r, 1.0);
  return fused(r, fused(e, e, e), r);
}

// The sum over the four lanes that share lane / 4.
__device__ inline double sum_of_four(double value) {
  value += __shfl_xor_sync(0xffffffffu, value, 1);
  return value + __shfl_xor_sync(0xffffffffu, value, 2);
}

// Products of 16 x 16 and 16 x 8 numbers of 16 bits (bfloat16), two in a register.
__device__ inline void multiply_add(float sum[4], const unsigned a[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two numbers rounded to 16 bits each; the first is in the low half.
__device__ inline unsigned rounded_pair(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Starts to copy SIZE bytes (4, 8 or 16) to shared memory; zeros if there is nothing to copy.
template <int SIZE> __device__ inline void copy_ahead(void* to, const void* from, bool there) {
  unsigned at = (unsigned)__cvta_generic_to_shared(to);
  int size = there ? SIZE : 0;
  if (SIZE == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(size));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from),
                 "n"(SIZE == 16 ? 4 : SIZE), "r"(size));
}
__device__ inline void end_of_copies() { asm volatile("cp.async.commit_group;"); }
// Waits until at most PENDING groups of copies of this thread are under way.
template <int PENDING> __device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
#endif

// Products of 16 x 8 and 8 x 8 numbers: lane 4g + t holds rows g and g + 8 of `a` for columns t and
// t + 4 (in this order: two rows, two rows), rows t and t + 4 of `b` for column g, and columns 2t and
// 2t + 1 of rows g and g + 8 of the sums.
__device__ inline void multiply_add(double sum[4], const double a[4], const double b[2]) {
#if !defined(EMULATED) && __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  for (int half = 0; half < 2; half++) {
    multiply_add(sum, a[2 * half], b[half]);
    multiply_add(sum + 2, a[2 * half + 1], b[half]);
  }
#endif
}

struct alignas(16) Quad { int a, b, c, d; };

// Copies N numbers in steps of 16 bytes where that is possible.
template <int N, typename NUMBER> __device__ inline void load(const NUMBER* from, NUMBER* to) {
  if (N * sizeof(NUMBER) % 16 == 0) {
#pragma unroll
    for (int i = 0; i < (int)(N * sizeof(NUMBER) / 16); i++) ((Quad*)to)[i] = ((const Quad*)from)[i];
  } else {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = from[i];
  }
}

// Powers of memberships. -------------------------------------------------------------------------

__device__ inline double raised(double x, double power) {
  return x >= SMALLEST ? pow(x, power) : 0.0;
}

__device__ inline double ratio_of(double d, double low, double inner) {
  double a = d == low ? 1.0 : d < TINY || d > 1.0 / TINY ? low / d : low * inverse_of(d);
#if POWER == 2
  return a;
#elif POWER == 3
  return a * a;
#else
  return raised(a, inner);
#endif
}

// One over d, squared for the fuzzifier 1.5; not finite, or zero, where the range of numbers ends.
#define TINY_TOTAL 1e-140
__device__ inline double inverse_power(double d) {
#if POWER == 2
  return inverse_of(d);
#elif POWER == 3
  double r = inverse_of(d);
  return r * r;
#else
  return 0.0;
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

