// Products of matrices by warp groups: `wgmma`, which only compute capability 9.0 has.
//
// The four warps of a group multiply together: sums of 64 rows and up to 256 columns, in their registers, of factors in
// shared memory. The multiplication is asynchronous. It begins after `begin_products`, joins a group at
// `end_group_of_products`, and is complete when that group has been waited for; until then nothing may touch the sums.
#pragma once

#include "samite/device/cuda/scalar.h"

namespace samite {

// The types of the factors: the bytes of an element, and of sums. One product takes 32 bytes of terms.
struct WgmmaF16 {
  static constexpr int bytes = 2;
  static SAMITE_INLINE_MEMBER u32 pair(f32 low, f32 high) { return f16_bits(low, high); }
  using Sum = f32;
};
struct WgmmaBF16 {
  static constexpr int bytes = 2;
  static SAMITE_INLINE_MEMBER u32 pair(f32 low, f32 high) { return bf16_bits(low, high); }
  using Sum = f32;
};
struct WgmmaTF32 {
  static constexpr int bytes = 4;
  using Sum = f32;
};
struct WgmmaE4M3 {
  static constexpr int bytes = 1;
  using Sum = f32;
};
struct WgmmaE5M2 {
  static constexpr int bytes = 1;
  using Sum = f32;
};
struct WgmmaE4M3E5M2 {
  static constexpr int bytes = 1;
  using Sum = f32;
};
struct WgmmaE5M2E4M3 {
  static constexpr int bytes = 1;
  using Sum = f32;
};
struct WgmmaI8 {
  static constexpr int bytes = 1;
  using Sum = i32;
};
struct WgmmaU8 {
  static constexpr int bytes = 1;
  using Sum = i32;
};

SAMITE_INLINE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
SAMITE_INLINE void end_group_of_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until all but the last `groups` groups are complete.
template <int groups>
SAMITE_INLINE void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(groups) : "memory");
}
// Tells the compiler that the sums change here, so that it does not read them before.
template <int count>
SAMITE_INLINE void changed_by_products(f32 (&sums)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int count>
SAMITE_INLINE void changed_by_products(i32 (&sums)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(sums[i])::"memory");
}

#define SAMITE_WGMMA_NAMES_8 "%0, %1, %2, %3"
#define SAMITE_WGMMA_NAMES_16 SAMITE_WGMMA_NAMES_8 ", %4, %5, %6, %7"
#define SAMITE_WGMMA_NAMES_24 SAMITE_WGMMA_NAMES_16 ", %8, %9, %10, %11"
#define SAMITE_WGMMA_NAMES_32 SAMITE_WGMMA_NAMES_24 ", %12, %13, %14, %15"
#define SAMITE_WGMMA_NAMES_40 SAMITE_WGMMA_NAMES_32 ", %16, %17, %18, %19"
#define SAMITE_WGMMA_NAMES_48 SAMITE_WGMMA_NAMES_40 ", %20, %21, %22, %23"
#define SAMITE_WGMMA_NAMES_56 SAMITE_WGMMA_NAMES_48 ", %24, %25, %26, %27"
#define SAMITE_WGMMA_NAMES_64 SAMITE_WGMMA_NAMES_56 ", %28, %29, %30, %31"
#define SAMITE_WGMMA_NAMES_80 SAMITE_WGMMA_NAMES_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define SAMITE_WGMMA_NAMES_96 SAMITE_WGMMA_NAMES_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define SAMITE_WGMMA_NAMES_112 SAMITE_WGMMA_NAMES_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define SAMITE_WGMMA_NAMES_128 SAMITE_WGMMA_NAMES_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define SAMITE_WGMMA_NAMES_160 \
  SAMITE_WGMMA_NAMES_128 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define SAMITE_WGMMA_NAMES_192 \
  SAMITE_WGMMA_NAMES_160 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define SAMITE_WGMMA_NAMES_224                                                               \
  SAMITE_WGMMA_NAMES_192                                                                     \
  ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, " \
  "%111"
#define SAMITE_WGMMA_NAMES_256 \
  SAMITE_WGMMA_NAMES_224       \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define SAMITE_WGMMA_SUMS_8(S) S(0), S(1), S(2), S(3)
#define SAMITE_WGMMA_SUMS_16(S) SAMITE_WGMMA_SUMS_8(S), S(4), S(5), S(6), S(7)
#define SAMITE_WGMMA_SUMS_24(S) SAMITE_WGMMA_SUMS_16(S), S(8), S(9), S(10), S(11)
#define SAMITE_WGMMA_SUMS_32(S) SAMITE_WGMMA_SUMS_24(S), S(12), S(13), S(14), S(15)
#define SAMITE_WGMMA_SUMS_40(S) SAMITE_WGMMA_SUMS_32(S), S(16), S(17), S(18), S(19)
#define SAMITE_WGMMA_SUMS_48(S) SAMITE_WGMMA_SUMS_40(S), S(20), S(21), S(22), S(23)
#define SAMITE_WGMMA_SUMS_56(S) SAMITE_WGMMA_SUMS_48(S), S(24), S(25), S(26), S(27)
#define SAMITE_WGMMA_SUMS_64(S) SAMITE_WGMMA_SUMS_56(S), S(28), S(29), S(30), S(31)
#define SAMITE_WGMMA_SUMS_80(S) SAMITE_WGMMA_SUMS_64(S), S(32), S(33), S(34), S(35), S(36), S(37), S(38), S(39)
#define SAMITE_WGMMA_SUMS_96(S) SAMITE_WGMMA_SUMS_80(S), S(40), S(41), S(42), S(43), S(44), S(45), S(46), S(47)
#define SAMITE_WGMMA_SUMS_112(S) SAMITE_WGMMA_SUMS_96(S), S(48), S(49), S(50), S(51), S(52), S(53), S(54), S(55)
#define SAMITE_WGMMA_SUMS_128(S) SAMITE_WGMMA_SUMS_112(S), S(56), S(57), S(58), S(59), S(60), S(61), S(62), S(63)
#define SAMITE_WGMMA_SUMS_160(S)                                                                                       \
  SAMITE_WGMMA_SUMS_128(S), S(64), S(65), S(66), S(67), S(68), S(69), S(70), S(71), S(72), S(73), S(74), S(75), S(76), \
      S(77), S(78), S(79)
#define SAMITE_WGMMA_SUMS_192(S)                                                                                       \
  SAMITE_WGMMA_SUMS_160(S), S(80), S(81), S(82), S(83), S(84), S(85), S(86), S(87), S(88), S(89), S(90), S(91), S(92), \
      S(93), S(94), S(95)
#define SAMITE_WGMMA_SUMS_224(S)                                                                                \
  SAMITE_WGMMA_SUMS_192(S), S(96), S(97), S(98), S(99), S(100), S(101), S(102), S(103), S(104), S(105), S(106), \
      S(107), S(108), S(109), S(110), S(111)
#define SAMITE_WGMMA_SUMS_256(S)                                                                                    \
  SAMITE_WGMMA_SUMS_224(S), S(112), S(113), S(114), S(115), S(116), S(117), S(118), S(119), S(120), S(121), S(122), \
      S(123), S(124), S(125), S(126), S(127)
#define SAMITE_WGMMA_SUM(i) "+f"(c[first + i])
#define SAMITE_WGMMA_INTEGER_SUM(i) "+r"(c[first + i])
#define SAMITE_WGMMA_OF(n, names, sums, a, b, adds, turned_a, turned_b, unused5, unused6, S, types, rest)            \
  if constexpr (columns == n)                                                                                        \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #adds ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n types \
                 " {" names "}, %" #a ", %" #b ", adds" rest(turned_a, turned_b) ";\n}"                              \
                 : sums(S)                                                                                           \
                 : "l"(left), "l"(right), "r"(int(adding)), "n"(transposed_a), "n"(transposed_b)                     \
                 : "memory");
#define SAMITE_WGMMA_WAYS(turned_a, turned_b) ", 1, 1, %" #turned_a ", %" #turned_b
#define SAMITE_WGMMA_SIGNS(turned_a, turned_b) ", 1, 1"
#define SAMITE_WGMMA_NOTHING(turned_a, turned_b)
// `X` for each number of columns: with the sums' names, the sums, and the numbers of the operands after them. Written
// out, because a kernel includes only the macros that its text names.
#define SAMITE_WGMMA_WIDTHS(X, ...)                                                                     \
  X(8, SAMITE_WGMMA_NAMES_8, SAMITE_WGMMA_SUMS_8, 4, 5, 6, 7, 8, 9, 10, __VA_ARGS__)                    \
  X(16, SAMITE_WGMMA_NAMES_16, SAMITE_WGMMA_SUMS_16, 8, 9, 10, 11, 12, 13, 14, __VA_ARGS__)             \
  X(24, SAMITE_WGMMA_NAMES_24, SAMITE_WGMMA_SUMS_24, 12, 13, 14, 15, 16, 17, 18, __VA_ARGS__)           \
  X(32, SAMITE_WGMMA_NAMES_32, SAMITE_WGMMA_SUMS_32, 16, 17, 18, 19, 20, 21, 22, __VA_ARGS__)           \
  X(40, SAMITE_WGMMA_NAMES_40, SAMITE_WGMMA_SUMS_40, 20, 21, 22, 23, 24, 25, 26, __VA_ARGS__)           \
  X(48, SAMITE_WGMMA_NAMES_48, SAMITE_WGMMA_SUMS_48, 24, 25, 26, 27, 28, 29, 30, __VA_ARGS__)           \
  X(56, SAMITE_WGMMA_NAMES_56, SAMITE_WGMMA_SUMS_56, 28, 29, 30, 31, 32, 33, 34, __VA_ARGS__)           \
  X(64, SAMITE_WGMMA_NAMES_64, SAMITE_WGMMA_SUMS_64, 32, 33, 34, 35, 36, 37, 38, __VA_ARGS__)           \
  X(80, SAMITE_WGMMA_NAMES_80, SAMITE_WGMMA_SUMS_80, 40, 41, 42, 43, 44, 45, 46, __VA_ARGS__)           \
  X(96, SAMITE_WGMMA_NAMES_96, SAMITE_WGMMA_SUMS_96, 48, 49, 50, 51, 52, 53, 54, __VA_ARGS__)           \
  X(112, SAMITE_WGMMA_NAMES_112, SAMITE_WGMMA_SUMS_112, 56, 57, 58, 59, 60, 61, 62, __VA_ARGS__)        \
  X(128, SAMITE_WGMMA_NAMES_128, SAMITE_WGMMA_SUMS_128, 64, 65, 66, 67, 68, 69, 70, __VA_ARGS__)        \
  X(160, SAMITE_WGMMA_NAMES_160, SAMITE_WGMMA_SUMS_160, 80, 81, 82, 83, 84, 85, 86, __VA_ARGS__)        \
  X(192, SAMITE_WGMMA_NAMES_192, SAMITE_WGMMA_SUMS_192, 96, 97, 98, 99, 100, 101, 102, __VA_ARGS__)     \
  X(224, SAMITE_WGMMA_NAMES_224, SAMITE_WGMMA_SUMS_224, 112, 113, 114, 115, 116, 117, 118, __VA_ARGS__) \
  X(256, SAMITE_WGMMA_NAMES_256, SAMITE_WGMMA_SUMS_256, 128, 129, 130, 131, 132, 133, 134, __VA_ARGS__)
// c += a b, or c = a b. The factors are given by descriptors (samite/device/tile/sm90_panels.h). Each row of a, and
// each column of b, has contiguous terms in memory; `transposed`, for 16-bit factors, is the other way round. The
// thread has `columns / 2` sums, from c[first] on: four of each 8 columns, those of its warp's piece of 16 by 8
// (device/tile/place.h). `rows`: how many of the 64 are valid.
#define SAMITE_WGMMA(Kind, S, types, rest)                                                              \
  template <int columns, bool transposed_a, bool transposed_b, int first, int rows, class C, int count> \
  SAMITE_INLINE void multiply_by_group(Kind, C(&c)[count], u64 left, u64 right, bool adding) {          \
    SAMITE_WGMMA_WIDTHS(SAMITE_WGMMA_OF, S, types, rest)                                                \
  }
SAMITE_WGMMA(WgmmaF16, SAMITE_WGMMA_SUM, "k16.f32.f16.f16", SAMITE_WGMMA_WAYS)
SAMITE_WGMMA(WgmmaBF16, SAMITE_WGMMA_SUM, "k16.f32.bf16.bf16", SAMITE_WGMMA_WAYS)
SAMITE_WGMMA(WgmmaTF32, SAMITE_WGMMA_SUM, "k8.f32.tf32.tf32", SAMITE_WGMMA_SIGNS)
SAMITE_WGMMA(WgmmaE4M3, SAMITE_WGMMA_SUM, "k32.f32.e4m3.e4m3", SAMITE_WGMMA_SIGNS)
SAMITE_WGMMA(WgmmaE5M2, SAMITE_WGMMA_SUM, "k32.f32.e5m2.e5m2", SAMITE_WGMMA_SIGNS)
SAMITE_WGMMA(WgmmaE4M3E5M2, SAMITE_WGMMA_SUM, "k32.f32.e4m3.e5m2", SAMITE_WGMMA_SIGNS)
SAMITE_WGMMA(WgmmaE5M2E4M3, SAMITE_WGMMA_SUM, "k32.f32.e5m2.e4m3", SAMITE_WGMMA_SIGNS)
SAMITE_WGMMA(WgmmaI8, SAMITE_WGMMA_INTEGER_SUM, "k32.s32.s8.s8", SAMITE_WGMMA_NOTHING)
SAMITE_WGMMA(WgmmaU8, SAMITE_WGMMA_INTEGER_SUM, "k32.s32.u8.u8", SAMITE_WGMMA_NOTHING)

// The same with a in registers: 64 rows of 32 bytes of terms; each thread has the four words that a warp's tensor cores
// take.
#define SAMITE_WGMMA_REGISTERS_OF(n, names, sums, a0, a1, a2, a3, b, adds, turned_b, S, types, rest)                 \
  if constexpr (columns == n)                                                                                        \
    asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %" #adds ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n types \
                 " {" names "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3 "}, %" #b ", adds, 1, 1" rest(turned_b) ";\n}" \
                 : sums(S)                                                                                           \
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right), "r"(int(adding)),             \
                   "n"(transposed_b)                                                                                 \
                 : "memory");
#define SAMITE_WGMMA_WAY(turned_b) ", %" #turned_b
#define SAMITE_WGMMA_NO_WAY(turned_b)
// For 16-bit numbers.
#define SAMITE_WGMMA_REGISTERS(Kind, types)                                                                         \
  template <int columns, bool transposed_b, int first, class C, int count>                                          \
  SAMITE_INLINE void multiply_registers_by_group(Kind, C(&c)[count], const u32(&left)[4], u64 right, bool adding) { \
    SAMITE_WGMMA_WIDTHS(SAMITE_WGMMA_REGISTERS_OF, SAMITE_WGMMA_SUM, types, SAMITE_WGMMA_WAY)                       \
  }
SAMITE_WGMMA_REGISTERS(WgmmaF16, "k16.f32.f16.f16")
SAMITE_WGMMA_REGISTERS(WgmmaBF16, "k16.f32.bf16.bf16")
// For 32-bit numbers. The sums are transposed: of each 8 columns, the thread holds those of a transposed piece, and the
// next ones are `step` registers further on (TransposedGroupMatrixPieces).
#define SAMITE_WGMMA_TURNED_SUM(i) "+f"(c[first + i / 4 * step + i % 2 * 2 + i % 4 / 2])
template <int columns, int first, int step, class C, int count>
SAMITE_INLINE void multiply_registers_turned(WgmmaTF32, C (&c)[count], const u32 (&left)[4], u64 right, bool adding) {
  constexpr bool transposed_b = false;
  SAMITE_WGMMA_WIDTHS(SAMITE_WGMMA_REGISTERS_OF, SAMITE_WGMMA_TURNED_SUM, "k8.f32.tf32.tf32", SAMITE_WGMMA_NO_WAY)
}

}  // namespace samite
