#include "samite/passes/pipelines/loop_functions.h"

#include "samite/ir/visit.h"

#include <optional>

namespace samite::passes {

using namespace ir;

namespace {

bool uses_local_array(const Operation &operation) { return info(operation.op).typing == Typing::LocalLoad; }

// Collects facts about a nest. Arrays on the stack would be captured by value, and loops with results assign variables
// outside of themselves.
class Nest {
 public:
  explicit Nest(const std::set<LocalArrayId> &in_workspace) : in_workspace_(in_workspace) {}

  // Empty if the loop cannot be a function.
  std::optional<std::set<LocalArrayId>> written_by(const For &loop) {
    if (loop.kind != LoopKind::Serial || !loop.carried.empty()) return std::nullopt;
    for_each_statement(loop.body, [&](const Stmt &stmt) { add(stmt); });
    if (!qualifies_ || !nested_) return std::nullopt;
    return std::move(written_);
  }

 private:
  void use(LocalArrayId array) { qualifies_ = qualifies_ && in_workspace_.contains(array); }

  void add(const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) {
      if (uses_local_array(let->value)) use(let->value.array);
    } else if (const LocalStore *store = stmt.as<LocalStore>()) {
      use(store->array);
      written_.insert(store->array);
    } else if (const For *loop = stmt.as<For>()) {
      nested_ = true;
      qualifies_ = qualifies_ && loop->kind != LoopKind::Block;
    } else {
      qualifies_ = qualifies_ && (stmt.as<Store>() != nullptr || stmt.as<If>() != nullptr);
    }
  }

  const std::set<LocalArrayId> &in_workspace_;
  std::set<LocalArrayId> written_;
  bool qualifies_ = true, nested_ = false;
};

}  // namespace

bool has_many_loops(const Kernel &kernel) {
  constexpr int many = 64;
  int loops = 0;
  for_each_statement(kernel.body, [&](const Stmt &stmt) { loops += stmt.as<For>() != nullptr; });
  return loops >= many;
}

LoopFunctions::LoopFunctions(const Kernel &kernel) {
  if (!has_many_loops(kernel)) return;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    const Allocate *allocate = stmt.as<Allocate>();
    if (allocate && allocate->in_workspace() && !allocate->buffer) in_workspace_.insert(allocate->array);
  });
  find(kernel.body);
}

void LoopFunctions::find(const Block &block) {
  for (const Stmt &stmt : block) {
    if (const If *branch = stmt.as<If>()) {
      find(branch->then_block);
      find(branch->else_block);
    }
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind == LoopKind::Thread) continue;
    if (auto written = Nest(in_workspace_).written_by(*loop))
      found_.emplace(loop, std::move(*written));
    else
      find(loop->body);
  }
}

const std::set<LocalArrayId> *LoopFunctions::written_by(const For &loop) const {
  const auto found = found_.find(&loop);
  return found == found_.end() ? nullptr : &found->second;
}

}  // namespace samite::passes
