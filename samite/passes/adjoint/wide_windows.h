// Widens the windows of a gathered adjoint's products (passes/adjoint/gather_tiles.h) to the tiles of the forward
// product.
//
// Say the forward block (i, j) has sums of 128 x 256 and adds 64 terms in a step. Then a window (i, k) of A's gradient
// has 128 x 64 elements, each a sum over 256 terms of every block: as much arithmetic as the forward product, in
// smaller tiles that load more for it. But the four windows (i, k) to (i, k + 3) are neighbours, and 256 terms are four
// times 64. So a block can compute the four windows together, 64 terms a step, with the forward's tiles.
//
// `by` windows become one, and the terms of a block are divided into `pieces`. If the two numbers are equal, the
// product's tile has as many sums as the forward's. The pass changes the load of each factor and the operations that
// cast it. Nothing else may use a factor.
//
// The last wide window may reach beyond the last window. It must then be outside of the array there, which `iterations`
// checks at launch (passes/adjoint/gather_tiles.h).
#pragma once

#include "samite/passes/analysis/index_forms.h"

#include <array>
#include <map>
#include <span>

namespace samite::passes {

struct WideWindows {
  std::int64_t by;                        // windows of the loop, and divisions of a block's terms
  std::array<ir::LocalId, 2> loads;       // of the factors
  std::array<int, 2> along_terms;         // by factor, the dimension of its load along the terms
  std::map<ir::LocalId, ir::Type> types;  // changed types of tiles in the slice: loads, casts, the product
  int dimension;                          // the gradient's dimension that the loop selects
  std::int64_t extent, rest;              // window `k` of the loop begins there at k * extent + rest; each of the
                                          // block's divisions has as many terms
};

// `slice` computes the value and the indices of `added`, which `product` computes from zeros; blocks along dimension
// `freed` of the launch share a window. Empty if its windows cannot be wider or would have no more terms.
std::optional<WideWindows> wide_windows(const ir::Accumulate &added, const ir::Let &product,
                                        std::span<const ir::Stmt> slice, const ir::For &loop, int freed,
                                        const IndexForms &forms);

}  // namespace samite::passes
