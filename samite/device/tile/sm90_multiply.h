// Products of tiles in shared memory, with the sums in registers, by warp groups: `wgmma`, compute capability 9.0.
#pragma once

#include "samite/device/cuda/sm90_roles.h"
#include "samite/device/cuda/sm90_wgmma.h"
#include "samite/device/tile/fragments.h"
#include "samite/device/tile/sm90_panels.h"

namespace samite {

// `Product` says how warp groups share the sums: Fragments<GroupMatrixPieces, M, N, down, across>. K terms of each.
template <class Product, class Kind, int K, bool transposed_a, bool transposed_b>
struct GroupProduct {
  static constexpr int terms = 32 / Kind::bytes;              // of one product
  static constexpr int columns = Product::pieces_across * 8;  // of one product and of a warp group
  static constexpr int rows_of_group = Product::pieces_down * 64;
  using RowsOfA = Panels<Kind::bytes, transposed_a ? K : Product::rows, transposed_a ? Product::rows : K>;
  using RowsOfB = Panels<Kind::bytes, transposed_b ? Product::columns : K, transposed_b ? K : Product::columns>;
  static_assert(Product::whole_rows && Product::whole_columns, "all that is multiplied is in the tile");
  static_assert(Kind::bytes == 2 || (!transposed_a && transposed_b), "terms of 8 and 32 bits lie one after another");
  static_assert(transposed_b || Product::across_warps == 1 || columns % RowsOfB::of_panel == 0, "groups have panels");

  // Of the stage at `a` and `b`, for a warp group.
  static SAMITE_INLINE_MEMBER u64 left(u32 a, int warp_group) {
    const int row = warp_group / Product::across_warps * rows_of_group;
    return factor_at(factor_format<RowsOfA, !transposed_a>(), a + u32(factor_offset<RowsOfA, !transposed_a>(row, 0)));
  }
  static SAMITE_INLINE_MEMBER u64 right(u32 b, int warp_group) {
    const int column = warp_group % Product::across_warps * columns;
    return factor_at(factor_format<RowsOfB, transposed_b>(), b + u32(factor_offset<RowsOfB, transposed_b>(column, 0)));
  }

  // A factor in panels.
  template <class F>
  static SAMITE_INLINE_MEMBER u64 first_factor(const F *a, int warp_group) {
    return left(shared_address(a), warp_group);
  }
  // In the registers of the group's threads, as they would have sums of the same rows.
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

  // sums += A B, or sums = A B. Only begins: see sm90_wgmma.h. `left`: A in panels, or in registers.
  template <class C, class Left>
  static SAMITE_INLINE_MEMBER void begin(C (&sums)[Product::registers], const Left &left, u64 right,
                                         bool adding = true) {
#pragma unroll
    for (int k = 0; k < K; k += terms)
      products<0>(sums, left, k, right + u64(factor_offset<RowsOfB, transposed_b>(0, k) / 16), adding || k > 0);
  }

 private:
  // Of all 64 rows that the group has, from the `piece`-th on, with the terms from `k` on.
  template <int piece, class C, class Left>
  static SAMITE_INLINE_MEMBER void products(C (&sums)[Product::registers], const Left &left, int k, u64 right,
                                            bool adding) {
    multiply<piece>(sums, left, k, right, adding);
    if constexpr (piece + 1 < Product::pieces_down) products<piece + 1>(sums, left, k, right, adding);
  }
  template <int piece, class C>
  static SAMITE_INLINE_MEMBER void multiply(C (&sums)[Product::registers], u64 left, int k, u64 right, bool adding) {
    multiply_by_group<columns, transposed_a, !transposed_b, piece * (columns / 2)>(
        Kind(), sums, left + u64(factor_offset<RowsOfA, !transposed_a>(piece * 64, k) / 16), right, adding);
  }
  template <int piece, class C>
  static SAMITE_INLINE_MEMBER void multiply(C (&sums)[Product::registers], const InRegisters &left, int k, u64 right,
                                            bool adding) {
    multiply_registers_by_group<columns, !transposed_b, piece * (columns / 2)>(
        Kind(), sums, left.words[piece][k / terms], right, adding);
  }
};

}  // namespace samite
