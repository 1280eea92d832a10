// A tile cast to another element type, or unchanged if it already has that type: for operations of any element type.
#pragma once

#include "samite/lang/tile_operations.h"

#include <concepts>

namespace samite::ops::detail {

template <Scalar To, Scalar From>
Tile<To> as_type(const Tile<From> &x) {
  if constexpr (std::same_as<To, From>)
    return x;
  else
    return tile::cast<To>(x);
}

}  // namespace samite::ops::detail
