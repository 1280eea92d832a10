// Asynchronous copies of a scheduled kernel, from an array to shared memory.
//
//   %5: f32 = load ahead 4 @x[%1, %2]
//   local_store $0[%3] = %5
//
// starts the copy of an element, or of several neighbours in a row of the array, to the named element of shared memory
// and those after it. The copy belongs to the group that the thread's next `commit_copies` ends. It has arrived when
// the thread has waited for that group; other threads see it after a barrier. Until then these elements of shared
// memory must not be accessed, and those of the array not be written. The loaded value is stored to shared memory,
// once, in the same block of statements, and has no other use.
//
// A copy takes 4, 8 or 16 bytes, and both sides are aligned to its size.
#pragma once

#include "samite/ir/stmt.h"

namespace samite::ir {

inline constexpr int load_ahead_shift = 2;  // in the attribute: the lower bits are other flags of a load

// The load that starts a copy of this many elements.
inline Operation load_ahead(Operation load, int elements) {
  load.attribute = elements << load_ahead_shift;
  return load;
}

// The number of elements whose copy the operation starts; 0 for other operations.
inline int elements_ahead(const Operation &operation) {
  return operation.op == Op::Load ? operation.attribute >> load_ahead_shift : 0;
}

// Whether a copy of this many elements of a type is possible.
inline bool may_be_ahead(ScalarType type, int elements) {
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(type)) * elements;
  return bytes == 4 || bytes == 8 || bytes == 16;
}

}  // namespace samite::ir
