// Groups of elements: runs of equal keys, elements to keep, counts.
//
//   Runs runs = runs_of(keys);                            // keys that are equal to their neighbours
//   auto [of, sums] = sum_by_key(keys, values);           // one sum for each run
//   AnyBuffer kept = compact(x, keep);                    // x[i] where keep[i]
//   histogram(bins, counts);
//
// For groups that lie apart, sort by key first (sort.h). NaN is equal to nothing, so that each NaN is a run of its own.
// Functions that return arrays wait for the device, to learn the arrays' lengths. Sums have a fixed order, and have
// gradients on tapes. Keys and values are vectors of integers of 32 or 64 bits, f32 or f64. Errors are UserErrors.
#pragma once

#include "samite/runtime/buffer.h"

#include <cstdint>

namespace samite::solvers {

struct Runs {
  std::int64_t count = 0;
  // Run i is the elements starts[i] to starts[i + 1] - 1.
  Buffer<std::int64_t> starts;
};

Runs runs_of(const AnyBuffer &keys, SourceLocation where = std::source_location::current());
// The key of each run; if the keys are sorted, all distinct keys.
AnyBuffer unique(const AnyBuffer &keys, SourceLocation where = std::source_location::current());

struct SumsByKey {
  AnyBuffer keys, sums;
};
SumsByKey sum_by_key(const AnyBuffer &keys, const AnyBuffer &values,
                     SourceLocation where = std::source_location::current());

// The indices of the elements to keep, in order, and the elements.
Buffer<std::int64_t> places_of(const Buffer<bool> &keep, SourceLocation where = std::source_location::current());
AnyBuffer compact(const AnyBuffer &x, const Buffer<bool> &keep, SourceLocation where = std::source_location::current());

// counts[b] = how many of `bins` are b. UserError for a bin outside of `counts`.
void histogram(const Buffer<std::int32_t> &bins, const Buffer<std::int64_t> &counts,
               SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
