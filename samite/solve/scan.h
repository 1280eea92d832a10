// Scans and reductions of whole vectors.
//
//   scan(x, y);                                         // x[0], x[0] + x[1], …
//   scan(x, y, {.exclusive = true});                    // 0, x[0], x[0] + x[1], …
//   scan(x, y, {.keys = rows});                         // restarts where the key changes
//   reduce(x, sum, Combine::max);
//
// Elements are combined in an order that depends on their number and the kind of device: the same bits on every run.
// Sums of f32 and f64 may differ in the last digits between the CPU and CUDA. An exclusive scan begins with 0, with 1,
// with the greatest number of the type or infinity (min), or with the least one (max). Between a number and a NaN, min
// and max take the number. Integers wrap around. More than 2147483647 elements are allowed.
//
// x and y are vectors of integers of 32 or 64 bits, of f32 or f64, of one type and on one device; y is overwritten and
// shares no elements with x. On a tape, sums have gradients: scans in the other direction. `backward` refuses those of
// other combinations. Errors are UserErrors.
#pragma once

#include "samite/lang/tile_scan.h"
#include "samite/runtime/buffer.h"

#include <cstdint>

namespace samite::solvers {

using tile::Combine;  // sum, product, min, max

struct ScanOptions {
  Combine combine = Combine::sum;
  bool exclusive = false;
  bool backwards = false;  // from the last element to the first
  // One for each element: the scan restarts wherever two neighbours differ. Empty: one segment.
  Buffer<std::int32_t> keys = {};
};

void scan(const AnyBuffer &x, const AnyBuffer &y, const ScanOptions &options = {},
          SourceLocation where = std::source_location::current());

// `result` has one element. f32 is added up and multiplied in f64.
void reduce(const AnyBuffer &x, const AnyBuffer &result, Combine combine = Combine::sum,
            SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
