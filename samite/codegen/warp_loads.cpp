// What the threads of a warp load together: see codegen/warp_loops.h.
#include "samite/codegen/warp_loops.h"
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

WarpLoops::Loads WarpLoops::loads_of(const For &loop) const {
  Loads found;
  if (emission_.options.debug || !loop.step.is_constant()) return found;
  bool nested = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    nested = nested || stmt.as<For>() || stmt.as<While>() || stmt.as<Print>() || stmt.as<Check>();
  });
  if (nested) return found;
  std::vector<bool> inside(emission_.kernel.local_count, false);
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType) { inside[local] = true; });
  });
  for (const Stmt &stmt : loop.body) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.op != Op::Load || !emission_.constant(let->value.array) || !emission_.used(let->local))
      continue;
    bool moves = false, same = true;
    for (const Value &index : let->value.operands) {
      if (!index.is_local()) continue;
      moves = moves || index.id() == loop.index;
      same = same && of_warp_.of(index) == passes::Shape::Uniform && !inside[index.id()];
    }
    if (!moves || !same) continue;
    found.loads.push_back(&let->value);
    const std::size_t bytes = row_bytes(found.loads);
    if (bytes > most_row_bytes || bytes_ + bytes > most_bytes) found.loads.pop_back();
  }
  return found;
}

void WarpLoops::declare(Loads &loads) {
  bytes_ += row_bytes(loads.loads);
  loads.row_type = emission_.fresh("Row"), loads.rows = emission_.fresh("tile"), loads.row = emission_.fresh("r");
  std::string members;
  for (std::size_t i = 0; i < loads.loads.size(); ++i)
    members += fmt::format(" {} at{};", scalar_name(loads.loads[i]->type), i);
  emission_.out.line("struct alignas({}) {} {{{} }};", std::min<std::size_t>(row_bytes(loads.loads), 16),
                     loads.row_type, members);
  const int warps = std::max(emission_.options.cuda.threads_per_block / 32, 1);
  emission_.out.line("__shared__ {} {}_of_block[{}][32];", loads.row_type, loads.rows, warps);
  emission_.out.line("{} *const {} = {}_of_block[thread_of_block() / 32];", loads.row_type, loads.rows, loads.rows);
}

// Each thread loads for one of the next 32 iterations: the one with the thread's number in the warp.
void WarpLoops::fill(const For &loop, const Loads &loads) {
  const std::string lane = emission_.fresh("lane"), first = emission_.fresh("first"), index = values_.name(loop.index);
  const auto type = scalar_name(loop.type);
  emission_.out.line("sync_warp();  // what was here has been read");
  emission_.out.open("{{");
  emission_.out.line("const u32 {} = thread_of_block() % 32;", lane);
  emission_.out.line("const {} {} = {} + {}({}) * {};", type, first, index, type, lane, values_.scalar(loop.step));
  emission_.out.open("{{");
  emission_.out.line("const {} {} = {};", type, index, first);
  std::string values;
  for (const Operation *operation : loads.loads)
    values += (values.empty() ? "" : ", ") +
              memory_.load(*operation, memory_.access(operation->array, operation->operands, {}));
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
