// Tiles of random numbers from the generator of lang/random.h.
//
//   Tile<float> noise = tile::random_normal<float>({8, 64}, seed, {.stream = block_index() * 512});
//
// Element e, counted row by row, is draw number `draw` of Random{seed, stream + e}: the same number that a thread or
// the host draws from that stream, on every target and with any number of threads. Blocks, and draws in one block, are
// independent if their streams do not overlap or their draw numbers differ. Draws have no gradient.
#pragma once

#include "samite/lang/random.h"
#include "samite/lang/tile_operations.h"

namespace samite {
namespace lang {

std::array<Tile<std::uint32_t>, 2> wide_product(const Tile<std::uint32_t> &a, std::uint32_t b);

// The four words of each element's draw, from the stream with the element's number.
std::array<Tile<std::uint32_t>, 4> random_words(const Tile<std::uint64_t> &streams, const LongOperand<UInt64> &seed,
                                                const LongOperand<UInt64> &draw, SourceLocation where);
// Consecutive streams, row by row.
Tile<std::uint64_t> streams_of(const ir::Type &type, const LongOperand<UInt64> &first, SourceLocation where);
Tile<std::uint32_t> shifted_right(const Tile<std::uint32_t> &x, int bits, SourceLocation where);

}  // namespace lang

namespace tile {

struct RandomStream {
  lang::LongOperand<UInt64> stream = 0;  // of the first element
  lang::LongOperand<UInt64> draw = 0;
};

// Uniform in 0 ≤ x < 1, in steps of 2^-24 or 2^-53, from a stream for each element, such as the element's number in an
// array. A program then gets the same numbers however it cuts the array into tiles.
//
//   Tile<std::int64_t> number = tile::generate<std::int64_t>({8, 64}, [&](auto i, auto j) { … });
//   Tile<float> noise = tile::random_uniform<float>(number, seed);
template <FloatingScalar T, std::integral S>
Tile<T> random_uniform(const Tile<S> &streams, const lang::LongOperand<UInt64> &seed,
                       const lang::LongOperand<UInt64> &draw = 0,
                       SourceLocation where = std::source_location::current()) {
  static_assert(std::same_as<T, float> || std::same_as<T, double>,
                "random tiles are of float or double; cast one of float to other types (tile::cast)");
  const auto words = lang::random_words(cast<std::uint64_t>(streams, where), seed, draw, where);
  if constexpr (std::same_as<T, float>) {
    return cast<float>(lang::shifted_right(words[0], 8, where), where) * 0x1p-24f;
  } else {
    const Tile<double> high = cast<double>(lang::shifted_right(words[0], 5, where), where);
    return (high * 0x1p26 + cast<double>(lang::shifted_right(words[1], 6, where), where)) * 0x1p-53;
  }
}

template <FloatingScalar T>
Tile<T> random_uniform(TileExtents extents, const lang::LongOperand<UInt64> &seed, const RandomStream &from = {},
                       SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  return random_uniform<T>(lang::streams_of(type, from.stream, where), seed, from.draw, where);
}

// Normal numbers of mean 0 and variance 1, by Box & Muller (1958).
template <FloatingScalar T, std::integral S>
Tile<T> random_normal(const Tile<S> &streams, const lang::LongOperand<UInt64> &seed,
                      const lang::LongOperand<UInt64> &draw = 0,
                      SourceLocation where = std::source_location::current()) {
  static_assert(std::same_as<T, float> || std::same_as<T, double>,
                "random tiles are of float or double; cast one of float to other types (tile::cast)");
  const auto words = lang::random_words(cast<std::uint64_t>(streams, where), seed, draw, where);
  const auto in_unit = [&](std::size_t i) -> Tile<T> {
    if constexpr (std::same_as<T, float>) {
      return cast<float>(words[i], where) * 0x1p-32f + 0x1p-33f;
    } else {
      const Tile<double> high = cast<double>(lang::shifted_right(words[2 * i], 5, where), where);
      const Tile<double> low = cast<double>(lang::shifted_right(words[2 * i + 1], 6, where), where);
      return 1.0 - (high * 0x1p26 + low) * 0x1p-53;
    }
  };
  constexpr T two_pi = T(6.283185307179586);
  const Tile<T> radius = sqrt(T(-2) * log(in_unit(0), where), where);
  return radius * cos(in_unit(1) * two_pi, where);
}
template <FloatingScalar T>
Tile<T> random_normal(TileExtents extents, const lang::LongOperand<UInt64> &seed, const RandomStream &from = {},
                      SourceLocation where = std::source_location::current()) {
  const ir::Type type = lang::tile_type(scalar_type_of<T>, extents, where);
  return random_normal<T>(lang::streams_of(type, from.stream, where), seed, from.draw, where);
}

// Each element is zero with this probability, and is otherwise divided by 1 - probability. The adjoint draws the same
// numbers again. `stream` is that of the tile's first element, or one for each element.
template <FloatingScalar T, std::integral S>
  requires ArithmeticScalar<T>
Tile<T> dropout(const Tile<T> &x, const Operand<float> &probability, const lang::LongOperand<UInt64> &seed,
                const Tile<S> &streams, const lang::LongOperand<UInt64> &draw = 0,
                SourceLocation where = std::source_location::current()) {
  const lang::Attributed<Traced<T>> at(where);
  const Float dropped = Float::copy(probability.value(), where);
  const Tile<bool> kept = random_uniform<float>(streams, seed, draw, where) >= dropped;
  return select(kept, x * Traced<T>(1 / (1 - dropped)), 0);
}
template <FloatingScalar T>
  requires ArithmeticScalar<T>
Tile<T> dropout(const Tile<T> &x, const Operand<float> &probability, const lang::LongOperand<UInt64> &seed,
                const RandomStream &from = {}, SourceLocation where = std::source_location::current()) {
  return dropout(x, probability, seed, lang::streams_of(x.type(), from.stream, where), from.draw, where);
}

}  // namespace tile
}  // namespace samite
