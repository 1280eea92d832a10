// Loads of a scheduled kernel that are on their way while its threads go on: copies from an array to shared memory.
//
//   %5: f32 = load ahead 4 @x[%1, %2]
//   local_store $0[%3] = %5
//
// starts the copy of an element, or of so many neighbours in a row of the array, to the element of shared memory that
// is named and to those behind it. The copy is one of the group that the thread's next `commit_copies` ends; it has
// arrived when the thread has waited for that group, and other threads see it after a barrier. Until then nobody
// touches these elements of shared memory, and nobody stores to those of the array. What is loaded is stored to shared
// memory, once, in the same block, and is not used otherwise.
//
// It takes 4, 8 or 16 bytes, and both sides begin at a multiple of as many.
#pragma once

#include "samite/ir/stmt.h"

namespace samite::ir {

inline constexpr int load_ahead_shift = 2;  // in the attribute: the bits below are other words of a load

// The load, which starts a copy of so many elements.
inline Operation load_ahead(Operation load, int elements) {
  load.attribute = elements << load_ahead_shift;
  return load;
}

// How many elements the operation starts a copy of; 0 where it is another one.
inline int elements_ahead(const Operation &operation) {
  return operation.op == Op::Load ? operation.attribute >> load_ahead_shift : 0;
}

// Whether a copy may take so many elements of a type.
inline bool may_be_ahead(ScalarType type, int elements) {
  const std::int64_t bytes = static_cast<std::int64_t>(size_of(type)) * elements;
  return bytes == 4 || bytes == 8 || bytes == 16;
}

}  // namespace samite::ir
