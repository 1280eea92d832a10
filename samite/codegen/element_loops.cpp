#include "samite/codegen/element_loops.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/tiles/plan_element_loops.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

void ElementLoops::loop(const For &loop) {
  if (const auto tiles = passes::tiles_of_loop(loop, in_registers_of_block_); !tiles.empty())
    return loop_in_registers(loop, tiles);
  loop_in_memory(loop);
}

// The iteration count is a constant, so the loop is unrolled without a remainder. If NVVM unrolls a loop from thread to
// thread in steps of the block's threads with a remainder loop, it reads the wrong one of three tiles under a condition
// (CUDA 12.9 and 13.0, up to compute capability 9.0; tests/tiles/thread_loop_test.cpp).
void ElementLoops::loop_in_memory(const For &loop) {
  SourceWriter &out = emission_.out;
  const std::string index = local_name(loop.index), type(scalar_name(loop.type));
  internal_check(loop.begin.is_constant() && loop.begin.as_int() == 0, "a loop over a tile's elements begins late");
  if (!loop.end.is_constant()) return loop_of_launch(loop);
  const std::int64_t count = loop.end.as_int(), threads = emission_.kernel.block_threads;
  if (count <= 0) return;
  const std::string turn = emission_.fresh("turn");
  if (count == 1) {
    out.open("{}{{", makes_values_of_every_thread(loop) ? "" : "if (flat_thread() == 0) ");
    if (emission_.used(loop.index)) out.line("const {} {} = 0;", type, index);
  } else if (count <= threads) {
    out.open("{{");
    out.line("const {0} {1} = {0}(flat_thread());", type, index);
  } else {
    const std::int64_t turns = (count + threads - 1) / threads;
    if (loop.elements.interleaved != 0) out.line("#pragma unroll {}", loop.elements.interleaved);
    out.open("for (i32 {0} = 0; {0} < {1}; ++{0}) {{", turn, turns);
    out.line("const {0} {1} = {0}(flat_thread()) + {2} * {3};", type, index, turn, threads);
  }
  const bool rest = count % threads != 0 && count != 1;
  if (rest) out.open("if ({} < {}) {{", index, count);
  open_ = true;
  code_.block(loop.body);
  open_ = false;
  if (rest) out.close();
  out.close();
}

// A loop over a number of elements known at launch. For the reason above it is not unrolled at all.
void ElementLoops::loop_of_launch(const For &loop) {
  SourceWriter &out = emission_.out;
  const std::string index = local_name(loop.index), type(scalar_name(loop.type)), end = scalar_text(loop.end);
  const std::string turn = emission_.fresh("turn");
  const int threads = emission_.kernel.block_threads;
  out.line("#pragma unroll 1");
  out.open("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", type, turn, end, threads);
  out.line("const {0} {1} = {0}(flat_thread()) + {2};", type, index, turn);
  out.open("if ({} < {}) {{", index, end);
  open_ = true;
  code_.block(loop.body);
  open_ = false;
  out.close();
  out.close();
}

void ElementLoops::loop_in_registers(const For &loop, const std::set<LocalArrayId> &tiles) {
  if (!loop.elements.by_rows) return elements_in_registers(loop, tiles);
  const std::optional<passes::RowValues> rows = passes::row_values(loop, *places_.fragments_of(*tiles.begin()));
  internal_check(rows.has_value(), "values of rows in a loop that has none");
  row_values_ = &*rows;
  compute_rows(*tiles.begin());
  elements_in_registers(rows->loop, tiles);
  row_values_ = nullptr;
}

void ElementLoops::compute_rows(LocalArrayId tile) {
  SourceWriter &out = emission_.out;
  const passes::RowValues &rows = *row_values_;
  for (const auto &[local, type] : rows.results)
    out.line("{} {}_of_rows[{}];", scalar_name(type.element()), local_name(local), rows.rows);
  out.line("#pragma unroll");
  out.open("for (i32 row = 0; row < {}; ++row) {{", rows.rows);
  out.line("const i32 r = row / {0} * {1} + row % {0} * {2};", rows.of_piece, rows.elements, rows.in_row);
  index_of_element(rows.loop, tile);
  block_of_element(rows.loop, rows.of_rows, tile);
  for (const auto &[local, type] : rows.results) out.line("{0}_of_rows[row] = {0};", local_name(local));
  out.close();
}

// Whether the loop computes a value that every thread holds; each thread then computes it on its own.
bool ElementLoops::makes_values_of_every_thread(const For &loop) const {
  return std::ranges::any_of(loop.body, [&](const Stmt &stmt) {
    const auto *store = stmt.as<LocalStore>();
    const FragmentLayout *layout = store ? places_.fragments_of(store->array) : nullptr;
    return layout && layout->in_every_thread();
  });
}

// Declares the objects that store and add all of a thread's elements.
void ElementLoops::declare_for_thread(LocalArrayId tile, std::int64_t count) {
  SourceWriter &out = emission_.out;
  for (const auto &own : stores_)
    if (own.grouped.in_quads)
      out.line("StoreQuads<{}, everywhere> {};", memory_name(own.grouped.access->value.type()), own.name);
  for (const auto &own : additions_) {
    const std::string_view type = memory_name(own.grouped.access->value.type());
    if (own.grouped.access->atomic) {
      out.line("AddAtomically<{}, {}, {}> {};", type, count, grouped_.in_packs ? "true" : "everywhere", own.name);
      continue;
    }
    const std::string kind =
        own.grouped.in_quads ? fmt::format("AddQuads<{}", type) : fmt::format("AddTogether<{}, {}", type, count);
    out.line("{}, Sums{}::registers, everywhere> {};", kind, tile, own.name);
  }
}

// Declares the objects that load and store the group of elements from `first` on.
void ElementLoops::declare_for_group(const For &loop, LocalArrayId tile, std::int64_t count) {
  SourceWriter &out = emission_.out;
  const std::string_view together = grouped_.in_packs ? "true" : "everywhere";
  for (const auto &own : loads_)
    out.line("LoadTogether<{}, {}, {}, {}> {};", memory_name(own.grouped.access->type), count,
             emission_.constant(own.grouped.access->array), together, own.name);
  for (const auto &own : stores_)
    if (!own.grouped.in_quads)
      out.line("StoreTogether<{}, {}, {}> {};", memory_name(own.grouped.access->value.type()), count, together,
               own.name);
  if (grouped_.in_packs) ask_of_pack(loop, tile);
  for (const InBlock &own : loads_in_block_)
    out.line("LoadInBlock<{}, {}> {};", memory_name(*places_.type_in_memory(own.array)), count, own.name);
  for (const InBlock &own : stores_in_block_)
    out.line("StoreInBlock<{}, {}> {};", memory_name(*places_.type_in_memory(own.array)), count, own.name);
}

// A thread's elements, group by group.
void ElementLoops::groups_in_registers(const For &loop, const std::set<LocalArrayId> &tiles, bool twice) {
  SourceWriter &out = emission_.out;
  const LocalArrayId tile = *tiles.begin();
  const FragmentLayout &layout = *places_.fragments_of(tile);
  const std::int64_t count = layout.together(), front = loop.elements.rotates;
  const bool rotates = grouped_.rotates;
  if (rotates) {
    out.line("#pragma unroll (everywhere ? Sums{}::registers : 1)", tile);
    out.open("for (i32 front = 0; front < Sums{}::registers; front += {}) {{", tile, front);
    out.line("#pragma unroll");
    out.open("for (i32 first = front; first < front + {}; first += {}) {{", front, count);
  } else {
    out.line("#pragma unroll");
    out.open("for (i32 first = 0; first < Sums{}::registers; first += {}) {{", tile, count);
  }
  // Otherwise the compiler keeps the addresses of many elements in registers.
  if (twice && !rotates && !grouped_.in_packs) out.line("if constexpr (!everywhere) sync_warp();");
  declare_for_group(loop, tile, count);
  out.line("#pragma unroll");
  out.open("for (i32 r = first; r < first + {}; ++r) {{", count);
  elements_of_thread(loop, tile);
  out.close();
  if (rotates) {
    out.close();
    for (const LocalArrayId own : tiles) out.line("if constexpr (!everywhere) rotate<{}>({});", front, array_name(own));
  }
  out.close();
}

void ElementLoops::elements_in_registers(const For &loop, const std::set<LocalArrayId> &tiles) {
  SourceWriter &out = emission_.out;
  const LocalArrayId tile = *tiles.begin();
  const FragmentLayout &layout = *places_.fragments_of(tile);
  if (!emission_.options.debug) {
    group(loop);
    group_in_block(loop, layout);
  }
  const bool twice = !grouped_.empty() && !grouped_.once;
  const std::string whole = emission_.fresh("whole"), run = emission_.fresh("run");
  if (twice) {
    ask_corners(loop, layout, whole);
    out.open("const auto {} = [&](auto all) {{", run);
    out.line("constexpr bool everywhere = decltype(all)::value;");
  } else if (grouped_.once) {
    out.open("{{");
  }
  if (!grouped_.empty()) find_first_of_thread(loop, tile);
  declare_for_thread(tile, layout.together());
  groups_in_registers(loop, tiles, twice);
  if (twice) {
    out.close("};");
    out.line("if ({0}) {1}(Whether<true>{{}}); else {1}(Whether<false>{{}});", whole, run);
  } else if (grouped_.once) {
    out.close();
  }
  grouped_ = {};
  loads_.clear();
  stores_.clear();
  additions_.clear();
  loads_in_block_.clear();
  stores_in_block_.clear();
}

void ElementLoops::group(const For &loop) {
  grouped_ = passes::planned_groups(loop);
  const auto name = [&](const auto &all, std::string_view prefix, auto &own) {
    for (const auto &grouped : all) {
      std::string stride;
      if (grouped.rows)
        for (const std::size_t d : *grouped.rows)
          stride += fmt::format("{}p{}.stride[{}]", stride.empty() ? "" : " + ", grouped.access->array, d);
      own.push_back({grouped, emission_.fresh(prefix), std::move(stride)});
    }
  };
  name(grouped_.loads, "loaded", loads_);
  name(grouped_.stores, "stored", stores_);
  name(grouped_.additions, "added", additions_);
}

// Loads and stores together a thread's elements of a row that are also contiguous in a tile of the block's memory. A
// store waits for the last of them, so no later statement, and no access at another place, may read the tile.
void ElementLoops::group_in_block(const For &loop, const FragmentLayout &layout) {
  struct Accesses {
    std::vector<const Operation *> loads;
    const LocalStore *store = nullptr;
    std::size_t others = 0;  // after the store, under a condition, or at another place
  };
  std::map<LocalArrayId, Accesses> found;
  const auto own = [&](const Value &index) { return index.is_local() && index.id() == loop.index; };
  for (const Stmt &stmt : loop.body) {
    const auto array = local_array_touched(stmt);
    if (!array || !lies_together(*array, layout)) continue;
    Accesses &accesses = found[*array];
    const auto *let = stmt.as<Let>();
    const auto *store = stmt.as<LocalStore>();
    if (accesses.store || !own(let ? let->value.operands[0] : store->index))
      ++accesses.others;
    else if (let)
      accesses.loads.push_back(&let->value);
    else
      accesses.store = store;
  }
  std::map<LocalArrayId, std::size_t> all;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    if (const auto array = local_array_touched(stmt)) ++all[*array];
  });
  for (const auto &[array, accesses] : found) {
    if (accesses.others > 0 || all[array] != accesses.loads.size() + (accesses.store ? 1 : 0)) continue;
    for (const Operation *load : accesses.loads) loads_in_block_.push_back({load, array, emission_.fresh("read")});
    if (accesses.store) stores_in_block_.push_back({accesses.store, array, emission_.fresh("written")});
  }
}

// Whether a tile in the block's memory has its elements in the order of the loop's tile, with a thread's grouped
// elements aligned to their size.
bool ElementLoops::lies_together(LocalArrayId array, const FragmentLayout &layout) const {
  constexpr std::int64_t unit_bytes = 16;
  const std::int64_t count = layout.together(), columns = layout.columns;
  const auto type = places_.type_in_memory(array);
  if (!type || count == 1 || columns % count != 0) return false;
  if (count * static_cast<std::int64_t>(size_of(*type)) > unit_bytes) return false;
  return places_.columns_of(array).value_or(columns) == columns;
}

// Tests at the tile's first and last element, or at its corners, whether the loop needs no bounds checks and its arrays
// have whole units.
void ElementLoops::ask_corners(const For &loop, const FragmentLayout &layout, const std::string &whole) {
  SourceWriter &out = emission_.out;
  out.line("bool {} = true;", whole);
  out.line("#pragma unroll");
  out.open("for (i32 corner = 0; corner < {}; ++corner) {{", grouped_.all_corners ? 4 : 2);
  const std::string_view type = scalar_name(loop.type);
  const std::int64_t last = layout.rows * layout.columns - 1;
  if (grouped_.all_corners)
    out.line("[[maybe_unused]] const {0} {1} = {0}(corner / 2 * {2} + corner % 2 * {3});", type, local_name(loop.index),
             last + 1 - layout.columns, layout.columns - 1);
  else
    out.line("[[maybe_unused]] const {} {} = corner == 0 ? 0 : {};", type, local_name(loop.index), last);
  for (const Stmt *stmt : grouped_.places) code_.let(*stmt->as<Let>(), stmt->where());
  for (LocalId bound : grouped_.bounds) out.line("{0} = {0} && {1};", whole, local_name(bound));
  const auto aligned = [&](std::uint32_t array, const std::vector<Value> &indices, std::int64_t count, bool known) {
    if (known) return;
    out.line("{0} = {0} && (corner != 0 || whole_units<{2}>(&{1}));", whole, code_.element(array, indices), count);
    for (std::size_t d = 0; layout.rows > 1 && d + 1 < indices.size(); ++d)
      out.line("{0} = {0} && p{1}.stride[{2}] % {3} == 0;", whole, array, d, count);
  };
  const auto written = [&](const auto &all) {
    for (const auto &own : all)
      aligned(own.grouped.access->array, own.grouped.access->indices, own.grouped.in_quads ? 8 : layout.together(),
              own.grouped.in_units);
  };
  for (const auto &own : loads_)
    aligned(own.grouped.access->array, own.grouped.access->operands, layout.together(), own.grouped.in_units);
  written(stores_), written(additions_);
  out.close();
}

void ElementLoops::find_first_of_thread(const For &loop, LocalArrayId tile) {
  SourceWriter &out = emission_.out;
  const auto declare = [&](const auto &own, ScalarType type) {
    if (own.grouped.rows)
      out.line("[[maybe_unused]] {}{} *{}_at = nullptr;", emission_.writes(own.grouped.access->array) ? "" : "const ",
               memory_name(type), own.name);
  };
  for (const auto &own : loads_) declare(own, own.grouped.access->type.element());
  for (const auto &own : stores_) declare(own, own.grouped.access->value.type().element());
  for (const auto &own : additions_) declare(own, own.grouped.access->value.type().element());
  out.open("{}{{", grouped_.in_packs ? "" : "if constexpr (everywhere) ");
  out.line("constexpr i32 r = 0;");
  index_of_element(loop, tile);
  in_registers_ = {loop.index, tile, places_.fragments_of(tile)->columns};
  for (const Stmt *stmt : grouped_.places) code_.let(*stmt->as<Let>(), stmt->where());
  in_registers_.reset();
  const auto find = [&](const auto &own, const std::vector<Value> &indices) {
    if (own.grouped.rows) out.line("{}_at = &{};", own.name, code_.element(own.grouped.access->array, indices));
  };
  for (const auto &own : loads_) find(own, own.grouped.access->operands);
  for (const auto &own : stores_) find(own, own.grouped.access->indices);
  for (const auto &own : additions_) find(own, own.grouped.access->indices);
  out.close();
}

// The bounds of the group of elements from `first` on, and its loads.
void ElementLoops::ask_of_pack(const For &loop, LocalArrayId tile) {
  SourceWriter &out = emission_.out;
  for (const LocalId bound : grouped_.bounds) out.line("[[maybe_unused]] bool {}_of_pack;", local_name(bound));
  out.open("{{");
  out.line("const i32 r = first;");
  index_of_element(loop, tile);
  in_registers_ = {loop.index, tile, places_.fragments_of(tile)->columns};
  for (const Stmt *stmt : grouped_.places) code_.let(*stmt->as<Let>(), stmt->where());
  for (const LocalId bound : grouped_.bounds) out.line("{0}_of_pack = {0};", local_name(bound));
  for (const auto &own : loads_) {
    const Operation &load = *own.grouped.access;
    const auto bound = own.grouped.bound;
    out.line("{}.load_if({}, {});", own.name,
             bound ? condition(Value::local(ScalarType::Bool, *bound)).value_or(local_name(*bound)) : "true",
             place(own, own.grouped.rows ? "" : code_.element(load.array, load.operands)));
  }
  in_registers_.reset();
  out.close();
}

void ElementLoops::index_of_element(const For &loop, LocalArrayId tile) {
  emission_.out.line("[[maybe_unused]] const {0} {1} = {0}(Sums{2}::index(r));", scalar_name(loop.type),
                     local_name(loop.index), tile);
}

// A thread's code for one of its elements.
void ElementLoops::elements_of_thread(const For &loop, LocalArrayId tile) {
  emission_.out.line("if (!Sums{}::holds(r)) continue;", tile);
  index_of_element(loop, tile);
  if (const passes::RowValues *rows = row_values_)
    for (const auto &[local, type] : rows->results)
      emission_.out.line("const {0} {1} = {1}_of_rows[r / {2} * {3} + r % {4} / {5}];", scalar_name(type.element()),
                         local_name(local), rows->elements, rows->of_piece, rows->registers, rows->in_row);
  block_of_element(loop, loop.body, tile);
}

void ElementLoops::block_of_element(const For &loop, const Block &block, LocalArrayId tile) {
  open_ = true;
  in_registers_ = {loop.index, tile, places_.fragments_of(tile)->columns};
  code_.block(block);
  in_registers_.reset();
  open_ = false;
}

std::optional<std::string> ElementLoops::coordinate(const Operation &operation) const {
  if (!in_registers_ || (operation.op != Op::Div && operation.op != Op::Rem)) return std::nullopt;
  const Value &index = operation.operands[0], &columns = operation.operands[1];
  const bool of_index = index.is_local() && index.id() == in_registers_->index && columns.is_constant() &&
                        columns.as_int() == in_registers_->columns;
  if (!of_index) return std::nullopt;
  return fmt::format("{}(Sums{}::{}(r))", scalar_name(operation.type), in_registers_->tile,
                     operation.op == Op::Div ? "row" : "column");
}

std::optional<std::string> ElementLoops::condition(const Value &condition) const {
  if (!condition.is_local() || !grouped_.bounds.contains(condition.id())) return std::nullopt;
  const std::string text = scalar_text(condition);
  if (!grouped_.in_packs) return "everywhere || " + text;
  return fmt::format("{}{}_of_pack", grouped_.once ? "" : "everywhere || ", text);
}

std::optional<std::string> ElementLoops::grouped_load(const Operation &load, const std::string &element) const {
  const auto own = std::ranges::find_if(loads_, [&](const auto &own) { return own.grouped.access == &load; });
  if (own == loads_.end()) return std::nullopt;
  if (grouped_.in_packs) return own->name + ".at(r - first)";
  return fmt::format("{}.get(r - first, {})", own->name, place(*own, element));
}

bool ElementLoops::grouped_store(const Store &store, const std::string &element) {
  const auto own = std::ranges::find_if(stores_, [&](const auto &own) { return own.grouped.access == &store; });
  if (own == stores_.end()) return false;
  const std::string value = scalar_text(own->grouped.unrounded.value_or(store.value));
  if (own->grouped.in_quads)
    emission_.out.line("{}.put(r, {}, {});", own->name, place(*own, element), value);
  else
    emission_.out.line("{}.put(r - first, {}, {}({}));", own->name, place(*own, element),
                       memory_name(store.value.type()), value);
  return true;
}

bool ElementLoops::grouped_addition(const Accumulate &addition, const std::string &element) {
  const auto own = std::ranges::find_if(additions_, [&](const auto &own) { return own.grouped.access == &addition; });
  if (own == additions_.end()) return false;
  emission_.out.line("{}.put(r, {}, {});", own->name, place(*own, element), scalar_text(addition.value));
  return true;
}

std::optional<std::string> ElementLoops::grouped_load_in_block(const Operation &load,
                                                               const std::string &element) const {
  const auto own = std::ranges::find(loads_in_block_, static_cast<const void *>(&load), &InBlock::access);
  if (own == loads_in_block_.end()) return std::nullopt;
  return fmt::format("{}.get(r - first, &{})", own->name, element);
}

bool ElementLoops::grouped_store_in_block(const LocalStore &store, const std::string &element,
                                          const std::string &value) const {
  const auto own = std::ranges::find(stores_in_block_, static_cast<const void *>(&store), &InBlock::access);
  if (own == stores_in_block_.end()) return false;
  emission_.out.line("{}.put(r - first, &{}, {});", own->name, element, value);
  return true;
}

std::string ElementLoops::element(LocalArrayId array, const Value &index) const {
  const FragmentLayout *layout = places_.fragments_of(array);
  if (layout && layout->repeats() && !layout->in_every_thread() && in_registers_ &&
      !places_.fragments_of(in_registers_->tile)->repeats())
    return fmt::format("of_row<Sums{}>({}, r)", in_registers_->tile, array_name(array));
  if (in_registers_ && index.is_local() && index.id() == in_registers_->index)
    if (const auto place = places_.place_of_register(array, in_registers_->tile)) return *place;
  return places_.element(array, scalar_text(index), grouped_.rotates ? "everywhere ? r : r - front" : "r");
}

template <class Access>
std::string ElementLoops::place(const Own<Access> &own, const std::string &element) const {
  if (!own.grouped.rows) return "&" + element;
  const std::string sums = fmt::format("Sums{}", in_registers_->tile);
  const std::string rows =
      own.row_stride.empty() ? "" : fmt::format("i64({0}::rows_on(r)) * ({1}) + ", sums, own.row_stride);
  const std::string further = fmt::format("{}_at + ({}{}::columns_on(r))", own.name, rows, sums);
  return grouped_.in_packs ? further : fmt::format("everywhere ? {} : &{}", further, element);
}

}  // namespace samite::codegen
