// Names that users of other languages look for: each one's message says how to write it here.
#pragma once

#include "samite/lang/tile_operations.h"

namespace samite {
namespace lang {
template <class... A>
inline constexpr bool never = false;
}  // namespace lang

namespace tile {

template <class... A>
void where(const A &...) {
  static_assert(lang::never<A...>, "tile::where: write select(mask, a, b)");
}
template <class... A>
void dot(const A &...) {
  static_assert(lang::never<A...>, "tile::dot: write tile::matmul(a, b), or tile::sum(a * b)");
}
template <class... A>
void cumsum(const A &...) {
  static_assert(lang::never<A...>, "tile::cumsum: write tile::inclusive_scan(x, dimension)");
}
template <class... A>
void cumprod(const A &...) {
  static_assert(lang::never<A...>,
                "tile::cumprod: write tile::inclusive_scan(x, dimension, {.combine = tile::Combine::product})");
}
template <class... A>
void barrier(const A &...) {
  static_assert(lang::never<A...>,
                "tile::barrier: leave it out. Operations on tiles are in the order of the program, and the compiler "
                "places the barriers that they need");
}
// A number has no extents.
template <class T, int Rank, class A>
  requires lang::Number<A>
void store(const Array<T, Rank> &, lang::Indices, const A &) {
  static_assert(!lang::Number<A>,
                "a number is stored as a tile, whose extents say how much: tile::full<float>({8, 16}, number), or "
                "array(i, j) = number for one element");
}

}  // namespace tile

// A kernel does not know the number of blocks, because launches may be divided.
template <class... A>
void block_count(const A &...) {
  static_assert(lang::never<A...>,
                "a kernel does not know how many blocks are launched: pass the number as an Int, or divide an extent "
                "of an array by the tile's (tile::ceil_div)");
}

}  // namespace samite
