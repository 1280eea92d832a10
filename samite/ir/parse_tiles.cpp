#include "samite/ir/parser.h"

#include <fmt/format.h>

#include <utility>

namespace samite::ir {

Stmt Parser::parse_allocate() {
  const MemorySpace space = accept("workspace")   ? MemorySpace::workspace
                            : accept("strip")     ? MemorySpace::strip
                            : accept("thread")    ? MemorySpace::thread
                            : accept("registers") ? MemorySpace::registers
                            : accept("shared")    ? MemorySpace::shared
                            : accept("device")    ? MemorySpace::device
                                                  : MemorySpace::instance;
  LocalArrayId array = parse_local_array();
  expect(":");
  Type type = parse_type();
  expect("[");
  Allocate allocate{array, type, parse_value(), space};
  expect("]");
  allocate.layout = parse_layout();
  if (accept("stages")) allocate.stages = number<int>("the number of stages");
  if (accept("units")) allocate.units = parse_value();
  if (accept("offset")) allocate.offset = number<std::int64_t>("the offset in bytes");
  if (accept("teams")) allocate.team_bytes = number<std::int64_t>("the bytes of a team");
  if (accept("buffer")) {
    const Value number = parse_value();
    expect_word("of");
    allocate.buffer = {parse_local_array(), number};
  }
  return located(allocate);
}

Layout Parser::parse_layout() {
  if (is("fragments")) return parse_fragments();
  if (accept("panels")) {
    expect("(");
    PanelLayout panels{number<std::int64_t>("the rows of panels"), 0};
    expect(",");
    panels.columns = number<std::int64_t>("the elements of a row");
    expect(")");
    return panels;
  }
  if (!accept("rows")) return LinearLayout{};
  expect("(");
  RowLayout rows{number<std::int64_t>("the elements of a row"), 0, false};
  expect(",");
  rows.units = number<std::int64_t>("the units of a row");
  if (accept(",")) {
    expect_word("swizzled");
    rows.swizzled = true;
  }
  expect(")");
  return rows;
}

FragmentLayout Parser::parse_fragments() {
  expect_word("fragments");
  expect("(");
  const Token &token = expect(TokenKind::Word, "a unit of fragments, as in 'matrices'");
  const auto unit = fragment_unit_from_name(token.text);
  if (!unit) fail_at(token, fmt::format("expected a unit of fragments, found {}", describe(token)));
  FragmentLayout fragments{*unit, 0, 0, 0, 0};
  for (std::int64_t FragmentLayout::*extent :
       {&FragmentLayout::rows, &FragmentLayout::columns, &FragmentLayout::down, &FragmentLayout::across}) {
    expect(",");
    fragments.*extent = number<std::int64_t>("rows, columns, and warps down and across");
  }
  expect(")");
  return fragments;
}

Stmt Parser::parse_local_store() {
  LocalArrayId array = parse_local_array();
  expect("[");
  Value index = parse_value();
  expect("]");
  expect("=");
  LocalStore store{array, index, parse_value()};
  return located(store);
}

Stmt Parser::parse_tile_call() {
  const Token &token = expect(TokenKind::Word, "an operation");
  auto op = op_from_name(token.text);
  if (!op) fail_at(token, fmt::format("expected an operation, found {}", describe(token)));
  const auto attribute = number<std::int32_t>("the operation's attribute");
  TileCall call{*op, attribute, parse_tile_memory(), {}};
  expect("=");
  do call.operands.push_back(parse_tile_memory());
  while (accept(","));
  if (accept("by")) call.sums = parse_fragments();
  call.why_no_loop = parse_reason("because");
  return located(std::move(call));
}

Stmt Parser::parse_tile_load() {
  TileLoad load{parse_tile_memory()};
  expect("=");
  if (accept("next")) {
    load.stream = parse_local_array();
  } else {
    load.array = parse_array();
    load.indices = parse_indices();
  }
  load.in_units = accept("in_units");
  return located(std::move(load));
}

ThreadRole Parser::parse_role() {
  return accept("producers") ? ThreadRole::producers : accept("consumers") ? ThreadRole::consumers : ThreadRole::all;
}

std::string Parser::parse_reason(std::string_view before) {
  return accept(before) ? expect(TokenKind::String, "a reason in quotes").text : std::string();
}

Transfer Parser::parse_transfer() {
  const TileMemory ring = parse_tile_memory();
  expect_word("of");
  Transfer factor{.ring = ring, .array = parse_array(), .indices = parse_indices()};
  factor.why_copy = parse_reason("copied");
  return factor;
}

Transfer Parser::parse_transfers() {
  Transfer factor = parse_transfer();
  expect_word("step");
  factor.rows = number<std::int64_t>("the rows of a step");
  expect(",");
  factor.columns = number<std::int64_t>("the columns of a step");
  if (accept("in")) factor.parts = number<int>("the parts of a window");
  factor.in_units = accept("in_units");
  return factor;
}

Stmt Parser::parse_main_loop() {
  const ThreadRole role = parse_role();
  const auto attribute = number<std::int32_t>("the product's attribute");
  const TileMemory result = parse_tile_memory();
  expect("+=");
  Transfer first = parse_transfers();
  expect(",");
  Transfer second = parse_transfers();
  MainLoop loop{attribute, result, {std::move(first), std::move(second)}, {}};
  loop.role = role;
  if (accept("for")) loop.count = parse_value();
  if (accept("barriers")) loop.barriers = parse_tile_memory();
  loop.sums = parse_sums();
  if (accept("terms")) loop.terms = parse_value();
  if (accept("sums_through")) loop.sums_through = parse_local_array();
  if (accept("hands_over_in")) parse_list([&] { loop.hands_over_in.push_back(parse_local()); });
  loop.why_by_threads = parse_reason("because");
  return located(std::move(loop));
}

Stmt Parser::parse_window_product() {
  const ThreadRole role = parse_role();
  const auto attribute = number<std::int32_t>("the product's attribute");
  const TileMemory result = parse_tile_memory();
  expect("+=");
  const TileMemory first = parse_tile_memory();
  expect(",");
  Transfer second = parse_transfer();
  const TileMemory barriers = parse_barriers();
  WindowProduct product{attribute, result, first, std::move(second), barriers, parse_sums(), role};
  product.has_window = accept("has_window");
  product.keeps_window = accept("keeps_window");
  if (accept("runs_into")) product.runs_into = parse_local_array();
  product.takes_turn = accept("takes_turn");
  product.gives_turn = accept("gives_turn");
  return located(std::move(product));
}

Stmt Parser::parse_stage_product() {
  const auto attribute = number<std::int32_t>("the product's attribute");
  const TileMemory result = parse_tile_memory();
  const bool sets = accept("=");
  if (!sets) expect("+=");
  const TileMemory first = parse_tile_memory();
  expect(",");
  const TileMemory second = parse_tile_memory();
  const TileMemory barriers = parse_barriers();
  const StageProduct product{attribute, result, {first, second}, barriers, parse_sums(), sets};
  return located(product);
}

TileMemory Parser::parse_barriers() {
  expect_word("barriers");
  return parse_tile_memory();
}

FragmentLayout Parser::parse_sums() {
  expect_word("by");
  return parse_fragments();
}

TileMemory Parser::parse_tile_memory() {
  const LocalArrayId array = parse_local_array();
  expect(":");
  return {array, parse_type()};
}

Stmt Parser::parse_load_stream() {
  const LocalArrayId name = parse_local_array();
  expect_word("inside");
  const LocalId inside = parse_local();
  expect(":");
  expect_word("i32");
  expect_word("to");
  LoadStream stream{name, inside, parse_tile_memory(), 0, {}, 0, 0};
  expect("=");
  stream.array = parse_array();
  stream.indices = parse_indices();
  expect_word("step");
  stream.rows = number<std::int64_t>("the rows of a step");
  expect(",");
  stream.columns = number<std::int64_t>("the columns of a step");
  stream.in_units = accept("in_units");
  return located(std::move(stream));
}

Stmt Parser::parse_bring_windows() {
  const ThreadRole role = parse_role();
  BringWindows bring{parse_tile_memory(), {}, role};
  expect_word("to");
  do {
    const TileMemory ring = parse_tile_memory();
    const bool values = accept("values");
    expect_word("of");
    const std::uint32_t array = parse_array();
    std::vector<Value> indices = parse_indices();
    bring.windows.push_back({ring, array, std::move(indices), values, parse_reason("copied")});
  } while (accept(","));
  return located(std::move(bring));
}

Stmt Parser::parse_prefetch() {
  Prefetch fetch{parse_array(), ScalarType::Bool, {}};
  fetch.indices = parse_indices();
  expect(":");
  fetch.type = parse_type();
  return located(std::move(fetch));
}

Stmt Parser::parse_load_pack() {
  LoadPack load{{}, ScalarType::Bool, 0, {}};
  load.how = accept("constant") ? LoadPack::How::constant
             : accept("row")    ? LoadPack::How::row
             : accept("take")   ? LoadPack::How::take
                                : LoadPack::How::plain;
  do {
    load.locals.push_back(parse_local());
    expect(":");
    const Token &token = peek();
    const Type type = parse_type();
    if (load.locals.size() > 1 && type != load.type)
      fail_at(token, fmt::format("expected neighbours of one type, found {}", describe(token)));
    load.type = type;
  } while (accept(","));
  expect("=");
  load.array = parse_array();
  load.indices = parse_indices();
  return located(std::move(load));
}

Stmt Parser::parse_store_pack(StorePack::How how) {
  StorePack store{parse_array(), parse_indices(), {}, how};
  expect(store.adds() ? "+=" : "=");
  do store.values.push_back(parse_value());
  while (accept(","));
  return located(std::move(store));
}

}  // namespace samite::ir
