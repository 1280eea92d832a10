// Reductions over the values of ranks, on the host.
#pragma once

#include "samite/base/scalar_type.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace samite {

enum class ReduceOp : std::uint8_t {
  sum,      // integers wrap around
  product,  // likewise
  min,      // if one operand is a NaN, the result is the other one
  max,      // likewise
  average   // the sum divided by the number of ranks; floating types only
};

std::string_view name(ReduceOp reduction);  // "sum"

namespace distributed {

// Whether a type has the reduction: only floating types have average; bool has only min (and) and max (or).
bool has_reduction(ScalarType type, ReduceOp reduction);

// to[i] = from[0][i] op from[1][i] op …, in this order. 16-bit and 8-bit floating types are reduced in 32 bits and
// rounded once. `to` may be one of `from`.
void reduce_values(ScalarType type, ReduceOp reduction, std::size_t count, std::span<const void *const> from, void *to);

}  // namespace distributed
}  // namespace samite
