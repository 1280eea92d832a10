// Tiles in messages of a kernel (lang/print.h).
//
//   print("block ", block_index(), ": x = ", x);   // a line for each row: "block 0: x = [2, 0..3] 1, 0.5, 0, 4"
//   check(x >= 0, "x is ", x);                      // every element; "x is" shows the first one that is negative
//
// A message has one tile. Each line has the message's other parts, then which elements it shows: at most 16 of a row.
#pragma once

#include "samite/lang/print.h"
#include "samite/lang/tile_functions.h"

#include <type_traits>
#include <vector>

namespace samite {
namespace lang {

// One part of a message: text and numbers, or a tile.
class TileMessagePart {
 public:
  template <class A>
  TileMessagePart(const A &part, SourceLocation where) {
    if constexpr (TileValue<A>)
      tile_.push_back(part.value(where));
    else if constexpr (std::same_as<A, MessagePart>)
      parts_.push_back(part);
    else
      parts_.push_back(MessagePart(part, where));
  }
  // Empty if the part is a tile.
  const std::vector<MessagePart> &parts() const { return parts_; }
  const ir::Value &tile() const { return tile_[0]; }

 private:
  std::vector<ir::Value> tile_;
  std::vector<MessagePart> parts_;
};
// UserError unless one of the parts is a tile.
void print_tile(const std::vector<TileMessagePart> &parts, SourceLocation where);
// A tile among the parts shows its element at the first false condition; UserError if its extents differ from the
// condition's.
void check_tile(const ir::Value &condition, const std::vector<TileMessagePart> &parts, SourceLocation where);

template <class... Parts>
inline constexpr bool has_a_tile = (TileValue<Parts> || ...);
struct print_texts_numbers_traced_values_or_tiles {};  // the remedy, which a compiler's message shows

}  // namespace lang

template <class... Parts>
  requires(lang::has_a_tile<Parts...>)
void print(const lang::MessagePart &first, const Parts &...rest) {
  lang::print_tile({lang::TileMessagePart(first, first.where()), lang::TileMessagePart(rest, first.where())...},
                   first.where());
}
template <Scalar T>
void print(const Tile<T> &tile, SourceLocation where = std::source_location::current()) {
  lang::print_tile({lang::TileMessagePart(tile, where)}, where);
}

template <class First, class... Rest>
  requires(!std::is_convertible_v<const First &, lang::MessagePart> && !lang::TileValue<First>)
lang::print_texts_numbers_traced_values_or_tiles print(const First &, const Rest &...) = delete;

namespace lang {
// The condition of a check of all elements, with its line.
class CheckedTile {
 public:
  CheckedTile(const Tile<bool> &value, SourceLocation where = std::source_location::current())
      : where_(where), value_(value.value(where)) {}
  SourceLocation where() const { return where_; }
  const ir::Value &value() const { return value_; }

 private:
  SourceLocation where_;
  ir::Value value_;
};
}  // namespace lang

template <class... Parts>
void check(const lang::CheckedTile &condition, const Parts &...parts) {
  lang::check_tile(condition.value(), {lang::TileMessagePart(parts, condition.where())...}, condition.where());
}

}  // namespace samite
