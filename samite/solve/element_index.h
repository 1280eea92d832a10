// The index of an element, in kernels over more elements than an Int counts; they are launched over rows of a million
// elements.
//
//   kernel.launch(each_element(count), …, count);       // and in the kernel:
//   const Int64 i = element_index();
//   if_(i < count, [&] { … });                          // the last row may be longer than what is left
#pragma once

#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/lang/tile_operations.h"
#include "samite/runtime/extents.h"

#include <algorithm>

namespace samite::solvers::detail {

constexpr std::int64_t elements_of_a_row = std::int64_t{1} << 20;

inline Extents each_element(std::int64_t count) {
  return {(count + elements_of_a_row - 1) / elements_of_a_row, std::min(count, elements_of_a_row)};
}

inline Int64 element_index() {
  auto [row, column] = thread_index<2>();
  return Int64(row) * elements_of_a_row + column;
}

// The same for kernels that are made twice: `wide` ones as above, and others for as many elements as an Int counts.
// These need no mask, and stores with masks take a few times as long on processors with AVX2 alone.
//
//   kernel(is_wide(count)).launch(elements_to_launch(count), …, count);   // and in the kernel:
//   for_own_element(wide, count, [&](const auto &i) { … });
inline bool is_wide(std::int64_t count) { return count > 2147483647; }

inline Extents elements_to_launch(std::int64_t count) { return is_wide(count) ? each_element(count) : Extents{count}; }

template <class F>
void for_own_element(bool wide, const Int64 &count, const F &function) {
  if (!wide) return function(thread_index());
  const Int64 i = element_index();
  if_(i < count, [&] { function(i); });
}

// Blocks of a sum of a whole vector: as many as a large GPU runs concurrently, and a constant, so that the order is the
// same everywhere.
constexpr int blocks_of_a_sum = 1024;

// Which elements of a block's tile are before the end of a vector; the blocks take the vector's tiles in turn.
inline Tile<bool> inside_vector(const Int64 &tile, int extent, const Int64 &count) {
  const Int left = cast<Int>(min(count - tile * extent, Int64(extent)));
  return tile::coordinate({extent}, 0) < left;
}

}  // namespace samite::solvers::detail
