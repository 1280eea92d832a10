#include "samite/schedule/thread_memory.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace samite::schedules {
namespace {

using namespace ir;

std::vector<const Block *> blocks_of(const Stmt &stmt) {
  if (const If *branch = stmt.as<If>()) return {&branch->then_block, &branch->else_block};
  if (const For *loop = stmt.as<For>()) return {&loop->body};
  return {};
}

bool touches(const Stmt &whole, LocalArrayId array) {
  bool found = false;
  for_each_statement(Block{whole}, [&](const Stmt &stmt) { found = found || local_array_touched(stmt) == array; });
  return found;
}

// The thread loops that access the memory. One inside a loop of the block counts once for each of its iterations.
struct Uses {
  std::vector<const For *> loops;
  bool again = false;
};

void find_uses(const Block &block, LocalArrayId array, bool repeated, Uses &uses) {
  for (const Stmt &stmt : block) {
    const For *loop = stmt.as<For>();
    if (loop && loop->kind == LoopKind::Thread) {
      if (!touches(stmt, array)) continue;
      uses.loops.push_back(loop);
      uses.again = uses.again || repeated;
    } else {
      for (const Block *inner : blocks_of(stmt)) find_uses(*inner, array, repeated || loop, uses);
    }
  }
}

// For the block in which it is allocated.
Uses uses_of(const Block &block, LocalArrayId array) {
  Uses uses;
  for (const Stmt &stmt : block) {
    const Allocate *allocate = stmt.as<Allocate>();
    if (allocate && allocate->array == array) {
      find_uses(block, array, false, uses);
      return uses;
    }
    for (const Block *inner : blocks_of(stmt))
      if (uses.loops.empty()) uses = uses_of(*inner, array);
  }
  return uses;
}

std::optional<std::int64_t> iterations_of(const For &loop) {
  if (!loop.begin.is_constant() || !loop.end.is_constant()) return std::nullopt;
  return loop.end.as_int() - loop.begin.as_int();
}

}  // namespace

void check_thread_memory(const Kernel &kernel, const std::vector<ThreadMemory> &all) {
  for (const ThreadMemory &memory : all) {
    const Uses uses = uses_of(kernel.body, memory.array);
    if (uses.loops.size() < 2 && !uses.again) continue;
    for (const For *loop : uses.loops) {
      const auto iterations = iterations_of(*loop);
      if (iterations && *iterations <= kernel.block_threads) continue;
      throw UserError(
          memory.where,
          fmt::format("'{0}' is kept by each thread while the block fills shared memory inside of the loops of '{1}' "
                      "({2}), which are {3} for {4} thread{5}: a thread goes through several, and keeps '{0}' "
                      "of one; give '{1}' loops of threads of its own, {1}.gpu_threads(…), of which there is one for "
                      "each, or compute what is in shared memory outside of the loops of '{1}'",
                      memory.function, memory.computed, fmt::join(memory.loops, ", "),
                      iterations ? fmt::format("{} iterations", *iterations) : "as many iterations as a launch says",
                      kernel.block_threads, kernel.block_threads == 1 ? "" : "s"));
    }
  }
}

}  // namespace samite::schedules
