// Products of matrices in a block's shared memory by all of its threads, with the sums in their registers.
#pragma once

#include "samite/device/tile/cuda_multiply_ahead.h"
#include "samite/device/tile/cuda_multiply_matrices.h"
#include "samite/device/tile/cuda_multiply_threads.h"

namespace samite {

// sums += A B. `Product` says which sums each thread has, `RowsOfA` and `RowsOfB` the layout of the factors.
template <class Product, int K, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class C, class F,
          class G>
SAMITE_INLINE void tile_multiply_add(C (&sums)[Product::registers], const F *a, const G *b) {
  using Unit = typename Product::Unit;
  if constexpr (same_type<Unit, MatrixPieces> || same_type<Unit, TransposedMatrixPieces>)
    tile_multiply_by_matrices<Product, K, transposed_a, transposed_b, RowsOfA, RowsOfB>(sums, a, b);
  else
    tile_multiply_by_threads<Product, K, transposed_a, transposed_b, RowsOfA, RowsOfB>(sums, a, b);
}

// The same for sums in shared memory, row by row.
template <class Product, int K, bool transposed_a, bool transposed_b, class RowsOfA, class RowsOfB, class C, class F,
          class G>
SAMITE_INLINE void tile_multiply_add_in_memory(C *c, const F *a, const G *b) {
  Register<C> sums[Product::registers];
#pragma unroll
  for (int r = 0; r < Product::registers; ++r) sums[r] = Product::holds(r) ? Register<C>(c[Product::index(r)]) : 0;
  tile_multiply_add<Product, K, transposed_a, transposed_b, RowsOfA, RowsOfB>(sums, a, b);
#pragma unroll
  for (int r = 0; r < Product::registers; ++r)
    if (Product::holds(r)) c[Product::index(r)] = C(sums[r]);
}

}  // namespace samite
