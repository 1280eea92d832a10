#include "samite/lang/tile_random.h"

namespace samite::lang {

std::array<Tile<std::uint32_t>, 2> wide_product(const Tile<std::uint32_t> &a, std::uint32_t b) {
  const SourceLocation where = latest_location();
  const Tile<std::uint64_t> product = tile::cast<std::uint64_t>(a, where) * std::uint64_t{b};
  const Tile<std::uint64_t> high = product / (std::uint64_t{1} << 32);
  return {tile::cast<std::uint32_t>(high, where), tile::cast<std::uint32_t>(product, where)};
}

Tile<std::uint64_t> streams_of(const ir::Type &type, const LongOperand<UInt64> &first, SourceLocation where) {
  const ir::Type numbers = type.of(ScalarType::Int64);
  Tile<std::int64_t> number = Tile<std::int64_t>::copy(ir::Value::zero(numbers), where);
  std::int64_t stride = 1;
  for (int d = type.shape().rank() - 1; d >= 0; --d) {
    number += Tile<std::int64_t>::adopt(record_tile({ir::Op::Coordinate, numbers, {}, 0, d}, where)) * stride;
    stride *= type.shape()[d];
  }
  return tile::cast<std::uint64_t>(number, where) + first.value();
}

std::array<Tile<std::uint32_t>, 4> random_words(const Tile<std::uint64_t> &streams, const LongOperand<UInt64> &seed,
                                                const LongOperand<UInt64> &draw, SourceLocation where) {
  const auto all = [&](const UInt &word) {
    return Tile<std::uint32_t>::adopt(fill_tile(streams.type().of(ScalarType::UInt32), word.value(where), where));
  };
  const UInt64 &draws = draw.value(), &key = seed.value();
  using Words = std::array<Tile<std::uint32_t>, 4>;
  return philox<Tile<std::uint32_t>>(
      Words{all(UInt(draws)), all(UInt(draws >> 32)), tile::cast<std::uint32_t>(streams, where),
            tile::cast<std::uint32_t>(Tile<std::uint64_t>(streams / (std::uint64_t{1} << 32)), where)},
      std::array<UInt, 2>{UInt(key), UInt(key >> 32)});
}

Tile<std::uint32_t> shifted_right(const Tile<std::uint32_t> &x, int bits, SourceLocation where) {
  return Tile<std::uint32_t>::adopt(
      record_on_tiles(ir::Op::ShiftRight, ScalarType::UInt32,
                      {x.value(where), ir::Value::constant(ScalarType::UInt32, std::int64_t{bits})}, where));
}

}  // namespace samite::lang
