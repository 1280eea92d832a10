#include "samite/ir/properties.h"

#include "samite/base/error.h"
#include "samite/ir/kernel.h"
#include "samite/ir/print.h"
#include "samite/ir/visit.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <variant>

namespace samite::ir {
namespace {

constexpr std::array<std::string_view, 10> names{
    "plain_thread_loops", "arrays_placed", "sums_marked",     "tiles_placed",   "loads_staged",
    "tiles_spread",       "synchronised",  "loops_pipelined", "roles_assigned", "memory_planned"};

// Finds the first violation.
class Search {
 public:
  explicit Search(Properties properties) : properties_(properties) {}

  const std::string &found() const { return found_; }

  void block(const Block &block, bool in_thread_loop) {
    for (const Stmt &stmt : block) {
      if (!found_.empty()) return;
      visit(
          stmt,
          [&](const For &loop) {
            this->loop(loop, in_thread_loop);
            this->block(loop.body, in_thread_loop || loop.kind == LoopKind::Thread);
          },
          [&](const While &loop) {
            this->block(loop.condition_block, in_thread_loop);
            this->block(loop.body, in_thread_loop);
          },
          [&](const If &branch) {
            this->block(branch.then_block, in_thread_loop);
            this->block(branch.else_block, in_thread_loop);
          },
          [&](const Allocate &memory) { this->memory(memory); }, [](const auto &) {});
    }
  }

 private:
  void loop(const For &loop, bool in_thread_loop) {
    if (properties_.has(Property::plain_thread_loops) && in_thread_loop && loop.kind == LoopKind::Thread)
      found_ = fmt::format("plain_thread_loops: the loop over %{} is a thread loop inside of another", loop.index);
    if (properties_.has(Property::loops_pipelined) && loop.ahead != 0)
      found_ = fmt::format("loops_pipelined: the loop over %{} still runs statements ahead", loop.index);
  }

  void memory(const Allocate &memory) {
    if (properties_.has(Property::tiles_placed) && memory.space == MemorySpace::registers &&
        !std::holds_alternative<FragmentLayout>(memory.layout))
      found_ = fmt::format("tiles_placed: ${} is in registers and has no layout of fragments", memory.array);
    if (properties_.has(Property::memory_planned) && memory.space == MemorySpace::shared && !memory.buffer &&
        !memory.offset)
      found_ = fmt::format("memory_planned: ${} is in shared memory and has no offset", memory.array);
  }

  Properties properties_;
  std::string found_;
};

}  // namespace

std::string_view name(Property property) { return names[static_cast<std::size_t>(property)]; }

void verify_properties(const Kernel &kernel, std::string_view after) {
  Search search(kernel.properties);
  search.block(kernel.body, false);
  search.block(kernel.roles.producing, false);
  if (!search.found().empty())
    throw InternalError(fmt::format("kernel '{}' after {} lacks what a step has established: {}\n{}", kernel.name,
                                    after, search.found(), to_string(kernel)));
}

}  // namespace samite::ir
