// The order of two elements in a sorted tile, on every target: NaN last in either direction, and equal elements in
// their original order.
#pragma once

namespace samite {

template <bool descending, class V>
SAMITE_INLINE bool sorts_before(V a, i32 place_of_a, V b, i32 place_of_b) {
  const bool no_a = a != a, no_b = b != b;
  if (no_a || no_b) return no_a == no_b ? place_of_a < place_of_b : no_b;
  if (a == b) return place_of_a < place_of_b;
  return descending ? a > b : a < b;
}

}  // namespace samite
