// Loads that the threads of a warp share: see codegen/warp_loops.h.
#include "samite/codegen/warp_loops.h"
#include "samite/passes/threads/warp_loops.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

WarpLoops::Loads WarpLoops::loads_of(const For &loop) {
  Loads found;
  for (const Stmt &stmt : loop.body)
    if (const Let *let = stmt.as<Let>(); let && is_load_by_warp(let->value)) found.loads.push_back(&let->value);
  return found;
}

void WarpLoops::declare(Loads &loads) {
  loads.row_type = emission_.fresh("Row"), loads.rows = emission_.fresh("tile"), loads.row = emission_.fresh("r");
  std::string members;
  for (std::size_t i = 0; i < loads.loads.size(); ++i)
    members += fmt::format(" {} at{};", scalar_name(loads.loads[i]->type), i);
  emission_.out.line("struct alignas({}) {} {{{} }};", std::min<std::size_t>(passes::bytes_of_row(loads.loads), 16),
                     loads.row_type, members);
  const int warps = std::max(emission_.options.cuda.threads_per_block / 32, 1);
  emission_.out.line("__shared__ {} {}_of_block[{}][32];", loads.row_type, loads.rows, warps);
  emission_.out.line("{} *const {} = {}_of_block[thread_of_block() / 32];", loads.row_type, loads.rows, loads.rows);
}

// Each thread loads for one of the next 32 iterations: the one with the thread's number in the warp.
void WarpLoops::fill(const For &loop, const Loads &loads) {
  const std::string lane = emission_.fresh("lane"), first = emission_.fresh("first"), index = local_name(loop.index);
  const auto type = scalar_name(loop.type);
  emission_.out.line("sync_warp();  // what was here has been read");
  emission_.out.open("{{");
  emission_.out.line("const u32 {} = thread_of_block() % 32;", lane);
  emission_.out.line("const {} {} = {} + {}({}) * {};", type, first, index, type, lane, scalar_text(loop.step));
  emission_.out.open("{{");
  emission_.out.line("const {} {} = {};", type, index, first);
  std::string values;
  for (const Operation *operation : loads.loads)
    values += (values.empty() ? "" : ", ") +
              access_.load(*operation, access_.element(operation->array, operation->operands, {}));
  emission_.out.line("{}[{}] = {}{{{}}};", loads.rows, lane, loads.row_type, values);
  emission_.out.close();
  emission_.out.close();
  emission_.out.line("sync_warp();");
}

std::optional<std::string> WarpLoops::load(const Operation &load) const {
  for (const Loads &loads : loads_)
    for (std::size_t i = 0; i < loads.loads.size(); ++i)
      if (loads.loads[i] == &load) return fmt::format("{}.at{}", loads.row, i);
  return std::nullopt;
}

}  // namespace samite::codegen
