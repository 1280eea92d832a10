// Products of tiles in shared memory, with the sums in registers, by warp groups: `wgmma`, compute capability 9.0.
#pragma once

#include "samite/device/cuda/memory.h"
#include "samite/device/cuda/sm90_roles.h"
#include "samite/device/cuda/sm90_wgmma.h"
#include "samite/device/tile/fragments.h"
#include "samite/device/tile/sm90_panels.h"

namespace samite {

// `Product` says how warp groups share the sums: Fragments<GroupMatrixPieces, M, N, down, across>. With K terms each.
template <class Product, class Kind, int K, bool transposed_a, bool transposed_b>
struct GroupProduct {
  static constexpr bool turned = false;                       // see below
  static constexpr int terms = 32 / Kind::bytes;              // of one product
  static constexpr int columns = Product::pieces_across * 8;  // of one product and of a warp group
  static constexpr int rows_of_group = Product::pieces_down * 64;
  using RowsOfA = Panels<Kind::bytes, transposed_a ? K : Product::rows, transposed_a ? Product::rows : K>;
  using RowsOfB = Panels<Kind::bytes, transposed_b ? Product::columns : K, transposed_b ? K : Product::columns>;
  // Fewer rows than the 64 of one product: the others are read from the memory after the tile.
  static constexpr bool few_rows = Product::rows < 64;
  static_assert(Product::whole_columns &&
                    (Product::whole_rows || (few_rows && Product::warps == Product::across_warps && !transposed_a)),
                "all that is multiplied is in the tile");
  static_assert(Kind::bytes == 2 || (!transposed_a && transposed_b), "terms of 8 and 32 bits lie one after another");
  static_assert(transposed_b || Product::across_warps == 1 || columns % RowsOfB::of_panel == 0, "groups have panels");

  // For a warp group. A in panels, and B.
  static SAMITE_INLINE_MEMBER u64 left(u32 a, int warp_group) {
    const int row = warp_group / Product::across_warps * rows_of_group;
    return factor_at(factor_format<RowsOfA, !transposed_a>(), a + u32(factor_offset<RowsOfA, !transposed_a>(row, 0)));
  }
  static SAMITE_INLINE_MEMBER u64 right(u32 b, int warp_group) {
    const int column = warp_group % Product::across_warps * columns;
    return factor_at(factor_format<RowsOfB, transposed_b>(), b + u32(factor_offset<RowsOfB, transposed_b>(column, 0)));
  }

  // Both factors of a stage of their rings.
  struct OfRings {
    u64 first_left, first_right;
    SAMITE_INLINE_MEMBER u64 left(u32 stage) const { return first_left + stage * u64(RowsOfA::size / 16); }
    SAMITE_INLINE_MEMBER u64 right(u32 stage) const { return first_right + stage * u64(RowsOfB::size / 16); }
  };
  template <class F, class G>
  static SAMITE_INLINE_MEMBER OfRings of_rings(const F *a, const G *b, int warp_group) {
    return {left(shared_address(a), warp_group), right(shared_address(b), warp_group)};
  }

  // A factor in panels.
  template <class F>
  static SAMITE_INLINE_MEMBER u64 first_factor(const F *a, int warp_group) {
    return left(shared_address(a), warp_group);
  }
  // In the registers of the group's threads, in the layout of sums of the same rows.
  struct InRegisters {
    u32 words[Product::pieces_down][K / 16][4];
  };
  template <class V, int count>
  static SAMITE_INLINE_MEMBER InRegisters first_factor(const V (&a)[count], int) {
    static_assert(count == Product::pieces_down * (K / 8) * 4 && Product::across_warps == 1 && !transposed_a);
    InRegisters factor;
#pragma unroll
    for (int piece = 0; piece < Product::pieces_down; ++piece)
#pragma unroll
      for (int k = 0; k < K / 16; ++k)
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const V *const pair = &a[(piece * (K / 8) + k * 2) * 4 + w * 2];
          factor.words[piece][k][w] = Kind::pair(pair[0], pair[1]);
        }
    return factor;
  }

  // sums += A B, or sums = A B; A is in panels or in registers. Only starts the products: see sm90_wgmma.h.
  template <class C, class Left>
  static SAMITE_INLINE_MEMBER void begin(C (&sums)[Product::registers], const Left &left, u64 right,
                                         bool adding = true) {
#pragma unroll
    for (int k = 0; k < K; k += terms)
      products<0>(sums, left, k, right + u64(factor_offset<RowsOfB, transposed_b>(0, k) / 16), adding || k > 0);
  }

 private:
  // Multiplies all 64-row pieces of the group from the `piece`-th on, with the terms from `k` on.
  template <int piece, class C, class Left>
  static SAMITE_INLINE_MEMBER void products(C (&sums)[Product::registers], const Left &left, int k, u64 right,
                                            bool adding) {
    multiply<piece>(sums, left, k, right, adding);
    if constexpr (piece + 1 < Product::pieces_down) products<piece + 1>(sums, left, k, right, adding);
  }
  template <int piece, class C>
  static SAMITE_INLINE_MEMBER void multiply(C (&sums)[Product::registers], u64 left, int k, u64 right, bool adding) {
    multiply_by_group<columns, transposed_a, !transposed_b, piece * (columns / 2), few_rows ? Product::rows : 64>(
        Kind(), sums, left + u64(factor_offset<RowsOfA, !transposed_a>(piece * 64, k) / 16), right, adding);
  }
  template <int piece, class C>
  static SAMITE_INLINE_MEMBER void multiply(C (&sums)[Product::registers], const InRegisters &left, int k, u64 right,
                                            bool adding) {
    multiply_registers_by_group<columns, !transposed_b, piece * (columns / 2)>(
        Kind(), sums, left.words[piece][k / terms], right, adding);
  }
};

// B of a stage of its ring, of 32 bits, in the registers of a warp's threads: `pieces` times 64 columns, 16 of which
// are the warp's. Lines n and n + 8 of the tensor cores' operand are columns 2 n and 2 n + 1.
template <int pieces, int K>
struct LinesInRegisters {
  static constexpr int terms = 8;  // of one product
  u32 words[pieces][K / terms][4];

  // `load(piece, k, words)` loads those of a piece, of the terms from `k` on.
  template <class Load>
  static SAMITE_INLINE_MEMBER LinesInRegisters loaded(const Load &load) {
    LinesInRegisters lines;
#pragma unroll
    for (int piece = 0; piece < pieces; ++piece)
#pragma unroll
      for (int k = 0; k < K; k += terms) load(piece, k, lines.words[piece][k / terms]);
    return lines;
  }
};

// A row of B has the same term of all columns: a thread loads pairs.
template <class Rows, int pieces, int K, bool along_terms>
struct LinesOfRing {
  using Lines = LinesInRegisters<pieces, K>;
  const u32 *first, *second;
  bool later;

  static SAMITE_INLINE_MEMBER LinesOfRing of(const u32 *ring, int lane, int column) {
    return {ring + pair_place<Rows>(lane, column, false), ring + pair_place<Rows>(lane, column, true),
            loads_later_first(lane)};
  }
  SAMITE_INLINE_MEMBER Lines load(u32 stage) const {
    return Lines::loaded([&](int piece, int k, u32(&words)[4]) {
      // 8 rows, or two panels, further on, the swizzle is the same.
      const u32 on = stage * u32(Rows::size / 4) + u32(Rows::place(k, piece * 64));
      const auto one = load_pack<2>(first + on), other = load_pack<2>(second + on);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        words[i] = later ? other.at[i] : one.at[i];
        words[2 + i] = later ? one.at[i] : other.at[i];
      }
    });
  }
};

// A row of B has all terms of one column.
template <class Rows, int pieces, int K>
struct LinesOfRing<Rows, pieces, K, true> {
  using Lines = LinesInRegisters<pieces, K>;
  const u32 *ring;
  u32 first;
  bool odd_first;

  static SAMITE_INLINE_MEMBER LinesOfRing of(const u32 *ring, int lane, int column) {
    return {ring, u32(matrix_place<Rows>(lane, column)), loads_odd_first(lane / 4)};
  }
  SAMITE_INLINE_MEMBER Lines load(u32 stage) const {
    return Lines::loaded([&](int piece, int k, u32(&words)[4]) {
      // A row's units are exclusive-ored with its number, and so are their distances.
      const u32 on = u32(k / Rows::of_panel * (Rows::panel_bytes / 4) + piece * 64 * Rows::of_panel);
      u32 own[4];
      load_matrices<false>(own, ring + (stage * u32(Rows::size / 4) + on + (first ^ u32(k % Rows::of_panel))));
#pragma unroll
      for (int w = 0; w < 4; ++w) words[w] = odd_first ? own[w ^ 1] : own[w];
    });
  }
};

// Warp groups multiply the transposes of the factors, with B in the registers of their threads: if B's terms have 32
// bits and are not contiguous, which the hardware cannot read from shared memory, or if a group then loads less.
template <int M, int N, int down, int across, class Kind, int K, bool transposed_b>
struct GroupProduct<Fragments<TransposedGroupMatrixPieces, M, N, down, across>, Kind, K, false, transposed_b> {
  using Product = Fragments<TransposedGroupMatrixPieces, M, N, down, across>;
  static constexpr bool turned = true;
  static constexpr int rows = Product::pieces_down * 8;  // of one product and of a warp group
  static constexpr int pieces = Product::pieces_across;  // of 64 columns each
  using RowsOfA = Panels<4, M, K>;
  using RowsOfB = Panels<4, transposed_b ? N : K, transposed_b ? K : N>;
  using InRegisters = LinesInRegisters<pieces, K>;
  static_assert(Product::whole_rows && Product::whole_columns, "all that is multiplied is in the tile");
  static_assert(Kind::bytes == 4, "terms of 16 bits are taken from shared memory, whichever way they lie");

  // Both factors of a stage of their rings, for a warp group.
  struct OfRings {
    LinesOfRing<RowsOfB, pieces, K, transposed_b> lines;
    u64 first_right;
    SAMITE_INLINE_MEMBER InRegisters left(u32 stage) const { return lines.load(stage); }
    SAMITE_INLINE_MEMBER u64 right(u32 stage) const { return first_right + stage * u64(RowsOfA::size / 16); }
  };
  template <class F, class G>
  static SAMITE_INLINE_MEMBER OfRings of_rings(const F *a, const G *b, int warp_group) {
    const int lane = lane_of_warp(), warp = int(flat_thread()) / 32 % 4;
    const int column = warp_group % across * (pieces * 64) + warp * 16;
    return {LinesOfRing<RowsOfB, pieces, K, transposed_b>::of(reinterpret_cast<const u32 *>(b), lane, column),
            factor_at(factor_format<RowsOfA, true>(),
                      shared_address(a) + u32(factor_offset<RowsOfA, true>(warp_group / across * rows, 0)))};
  }

  template <class C>
  static SAMITE_INLINE_MEMBER void begin(C (&sums)[Product::registers], const InRegisters &left, u64 right,
                                         bool adding = true) {
#pragma unroll
    for (int k = 0; k < K; k += InRegisters::terms)
      products<0>(sums, left, k, right + u64(factor_offset<RowsOfA, true>(0, k) / 16), adding || k > 0);
  }

 private:
  template <int piece, class C>
  static SAMITE_INLINE_MEMBER void products(C (&sums)[Product::registers], const InRegisters &left, int k, u64 right,
                                            bool adding) {
    multiply_registers_turned<rows, piece * 4, pieces * 4>(Kind(), sums, left.words[piece][k / InRegisters::terms],
                                                           right, adding);
    if constexpr (piece + 1 < pieces) products<piece + 1>(sums, left, k, right, adding);
  }
};

}  // namespace samite
