// Kernels for the gradients of collectives.
#pragma once

#include "samite/runtime/any_buffer.h"
#include "samite/runtime/stream.h"

namespace samite::distributed {

// sum += values; the same extents, a type that has gradients, any strides.
void add_to(const AnyBuffer &sum, const AnyBuffer &values, const Stream &stream);

// The following take contiguous arrays.

// values *= factor.
void scale(const AnyBuffer &values, double factor, const Stream &stream);

// owner[i] = rank where values[i] is result[i], else `none`.
void claim(const AnyBuffer &owner, const AnyBuffer &values, const AnyBuffer &result, int rank, int none,
           const Stream &stream);
// masked[i] = owner[i] == rank ? values[i] : 0.
void keep_owned(const AnyBuffer &masked, const AnyBuffer &values, const AnyBuffer &owner, int rank,
                const Stream &stream);
// values[i] *= the product of the other ranks' rows of all(size, n) at i.
void multiply_by_others(const AnyBuffer &values, const AnyBuffer &all, int rank, const Stream &stream);

}  // namespace samite::distributed
