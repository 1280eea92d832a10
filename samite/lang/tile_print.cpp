#include "samite/lang/tile_print.h"

#include "samite/base/error.h"

#include <algorithm>

namespace samite::lang {
namespace {

constexpr std::int64_t most_in_a_line = 16;

// An index for each dimension of the element number `position`, in row-major order.
std::vector<Int> index_of_element(const Int &position, const ir::TileShape &shape) {
  std::vector<Int> index;
  std::int64_t within = shape.count();
  for (const std::int64_t extent : shape) {
    within /= extent;
    index.push_back(position / static_cast<std::int32_t>(within) % static_cast<std::int32_t>(extent));
  }
  return index;
}

ir::Value element_at(const ir::Value &tile, const std::vector<Int> &index, SourceLocation where) {
  const std::int64_t count[] = {tile.type().count()};
  std::int64_t within = count[0];
  Int position = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    within /= tile.type().shape()[static_cast<int>(d)];
    position += index[d] * static_cast<std::int32_t>(within);
  }
  // The 8-bit floating types are types of memory.
  const ScalarType element = tile.type().element(), shown = is_float8(element) ? ScalarType::Float32 : element;
  ir::Value flat = record_tile({ir::Op::Reshape, {element, ir::TileShape(count)}, {tile}}, where);
  if (shown != element) flat = record_tile({ir::Op::Cast, flat.type().of(shown), {flat}}, where);
  return element_of_tile(flat, {Index(position, where)}, where);
}

// The message for some elements of a row, which begins at these indices.
void print_elements(const std::vector<TileMessagePart> &parts, const ir::Value &tile, const std::vector<Int> &begin,
                    std::int64_t count, SourceLocation where) {
  std::vector<MessagePart> all;
  for (const TileMessagePart &part : parts) {
    if (!part.parts().empty()) {
      all.push_back(part.parts()[0]);
      continue;
    }
    all.emplace_back("[", where);
    for (std::size_t d = 0; d < begin.size(); ++d) {
      if (d > 0) all.emplace_back(", ", where);
      all.emplace_back(begin[d], where);
    }
    if (count > 1) {
      all.emplace_back("..", where);
      all.emplace_back(Int(begin.back() + static_cast<std::int32_t>(count - 1)), where);
    }
    all.emplace_back("] ", where);
    std::vector<Int> index = begin;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i > 0) all.emplace_back(", ", where);
      index.back() = begin.back() + static_cast<std::int32_t>(i);
      all.emplace_back(element_at(tile, index, where), where);
    }
  }
  record_print(all, where);
}

const ir::Value &only_tile(const std::vector<TileMessagePart> &parts, SourceLocation where) {
  const ir::Value *tile = nullptr;
  for (const TileMessagePart &part : parts) {
    if (!part.parts().empty()) continue;
    if (tile) throw UserError(where, "two tiles in one message; print one after another");
    tile = &part.tile();
  }
  return *tile;
}

}  // namespace

void print_tile(const std::vector<TileMessagePart> &parts, SourceLocation where) {
  const AttributedCapture at(where);
  const ir::Value &tile = only_tile(parts, where);
  const ir::TileShape shape = tile.type().shape();
  const std::int64_t columns = shape[shape.rank() - 1], rows = shape.count() / columns;
  const auto print_row = [&](const Int &row) {
    const auto print_part = [&](const Int &column, std::int64_t count) {
      std::vector<Int> begin = index_of_element(Int(row * static_cast<std::int32_t>(columns)), shape);
      begin.back() = column;
      print_elements(parts, tile, begin, count, where);
    };
    const std::int64_t whole = columns / most_in_a_line * most_in_a_line;
    if (whole == most_in_a_line) print_part(Int(0), most_in_a_line);
    if (whole > most_in_a_line)
      for (Int column : range(0, static_cast<int>(whole), static_cast<int>(most_in_a_line)))
        print_part(column, most_in_a_line);
    if (columns > whole) print_part(Int(static_cast<std::int32_t>(whole)), columns - whole);
  };
  if (rows == 1) return print_row(Int(0));
  for (Int row : range(static_cast<int>(rows))) print_row(row);
}

void check_tile(const ir::Value &condition, const std::vector<TileMessagePart> &parts, SourceLocation where) {
  const AttributedCapture at(where);
  const ir::Type type = condition.type();
  const ir::Value numbers = record_tile({ir::Op::Cast, type.of(ScalarType::Int32), {condition}}, where);
  const Int first = Int::adopt(record_tile({ir::Op::ReduceArgMin, ScalarType::Int32, {numbers}}, where));
  const ir::Value least = record_tile({ir::Op::ReduceMin, ScalarType::Int32, {numbers}}, where);
  const std::vector<Int> index = index_of_element(first, type.shape());
  std::vector<MessagePart> all;
  for (const TileMessagePart &part : parts) {
    if (!part.parts().empty()) {
      all.push_back(part.parts()[0]);
      continue;
    }
    if (part.tile().type().shape() != type.shape())
      throw UserError(where, "check of a tile of extents " + type.shape().to_string() + ", with one of extents " +
                                 part.tile().type().shape().to_string() + " in its message; they have equal extents");
    all.emplace_back(element_at(part.tile(), index, where), where);
  }
  all.emplace_back(all.empty() ? "false at [" : " at [", where);
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (d > 0) all.emplace_back(", ", where);
    all.emplace_back(index[d], where);
  }
  all.emplace_back("]", where);
  record_check(record(ir::Op::NotEqual, ScalarType::Bool, {least, ir::Value::zero(ScalarType::Int32)}, where), all,
               where);
}

}  // namespace samite::lang
