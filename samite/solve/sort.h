// Sorting whole vectors, and picking their elements.
//
//   sort(keys, sorted);                                     // ascending
//   sort(keys, values, sorted_keys, sorted_values, {.descending = true});
//   argsort(keys, order);                                   // where each element comes from
//   gather(values, order, sorted_values);                   // sorted_values[i] = values[order[i]]
//
// Sorting is stable, in either direction: equal keys stay in their order. -0 and 0 are equal. NaN comes last, in either
// direction. Keys and values are integers of 32 or 64 bits, f32 or f64; `order` is of i32, or of i64 for more than
// 2147483647 elements. It is a radix sort, 8 bits per pass: keys of few bits (SortOptions::bits) take less time.
//
// Results must not share memory with the keys and values. On a tape, gradients go back to the original positions; the
// order is a constant. Errors are UserErrors.
#pragma once

#include "samite/runtime/buffer.h"

namespace samite::solvers {

struct SortOptions {
  bool descending = false;
  // For integers of at least 0: only this many of their lowest bits may be set. 0: all.
  int bits = 0;
};

void sort(const AnyBuffer &keys, const AnyBuffer &sorted, const SortOptions &options = {},
          SourceLocation where = std::source_location::current());
void sort(const AnyBuffer &keys, const AnyBuffer &values, const AnyBuffer &sorted_keys, const AnyBuffer &sorted_values,
          const SortOptions &options = {}, SourceLocation where = std::source_location::current());
void argsort(const AnyBuffer &keys, const AnyBuffer &order, const SortOptions &options = {},
             SourceLocation where = std::source_location::current());

// y[i] = x[places[i]]; `places` is of i32 or i64. Places outside of x are a UserError in debug mode.
void gather(const AnyBuffer &x, const AnyBuffer &places, const AnyBuffer &y,
            SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
