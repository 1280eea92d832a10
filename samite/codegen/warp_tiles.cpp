// Loops in which all threads of a warp load the same elements, other elements in each iteration: those of the other
// body in an all-pairs loop. A load of one element takes as long as a load of 32. So each thread of the warp loads what
// one iteration needs into shared memory, for 32 iterations together, and each iteration reads its elements from there.
//
// Warps do not wait for each other. All threads of a warp must be active and must run the same iterations, as in
// warp_rows.cpp.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <bit>

namespace samite::codegen {

using namespace ir;

namespace {

// Bytes for each thread: of a row, and of all rows of a kernel. With no more, shared memory does not limit how many
// threads a multiprocessor runs.
constexpr std::size_t most_row_bytes = 64, most_bytes = 64;

std::size_t row_bytes(const std::vector<const Operation *> &loads) {
  std::size_t bytes = 0;
  for (const Operation *load : loads) bytes += std::max<std::size_t>(size_of(load->type), 4);
  return std::max(std::bit_ceil(std::min<std::size_t>(bytes, 16)), (bytes + 15) / 16 * 16);
}

}  // namespace

KernelEmitter::WarpTile KernelEmitter::warp_tile_of(const For &loop) {
  WarpTile tile;
  if (!warps_may_work_together(loop) || options_.debug || !loop.step.is_constant() || of_warp_.divergent(loop))
    return tile;
  bool nested = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    nested = nested || stmt.as<For>() || stmt.as<While>() || stmt.as<Print>() || stmt.as<Check>();
  });
  if (nested) return tile;
  std::vector<bool> inside(kernel_.local_count, false);
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType) { inside[local] = true; });
  });
  for (const Stmt &stmt : loop.body) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load || !emission_.constant(let->value.array) || !used(let->local)) continue;
    bool moves = false, same = true;
    for (const Value &index : let->value.operands) {
      if (!index.is_local()) continue;
      moves = moves || index.id() == loop.index;
      same = same && of_warp_.of(index) == Shape::Uniform && !inside[index.id()];
    }
    if (!moves || !same) continue;
    tile.loads.push_back(&let->value);
    const std::size_t bytes = row_bytes(tile.loads);
    if (bytes > most_row_bytes || tile_bytes_ + bytes > most_bytes) tile.loads.pop_back();
  }
  return tile;
}

void KernelEmitter::declare_tile(WarpTile &tile) {
  tile_bytes_ += row_bytes(tile.loads);
  tile.row_type = fresh("Row"), tile.rows = fresh("tile"), tile.row = fresh("r");
  std::string members;
  for (std::size_t i = 0; i < tile.loads.size(); ++i)
    members += fmt::format(" {} at{};", scalar_name(tile.loads[i]->type), i);
  out_.line("struct alignas({}) {} {{{} }};", std::min<std::size_t>(row_bytes(tile.loads), 16), tile.row_type, members);
  const int warps = std::max(options_.cuda.threads_per_block / 32, 1);
  out_.line("__shared__ {} {}_of_block[{}][32];", tile.row_type, tile.rows, warps);
  out_.line("{} *const {} = {}_of_block[thread_of_block() / 32];", tile.row_type, tile.rows, tile.rows);
}

// Each thread loads for one of the next 32 iterations: the one with the thread's number in the warp.
void KernelEmitter::fill_tile(const For &loop, const WarpTile &tile) {
  const std::string lane = fresh("lane"), first = fresh("first"), index = name(loop.index);
  const auto type = scalar_name(loop.type);
  out_.line("sync_warp();  // what was here has been read");
  out_.open("{{");
  out_.line("const u32 {} = thread_of_block() % 32;", lane);
  out_.line("const {} {} = {} + {}({}) * {};", type, first, index, type, lane, scalar(loop.step));
  out_.open("{{");
  out_.line("const {} {} = {};", type, index, first);
  std::string values;
  for (const Operation *operation : tile.loads) values += (values.empty() ? "" : ", ") + load(*operation, {});
  out_.line("{}[{}] = {}{{{}}};", tile.rows, lane, tile.row_type, values);
  out_.close();
  out_.close();
  out_.line("sync_warp();");
}

std::string KernelEmitter::from_tile(const Operation &load) const {
  for (const WarpTile &tile : tiles_)
    for (std::size_t i = 0; i < tile.loads.size(); ++i)
      if (tile.loads[i] == &load) return fmt::format("{}.at{}", tile.row, i);
  return "";
}

}  // namespace samite::codegen
