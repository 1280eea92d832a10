#include "samite/lang/tile_random.h"

namespace samite::lang {

std::array<Tile<std::uint32_t>, 2> wide_product(const Tile<std::uint32_t> &a, std::uint32_t b) {
  const SourceLocation where = latest_location();
  const Tile<std::uint64_t> product = tile::cast<std::uint64_t>(a, where) * std::uint64_t{b};
  const Tile<std::uint64_t> high = product / (std::uint64_t{1} << 32);
  return {tile::cast<std::uint32_t>(high, where), tile::cast<std::uint32_t>(product, where)};
}

std::array<Tile<std::uint32_t>, 4> random_words(TileExtents extents, const LongOperand<UInt64> &seed,
                                                const LongOperand<UInt64> &stream, const LongOperand<UInt64> &draw,
                                                SourceLocation where) {
  Tile<std::int64_t> number = tile::zeros<std::int64_t>(extents, where);
  std::int64_t stride = 1;
  for (int d = static_cast<int>(extents.size()) - 1; d >= 0; --d) {
    number += tile::coordinate<std::int64_t>(extents, d, where) * stride;
    stride *= extents.begin()[d];
  }
  const Tile<std::uint64_t> from = tile::cast<std::uint64_t>(number, where) + stream.value();
  const auto all = [&](const UInt &word) { return tile::full<std::uint32_t>(extents, word, where); };
  const UInt64 &draws = draw.value(), &key = seed.value();
  using Words = std::array<Tile<std::uint32_t>, 4>;
  return philox<Tile<std::uint32_t>>(
      Words{all(UInt(draws)), all(UInt(draws >> 32)), tile::cast<std::uint32_t>(from, where),
            tile::cast<std::uint32_t>(Tile<std::uint64_t>(from / (std::uint64_t{1} << 32)), where)},
      std::array<UInt, 2>{UInt(key), UInt(key >> 32)});
}

Tile<std::uint32_t> shifted_right(const Tile<std::uint32_t> &x, int bits, SourceLocation where) {
  return Tile<std::uint32_t>::adopt(
      record_on_tiles(ir::Op::ShiftRight, ScalarType::UInt32,
                      {x.value(where), ir::Value::constant(ScalarType::UInt32, std::int64_t{bits})}, where));
}

}  // namespace samite::lang
