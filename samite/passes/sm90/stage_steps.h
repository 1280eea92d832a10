// Loops whose iterations multiply windows of both factors and process the products: bulk copies load everything that an
// iteration reads from arrays (the windows, and the values used with its elements) into one stage, which is waited for
// once and released once. For passes/sm90/product_loops.h, which finds such loops.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <array>
#include <cstdint>
#include <vector>

namespace samite::passes {

// One of the products, its operation and sums as written, whether they begin with zeros, and the loads of its factors:
// windows of these arrays from these elements on, with the types of the rings.
struct StepProduct {
  const ir::TileCall *product;
  bool from_zero;
  std::int32_t attribute;
  ir::FragmentLayout sums;
  std::array<const ir::TileLoad *, 2> loads;
  std::array<ir::Transfer, 2> windows;
};

// A tile that an iteration only loads by element, and the box of the array that contains it. `within`: the box begins
// at the multiple of 16 bytes before its one column.
struct StepValues {
  const ir::TileLoad *load;
  std::int64_t rows, columns;
  bool within;
};

// Whether the places of all windows are known at the start of an iteration.
bool known_at_begin(const ir::For &loop, const std::vector<ir::Value> &indices);

// `products` may be empty: for a loop whose other windows have their own rings.
void write_stages(const std::vector<StepProduct> &products, const std::vector<StepValues> &values, const ir::For &loop,
                  int stages, Builder &build);

}  // namespace samite::passes
