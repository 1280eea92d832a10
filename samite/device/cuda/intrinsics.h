// Features of CUDA that C++ lacks. All other headers access the machine through this one, so that emitted code can be
// run, and tested, with other definitions of these functions.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

SAMITE_INLINE f32 f32_of_bits(u32 bits) { return __uint_as_float(bits); }
SAMITE_INLINE f64 f64_of_bits(u64 bits) { return __longlong_as_double(i64(bits)); }
SAMITE_INLINE u32 bits_of(f32 value) { return __float_as_uint(value); }
SAMITE_INLINE u64 bits_of(f64 value) { return u64(__double_as_longlong(value)); }

SAMITE_INLINE i32 set_bits(u32 x) { return __popc(x); }
SAMITE_INLINE i32 set_bits(u64 x) { return __popcll(x); }
SAMITE_INLINE i32 leading_zeros(u32 x) { return __clz(i32(x)); }
SAMITE_INLINE i32 leading_zeros(u64 x) { return __clzll(i64(x)); }

// In 32 bits, which the compiler does not narrow.
SAMITE_INLINE i32 negated(i32 x) {
  i32 result;
  asm("neg.s32 %0, %1;" : "=r"(result) : "r"(x));
  return result;
}

// To nearest, ties to even.
SAMITE_INLINE u16 f16_bits(f32 value) {
  u16 bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
// Packs two numbers; the first is the lower half of the word.
SAMITE_INLINE u32 f16_bits(f32 low, f32 high) {
  u32 bits;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
SAMITE_INLINE u32 bf16_bits(f32 low, f32 high) {
  u32 bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
  return bits;
}
SAMITE_INLINE f32 exp2_or_zero(f32 x) {
  f32 power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
SAMITE_INLINE f32 f16_value(u16 bits) {
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
// The instruction for two is many times faster than that for one.
SAMITE_INLINE u16 bf16_bits(f32 value) { return u16(bf16_bits(value, 0.0f)); }
#if __CUDA_ARCH__ >= 890
// Rounds to nearest, ties to even; numbers beyond the range become the largest finite one.
SAMITE_INLINE u8 e4m3_bits(f32 value) {
  u16 two;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(value));
  return u8(two);
}
SAMITE_INLINE u8 e5m2_bits(f32 value) {
  u16 two;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(value));
  return u8(two);
}
#endif

// Memory that nothing writes while the kernel runs.
template <class T>
SAMITE_INLINE T load_constant_bits(const T *p) {
  return __ldg(p);
}

using Bits64 = uint2;
using Bits128 = uint4;
// The same; memory sends all of the surrounding 256 bytes to the cache that multiprocessors share.
SAMITE_INLINE Bits128 load_row_bits(const Bits128 *p) {
#if __CUDA_ARCH__ >= 800
  Bits128 bits;
  asm("ld.global.nc.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
      : "l"(p));
  return bits;
#else
  return __ldg(p);
#endif
}
// One store to device memory; the compiler might otherwise split it into several of single registers.
SAMITE_INLINE void store_whole(Bits64 *p, Bits64 value) { __stwb(p, value); }
SAMITE_INLINE void store_whole(Bits128 *p, Bits128 value) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(value.x), "r"(value.y), "r"(value.z),
               "r"(value.w)
               : "memory");
}
// Stores data that is not read again soon.
SAMITE_INLINE void store_streaming(Bits128 *p, Bits128 value) { __stcs(p, value); }

// For kernels that are launched programmatically: when this returns, the writes of the previous launch are visible.
SAMITE_INLINE void wait_for_earlier_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Atomic steps on one element. Relaxed: the end of a launch orders everything after it.
template <class T>
SAMITE_INLINE T fetch_add(T *p, T value) {
  return ::atomicAdd(p, value);
}
SAMITE_INLINE i64 fetch_add(i64 *p, i64 value) { return i64(::atomicAdd(reinterpret_cast<u64 *>(p), u64(value))); }
// Adds to neighbours, atomically for each. Their address is a multiple of their total size.
SAMITE_INLINE void add_to_neighbours(f32 *p, const f32 (&values)[4]) {
#if __CUDA_ARCH__ >= 900
  ::atomicAdd(reinterpret_cast<float4 *>(p), make_float4(values[0], values[1], values[2], values[3]));
#else
  for (int k = 0; k < 4; ++k) ::atomicAdd(p + k, values[k]);
#endif
}
SAMITE_INLINE void add_to_neighbours(f32 *p, const f32 (&values)[2]) {
#if __CUDA_ARCH__ >= 900
  ::atomicAdd(reinterpret_cast<float2 *>(p), make_float2(values[0], values[1]));
#else
  for (int k = 0; k < 2; ++k) ::atomicAdd(p + k, values[k]);
#endif
}

// Adds to two 16-bit neighbours in device memory; the low half of `pair` is for the first. Each sum is rounded to
// nearest. Returns the two old values. A single 16-bit addition would be a loop of compare and exchange.
inline constexpr bool adds_f16_pairs = true;
SAMITE_INLINE u32 fetch_add_f16_pair(u32 *p, u32 pair) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.add.noftz.f16x2 %0, [%1], %2;"
               : "=r"(old)
               : "l"(__cvta_generic_to_global(p)), "r"(pair)
               : "memory");
  return old;
}
#if __CUDA_ARCH__ >= 900
inline constexpr bool adds_bf16_pairs = true;
SAMITE_INLINE u32 fetch_add_bf16_pair(u32 *p, u32 pair) {
  u32 old;
  asm volatile("atom.relaxed.gpu.global.add.noftz.bf16x2 %0, [%1], %2;"
               : "=r"(old)
               : "l"(__cvta_generic_to_global(p)), "r"(pair)
               : "memory");
  return old;
}
#else
inline constexpr bool adds_bf16_pairs = false;
SAMITE_INLINE u32 fetch_add_bf16_pair(u32 *, u32) { return 0; }
#endif

template <class T>
SAMITE_INLINE T compare_exchange(T *p, T expected, T value) {
  return ::atomicCAS(p, expected, value);
}
template <class T>
SAMITE_INLINE T fetch_and(T *p, T value) {
  return ::atomicAnd(p, value);
}
template <class T>
SAMITE_INLINE T fetch_or(T *p, T value) {
  return ::atomicOr(p, value);
}
template <class T>
SAMITE_INLINE T fetch_xor(T *p, T value) {
  return ::atomicXor(p, value);
}
template <class T>
SAMITE_INLINE T fetch_min(T *p, T value) {
  return ::atomicMin(p, value);
}
template <class T>
SAMITE_INLINE T fetch_max(T *p, T value) {
  return ::atomicMax(p, value);
}
template <class T>
SAMITE_INLINE T exchange(T *p, T value) {
  return ::atomicExch(p, value);
}
// A load that sees what other threads store.
template <class T>
SAMITE_INLINE T load_current(const T *p) {
  return *static_cast<const volatile T *>(p);
}

// The shared memory that a block requests at launch.
SAMITE_INLINE u8 *shared_memory() {
  extern __shared__ __align__(1024) u8 memory_of_block[];
  return memory_of_block;
}

// Whether the condition holds for some thread of the block; all threads call this together.
SAMITE_INLINE bool any_of_block(bool holds) { return __syncthreads_or(holds) != 0; }

// The value of the thread that is `distance` further on in the warp; all threads in `present` call it together.
template <class T>
SAMITE_INLINE T shuffle_down(u32 present, T value, u32 distance) {
  if constexpr (sizeof(T) < 4)
    return T(__shfl_down_sync(present, i32(value), distance));
  else
    return __shfl_down_sync(present, value, distance);
}

// About the threads of a warp: whether all of them are active; whether all have the same value; and the value of the
// thread whose lane number differs in the bits of `distance`.
SAMITE_INLINE bool whole_warp() { return __activemask() == ~0u; }
template <class T>
SAMITE_INLINE bool same_in_warp(T value) {
  int same;
  __match_all_sync(~0u, value, &same);
  return same != 0;
}
template <class T>
SAMITE_INLINE T shuffle_xor(T value, u32 distance) {
  return __shfl_xor_sync(~0u, value, distance);
}
// The value of thread `lane` of the warp.
template <class T>
SAMITE_INLINE T shuffle(T value, u32 lane) {
  return __shfl_sync(~0u, value, lane);
}
// A bit for each thread of the warp for which the condition holds.
SAMITE_INLINE u32 lanes_where(bool holds) { return __ballot_sync(~0u, holds); }
// Waits for all threads of the warp; their writes to shared memory are then visible.
SAMITE_INLINE void sync_warp() { __syncwarp(); }

// Matrices in the registers of a warp's threads. All threads of the warp call these together. NVIDIA defines which
// elements each thread has (PTX ISA, mma.sync); samite/device/tile/fragments.h has the formulas.

// Loads four matrices of 8 rows of 16 bytes from shared memory: thread 8 m + r gives the address of row r of matrix m.
// Thread 4 r + c gets word c of row r of each. `transposed`, for 16-bit elements: of each matrix's transpose.
template <bool transposed>
SAMITE_INLINE void load_matrices(u32 (&words)[4], const void *row) {
  const u32 at = u32(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
}

// The types of the factors of a product.
struct MatrixF16 {};
struct MatrixBF16 {};
struct MatrixTF32 {};
struct MatrixI8 {};
struct MatrixU8 {};
struct MatrixF64 {};
struct MatrixE4M3 {};
struct MatrixE5M2 {};
struct MatrixE4M3E5M2 {};  // of A and of B
struct MatrixE5M2E4M3 {};

// c += a b: 16 rows, 8 columns, and as many terms as 32 bytes hold.
#define SAMITE_MATRIX_PRODUCT(Kind, C, constraint, instruction)                                  \
  SAMITE_INLINE void multiply_matrices(Kind, C(&c)[4], const u32(&a)[4], const u32(&b)[2]) {     \
    asm("mma.sync.aligned." instruction                                                          \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "                                        \
        "{%0, %1, %2, %3};"                                                                      \
        : "+" constraint(c[0]), "+" constraint(c[1]), "+" constraint(c[2]), "+" constraint(c[3]) \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                     \
  }
SAMITE_MATRIX_PRODUCT(MatrixF16, f32, "f", "m16n8k16.row.col.f32.f16.f16.f32")
SAMITE_MATRIX_PRODUCT(MatrixBF16, f32, "f", "m16n8k16.row.col.f32.bf16.bf16.f32")
SAMITE_MATRIX_PRODUCT(MatrixTF32, f32, "f", "m16n8k8.row.col.f32.tf32.tf32.f32")
SAMITE_MATRIX_PRODUCT(MatrixI8, i32, "r", "m16n8k32.row.col.s32.s8.s8.s32")
SAMITE_MATRIX_PRODUCT(MatrixU8, i32, "r", "m16n8k32.row.col.s32.u8.u8.s32")
#if __CUDA_ARCH__ >= 890
SAMITE_MATRIX_PRODUCT(MatrixE4M3, f32, "f", "m16n8k32.row.col.f32.e4m3.e4m3.f32")
SAMITE_MATRIX_PRODUCT(MatrixE5M2, f32, "f", "m16n8k32.row.col.f32.e5m2.e5m2.f32")
SAMITE_MATRIX_PRODUCT(MatrixE4M3E5M2, f32, "f", "m16n8k32.row.col.f32.e4m3.e5m2.f32")
SAMITE_MATRIX_PRODUCT(MatrixE5M2E4M3, f32, "f", "m16n8k32.row.col.f32.e5m2.e4m3.f32")
#else
// Two of the four elements of a word as f16, which represents each of them exactly. An f16 has one exponent bit more
// than an e4m3, and another bias: so the moved bits are multiplied by 256.
SAMITE_INLINE u32 two_halves(MatrixE5M2, u32 word, u32 bytes) { return __byte_perm(word, 0, bytes); }
SAMITE_INLINE u32 two_halves(MatrixE4M3, u32 word, u32 bytes) {
  const u32 moved = __byte_perm(word, 0, bytes), magnitude = moved & 0x7f007f00;
  u32 halves = (moved & 0x80008000) | magnitude >> 1;
  constexpr u32 both_256 = 0x5c005c00;
  asm("mul.f16x2 %0, %0, %1;" : "+r"(halves) : "r"(both_256));
  if ((magnitude & 0xffff) == 0x7f00) halves |= 0x7fff;
  if (magnitude >> 16 == 0x7f00) halves |= 0x7fff0000;
  return halves;
}
// Both factors take the terms in the same order, so any order will do.
template <class KindOfA, class KindOfB>
SAMITE_INLINE void multiply_as_halves(KindOfA of_a, KindOfB of_b, f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const u32 bytes = part == 0 ? 0x1404 : 0x3424;
    u32 left[4], right[2];
#pragma unroll
    for (int w = 0; w < 4; ++w) left[w] = two_halves(of_a, a[w], bytes);
#pragma unroll
    for (int w = 0; w < 2; ++w) right[w] = two_halves(of_b, b[w], bytes);
    multiply_matrices(MatrixF16(), c, left, right);
  }
}
SAMITE_INLINE void multiply_matrices(MatrixE4M3 kind, f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  multiply_as_halves(kind, kind, c, a, b);
}
SAMITE_INLINE void multiply_matrices(MatrixE5M2 kind, f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  multiply_as_halves(kind, kind, c, a, b);
}
SAMITE_INLINE void multiply_matrices(MatrixE4M3E5M2, f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  multiply_as_halves(MatrixE4M3(), MatrixE5M2(), c, a, b);
}
SAMITE_INLINE void multiply_matrices(MatrixE5M2E4M3, f32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  multiply_as_halves(MatrixE5M2(), MatrixE4M3(), c, a, b);
}
#endif
#undef SAMITE_MATRIX_PRODUCT

// The same with 8 terms.
SAMITE_INLINE void multiply_matrices(MatrixF64, f64 (&c)[4], const f64 (&a)[4], const f64 (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
  for (int k = 0; k < 2; ++k)
    for (int half = 0; half < 2; ++half)
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
          : "d"(a[2 * k + half]), "d"(b[k]));
#endif
}

// Rounded to nearest. Ties go to even from compute capability 9.0 on, where that is one instruction instead of two, and
// away from zero before.
SAMITE_INLINE u32 tf32_bits(f32 value) {
  u32 bits;
#if __CUDA_ARCH__ >= 900
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#else
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
#endif
  return bits;
}

// Starts the copy of 16 bytes from device memory to shared memory, both at multiples of 16. It is complete when it has
// been waited for. The target is the address of `to`, exclusive-or `swizzled`, plus `on` bytes.
SAMITE_INLINE void copy_ahead(void *to, int swizzled, int on, const void *from) {
  const u32 at = (u32(__cvta_generic_to_shared(to)) ^ u32(swizzled)) + u32(on);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}
// The same if `there`, without a branch, so that other computations can be scheduled between several of these.
SAMITE_INLINE void copy_ahead_if(bool there, void *to, int swizzled, int on, const void *from) {
  const u32 at = (u32(__cvta_generic_to_shared(to)) ^ u32(swizzled)) + u32(on);
  asm volatile(
      "{\n  .reg .pred there;\n  setp.ne.u32 there, %2, 0;\n"
      "  @there cp.async.cg.shared.global [%0], [%1], 16;\n}" ::"r"(at),
      "l"(from), "r"(u32(there))
      : "memory");
}
// Reads `bytes` of the 16; the others become zeros.
SAMITE_INLINE void copy_part_ahead(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from),
               "r"(bytes)
               : "memory");
}
// An element of 4 or 8 bytes, or zeros.
template <class T>
SAMITE_INLINE void copy_element_ahead(T *to, const T *from, bool zero) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from),
               "n"(sizeof(T)), "r"(zero ? 0 : int(sizeof(T)))
               : "memory");
}
// Copies elements, 4, 8 or 16 bytes together, both sides at a multiple of that size.
template <int count, class T>
SAMITE_INLINE void copy_neighbours_ahead(T *to, const T *from) {
  constexpr int bytes = count * int(sizeof(T));
  if constexpr (bytes == 16)
    copy_ahead(to, 0, 0, from);
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(u32(__cvta_generic_to_shared(to))), "l"(from),
                 "n"(bytes)
                 : "memory");
}
// The copies since the last call are a group. `wait_for_copies` waits for all but the last `groups` groups.
SAMITE_INLINE void end_group_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups>
SAMITE_INLINE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory");
}

// All threads, and the host, see this thread's earlier writes before its later ones.
SAMITE_INLINE void publish() { __threadfence_system(); }

// sums[j] += left[t] * right[j][t], for t = 0, 1, 2 and 3 in turn; each step rounds once. As one statement it takes
// NVIDIA's compiler a fraction of the time that 16 take. `&`: no sum shares a register with an operand that is read
// after the sum is written.
SAMITE_INLINE void add_products(f32 *sums, const f32 (&left)[4], const f32 (&right)[4][4]) {
  asm("fma.rn.f32 %0, %4, %8, %0; fma.rn.f32 %1, %4, %12, %1; fma.rn.f32 %2, %4, %16, %2; fma.rn.f32 %3, %4, %20, %3;\n"
      "fma.rn.f32 %0, %5, %9, %0; fma.rn.f32 %1, %5, %13, %1; fma.rn.f32 %2, %5, %17, %2; fma.rn.f32 %3, %5, %21, %3;\n"
      "fma.rn.f32 %0, %6, %10, %0; fma.rn.f32 %1, %6, %14, %1; fma.rn.f32 %2, %6, %18, %2; fma.rn.f32 %3, %6, %22, "
      "%3;\n"
      "fma.rn.f32 %0, %7, %11, %0; fma.rn.f32 %1, %7, %15, %1; fma.rn.f32 %2, %7, %19, %2; fma.rn.f32 %3, %7, %23, %3;"
      : "+&f"(sums[0]), "+&f"(sums[1]), "+&f"(sums[2]), "+&f"(sums[3])
      : "f"(left[0]), "f"(left[1]), "f"(left[2]), "f"(left[3]), "f"(right[0][0]), "f"(right[0][1]), "f"(right[0][2]),
        "f"(right[0][3]), "f"(right[1][0]), "f"(right[1][1]), "f"(right[1][2]), "f"(right[1][3]), "f"(right[2][0]),
        "f"(right[2][1]), "f"(right[2][2]), "f"(right[2][3]), "f"(right[3][0]), "f"(right[3][1]), "f"(right[3][2]),
        "f"(right[3][3]));
}

// The position of the thread in its block and its grid.
SAMITE_INLINE u32 threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }
SAMITE_INLINE u32 thread_of_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
// For one-dimensional blocks, like those of tile kernels: the compiler knows the range of this number.
SAMITE_INLINE u32 flat_thread() { return threadIdx.x; }
// The position of a block on an axis, opaque to the compiler. Otherwise the compiler first adds the terms that differ
// between threads, and needs a register of each thread for every sum.
SAMITE_INLINE u32 block_on_axis(u32 place) {
  asm("" : "+r"(place));
  return place;
}
// The same, for code that rarely needs it: the compiler does not hoist computations with it out of loops, so that it
// takes no registers there.
SAMITE_INLINE u32 flat_thread_again() {
  u32 thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}
SAMITE_INLINE i64 threads_of_grid() { return i64(gridDim.x) * gridDim.y * gridDim.z * threads_of_block(); }
SAMITE_INLINE i64 thread_of_grid() {
  return ((i64(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * threads_of_block() + thread_of_block();
}

}  // namespace samite
