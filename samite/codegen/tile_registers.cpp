// Tiles of a block of CUDA's threads as `passes/place_tiles.h` places them: in each thread's registers, in rows of
// whole units, or loaded ahead into several buffers.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

std::string rows_name(std::string_view element, const passes::FactorRows &rows) {
  return fmt::format("TileRows<{}, {}, {}, {}>", element, rows.columns, rows.units, rows.crossed);
}

}  // namespace

std::string KernelEmitter::fragments_type(const passes::Fragments &f) {
  using enum passes::Fragments::Unit;
  const std::string pieces = f.unit == Matrices ? "MatrixPieces"
                             : f.unit == Rows   ? "SpreadPieces"
                                                : fmt::format("ThreadPieces<{}>", f.together());
  return fmt::format("Fragments<{}, {}, {}, {}, {}>", pieces, f.rows, f.columns, f.down, f.across);
}

std::string KernelEmitter::rows_type(const TileMemory &memory) const {
  const TileShape shape = memory.type.shape();
  auto known = placement_.rows.find(memory.array);
  return rows_name(memory_name(memory.type), known == placement_.rows.end()
                                                 ? passes::FactorRows{shape[shape.rank() - 1], 0, false}
                                                 : known->second);
}

void KernelEmitter::allocate_tile(const Allocate &allocate) {
  const std::string name = array_name(allocate.array);
  const std::string_view element = memory_name(allocate.type);
  if (auto sums = placement_.registers.find(allocate.array); sums != placement_.registers.end()) {
    out_.line("using Sums{} = {};", allocate.array, fragments_type(sums->second));
    out_.line("Register<{}> {}[Sums{}::registers] = {{}};", element, name, allocate.array);
    return;
  }
  if (auto rows = placement_.rows.find(allocate.array); rows != placement_.rows.end())
    out_.line("using Rows{} = {};", allocate.array, rows_name(element, rows->second));
  const passes::PlacedTile *tile = tile_memory_.tile(allocate.array);
  internal_check(tile != nullptr, "a tile without a place");
  const std::string stage = tile->stages > 1 ? fmt::format(" + {} * ({})", tile->bytes / tile->stages, stage_) : "";
  out_.line("{0} *const {1} = reinterpret_cast<{0} *>(shared + {2}{3});", element, name, tile->offset, stage);
}

std::string KernelEmitter::tile_element(LocalArrayId array, const std::string &index) const {
  const std::string name = array_name(array);
  if (placement_.registers.contains(array))
    return fmt::format("{}[{}]", name, together_.rotates ? "everywhere ? r : r - first" : "r");
  if (placement_.rows.contains(array)) return fmt::format("{}[Rows{}::place({})]", name, array, index);
  return fmt::format("{}[{}]", name, index);
}

// Of a loop over elements: the tiles in registers that it touches. All of them have one layout.
std::set<LocalArrayId> KernelEmitter::tiles_in_registers(const For &loop) const {
  std::set<LocalArrayId> found;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    auto *store = stmt.as<LocalStore>();
    auto *let = stmt.as<Let>();
    if (store && placement_.registers.contains(store->array)) found.insert(store->array);
    if (let && let->value.op == Op::LocalLoad && placement_.registers.contains(let->value.array))
      found.insert(let->value.array);
  });
  return found;
}

void KernelEmitter::index_of_element(const For &loop, LocalArrayId tile) {
  out_.line("[[maybe_unused]] const {0} {1} = {0}(Sums{2}::row(r) * {3} + Sums{2}::column(r));", scalar_name(loop.type),
            name(loop.index), tile, placement_.registers.at(tile).columns);
}

// What one thread does with one of its elements.
void KernelEmitter::elements_of_thread(const For &loop, LocalArrayId tile) {
  const std::int64_t columns = placement_.registers.at(tile).columns;
  out_.line("if (!Sums{}::holds(r)) continue;", tile);
  index_of_element(loop, tile);
  in_thread_loop_ = true;
  fragment_loop_ = {loop.index, tile, columns};
  block(loop.body);
  fragment_loop_.reset();
  in_thread_loop_ = false;
}

void KernelEmitter::loop_of_fragments(const For &loop, const std::set<LocalArrayId> &tiles) {
  loop_of_pieces(loop, tiles);
  bool others_see = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    auto *store = stmt.as<LocalStore>();
    if (let && let->value.op == Op::LocalLoad) others_see |= !placement_.registers.contains(let->value.array);
    if (store) others_see |= !placement_.registers.contains(store->array);
    others_see |= array_written(stmt).has_value();
  });
  if (others_see) out_.line("__syncthreads();");
}

std::string KernelEmitter::fragment_coordinate(const Operation &operation) const {
  if (!fragment_loop_ || (operation.op != Op::Div && operation.op != Op::Rem)) return "";
  const Value &index = operation.operands[0], &columns = operation.operands[1];
  const bool of_index = index.is_local() && index.id() == fragment_loop_->index && columns.is_constant() &&
                        columns.as_int() == fragment_loop_->columns;
  if (!of_index) return "";
  return fmt::format("{}(Sums{}::{}(r))", scalar_name(operation.type), fragment_loop_->sums,
                     operation.op == Op::Div ? "row" : "column");
}

// The last two dimensions of the array are the window's, or the last one; of the others it has one element.
void KernelEmitter::tile_load(const TileCall &call, SourceLocation where) {
  const TileShape shape = call.result.type.shape();
  const std::size_t rank = call.indices.size(), last = rank - 1;
  const bool rows = shape.rank() == 2, spread = placement_.registers.contains(call.result.array);
  const std::string array = fmt::format("p{}", call.array);
  std::string data = array + ".data", inside;
  for (std::size_t d = 0; d < rank - static_cast<std::size_t>(shape.rank()); ++d) {
    const std::string index = scalar(call.indices[d]);
    data += fmt::format(" + i64({}) * {}.stride[{}]", index, array, d);
    inside +=
        fmt::format("{0}i64({1}) >= 0 && i64({1}) < {2}.extent[{3}]", inside.empty() ? "" : " && ", index, array, d);
  }
  const std::string extent = rows ? fmt::format("{}.extent[{}]", array, last - 1) : "1";
  const bool unit = facts(call.array).unit_stride;
  const std::string how = spread ? fmt::format("tile_load_spread<Sums{}, {}>", call.result.array, constant(call.array))
                                 : fmt::format("tile_load<{}, {}, {}, {}>", rows_type(call.result), rows ? shape[0] : 1,
                                               shape[shape.rank() - 1], kernel_.block_threads);
  out_.line("{}({}, tile_window({}, {}, {}, {}, {}.extent[{}], {}, {}));", how, array_name(call.result.array), data,
            rows ? scalar(call.indices[last - 1]) : "0", scalar(call.indices[last]),
            inside.empty() ? extent : fmt::format("{} ? {} : 0", inside, extent), array, last,
            rows ? fmt::format("{}.stride[{}]", array, last - 1) : "0",
            unit ? "1" : fmt::format("{}.stride[{}]", array, last));
  copies_pending_ = copies_pending_ || !spread;
  const auto row_bytes = shape[shape.rank() - 1] * static_cast<std::int64_t>(size_of(call.result.type));
  const ArrayFacts known = facts(call.array);
  const TileLoadSite site{call.array, known.unit_stride && known.aligned_rows && row_bytes % 16 == 0, where};
  // A loop that loads ahead has the load several times.
  const bool again = std::ranges::any_of(
      tile_loads_, [&](const TileLoadSite &other) { return other.array == site.array && other.where == site.where; });
  if (!again) tile_loads_.push_back(site);
}

// What needs nothing of a tile that is on its way, and takes no memory from another.
bool KernelEmitter::goes_beside_copies(const Stmt &stmt) const {
  if (auto *call = stmt.as<TileCall>()) return call->op == Op::Load;
  if (auto *let = stmt.as<Let>()) return info(let->value.op).pure && let->value.op != Op::LocalLoad;
  return stmt.as<Allocate>() != nullptr;
}

void KernelEmitter::wait_for_copies() {
  out_.line("end_group_of_copies();");
  out_.line("wait_for_copies<0>();");
  out_.line("__syncthreads();");
  copies_pending_ = false;
}

// An iteration waits for what it needs itself, which all threads have then brought and nobody reads any longer what
// was there before it. It also sends for what a later one needs: before it goes to work where that is the next one,
// else after, so that threads which have waited begin with their work.
void KernelEmitter::staged_loop(const For &loop, const passes::StagedLoop &staged) {
  const int stages = loop.stages;
  const std::string index = name(loop.index), stage = fresh("stage"), ahead = fresh("ahead");
  const std::string_view type = scalar_name(loop.type);
  auto load_ahead = [&](const std::string &from, int iterations, const std::string &buffer) {
    out_.open("if (const i64 {0} = i64({1}) + {2}; {0} {3} {4}) {{", ahead, from, iterations * loop.step.as_int(),
              loop.step.as_int() > 0 ? "<" : ">", scalar(loop.end));
    out_.line("[[maybe_unused]] const {0} {1} = {0}({2});", type, index, ahead);
    stage_ = buffer;
    for (std::size_t i = 0; i < staged.ahead; ++i) statement(loop.body[i]);
    copies_pending_ = false;
    out_.close();
    out_.line("end_group_of_copies();");
  };

  declare_carried(loop.carried, false);
  for (int s = 0; s + 1 < stages; ++s) load_ahead(scalar(loop.begin), s, std::to_string(s));
  out_.line("i32 {} = 0;", stage);
  out_.line("#pragma unroll 1");
  out_.open("for ({} {} = {}; {}; {} += {}) {{", type, index, scalar(loop.begin), continues(loop, Shape::Uniform),
            index, scalar(loop.step));
  out_.line("wait_for_copies<{}>();", stages - 2);
  out_.line("__syncthreads();");
  const bool next = stages == 2;
  const std::string last_buffer = fmt::format("{0} == 0 ? {1} : {0} - 1", stage, stages - 1);
  if (next) load_ahead(index, stages - 1, last_buffer);
  stage_ = stage;
  const auto *last = loop.body.back().as<TileCall>();
  const bool reads_buffers_alone = last && last->op == Op::MatMul &&
                                   placement_.registers.contains(last->result.array) &&
                                   std::ranges::all_of(last->operands, [&](const TileMemory &operand) {
                                     return std::ranges::find(staged.buffers, operand.array) != staged.buffers.end();
                                   });
  if (reads_buffers_alone) waited_for_ = last;
  Block rest;
  for (std::size_t i = 0; i < loop.body.size(); ++i)
    if (i >= staged.ahead || !loop.body[i].as<TileCall>()) rest.push_back(loop.body[i]);
  block(rest);
  if (!next) load_ahead(index, stages - 1, last_buffer);
  advance_carried(loop.carried, false);
  out_.line("{0} = {0} + 1 == {1} ? 0 : {0} + 1;", stage, stages);
  out_.close();
  stage_.clear();
  out_.line("wait_for_copies<0>();");
  out_.line("__syncthreads();");
  name_results(loop.carried, false);
}

}  // namespace samite::codegen
