// A loop whose iterations multiply windows of both factors and do more with them: what an iteration reads of arrays,
// the windows and what its elements are computed with, comes by bulk copies to one stage for each iteration, which is
// waited for once and released once. For passes/product_loops.h, which finds such loops.
#pragma once

#include "samite/passes/builder.h"

#include <array>
#include <cstdint>
#include <vector>

namespace samite::passes {

// One of the products, and the loads of its factors, which are windows of these arrays from these elements on.
struct StepProduct {
  const ir::TileCall *product;
  ir::TileCall call;  // as it is written, but for its memory
  std::array<const ir::TileCall *, 2> loads;
  std::array<ir::LoopWindows, 2> windows;
};

// A tile that an iteration loads for nothing but loads of its elements, and the box of the array that brings it.
// `within`: the box begins at the multiple of 16 bytes before its one column.
struct StepValues {
  const ir::TileCall *load;
  std::int64_t rows, columns;
  bool within;
};

// Whether the places of all windows are known where an iteration begins.
bool known_at_begin(const ir::For &loop, const std::vector<ir::Value> &indices);

// `products` may be none: those of a loop whose other windows have rings of their own.
void write_stages(const std::vector<StepProduct> &products, const std::vector<StepValues> &values, const ir::For &loop,
                  int stages, Builder &build);

}  // namespace samite::passes
