#include "samite/passes/threads/distribute.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace samite::passes {
namespace {

using namespace ir;

// Finds the statements to open.
class Opening {
 public:
  Opening(const Uniformity &uniformity, const std::vector<bool> &only_added_to)
      : uniformity_(uniformity), only_added_to_(only_added_to) {}

  void look_into(const Block &block) {
    for (const Stmt &stmt : block) {
      define_in_innermost(stmt);
      if (const Accumulate *accumulate = stmt.as<Accumulate>()) consider(*accumulate);
      path_.push_back(&stmt);
      if (const If *branch = stmt.as<If>()) {
        look_into(branch->then_block);
        look_into(branch->else_block);
      } else if (const For *loop = stmt.as<For>()) {
        depth_[loop->index] = path_.size();
        for (const Carried &carried : loop->carried) depth_[carried.inner] = path_.size();
        look_into(loop->body);
      } else if (const While *loop = stmt.as<While>()) {
        for (const Carried &carried : loop->carried) depth_[carried.inner] = path_.size();
        look_into(loop->condition_block);
        look_into(loop->body);
      }
      path_.pop_back();
    }
  }

  const std::unordered_set<const Stmt *> &opened() const { return opened_; }

 private:
  void define_in_innermost(const Stmt &stmt) {
    std::size_t innermost = path_.size();
    while (innermost > 0 && path_[innermost - 1]->as<If>()) --innermost;
    for_each_definition(stmt, [&](LocalId local, Type) { depth_[local] = innermost; });
  }

  bool can_open(const Stmt &stmt) const {
    if (stmt.as<If>()) return true;
    const For *loop = stmt.as<For>();
    return loop && !uniformity_.divergent(*loop) && uniformity_.of(loop->index) == Shape::Uniform;
  }

  // The lanes are summed in the innermost loop whose iterations add to different elements.
  void consider(const Accumulate &accumulate) {
    if (!only_added_to_[accumulate.array] || uniformity_.of(accumulate.value) == Shape::Uniform) return;
    std::size_t depth = 0;
    for (const Value &index : accumulate.indices) {
      if (uniformity_.of(index) != Shape::Uniform) return;
      auto found = index.is_local() ? depth_.find(index.id()) : depth_.end();
      if (found != depth_.end()) depth = std::max(depth, found->second);
    }
    const auto end = path_.begin() + static_cast<std::ptrdiff_t>(depth);
    if (std::all_of(path_.begin(), end, [&](const Stmt *stmt) { return can_open(*stmt); }))
      opened_.insert(path_.begin(), end);
  }

  const Uniformity &uniformity_;
  const std::vector<bool> &only_added_to_;
  std::vector<const Stmt *> path_;
  std::unordered_map<LocalId, std::size_t> depth_;  // the length of the path of loops that a local is defined in
  std::unordered_set<const Stmt *> opened_;
};

class Planner {
 public:
  Planner(const Kernel &kernel, const Uniformity &uniformity, const std::unordered_set<const Stmt *> &opened)
      : uniformity_(uniformity),
        opened_(opened),
        run_of_(kernel.local_count),
        run_of_array_(kernel.local_array_count),
        let_of_(kernel.local_count) {
    plan_.slot.resize(kernel.local_count);
    plan_.shared.resize(kernel.local_count);
  }

  DistributedLoop plan(const Block &body) {
    plan_.steps = steps(body);
    define(plan_.steps);
    read(plan_.steps);
    return std::move(plan_);
  }

  // Whether a local array, or a value that cannot be recomputed, would live across runs.
  bool keeps_too_much() const { return keeps_too_much_; }

 private:
  static DistributedStep &last_run(std::vector<DistributedStep> &steps) {
    if (steps.empty() || steps.back().opened) steps.emplace_back();
    return steps.back();
  }

  bool uniform(LocalId local) const { return uniformity_.of(local) == Shape::Uniform; }

  void leave(std::vector<DistributedStep> &steps, RunAssignment assignment) {
    keeps_too_much_ = keeps_too_much_ || uniformity_.of(assignment.target) == Shape::Linear;
    plan_.slot[assignment.target] = assignment.target;
    last_run(steps).leaves.push_back(assignment);
  }

  std::vector<DistributedStep> steps(const Block &block) {
    std::vector<DistributedStep> all;
    for (const Stmt &stmt : block) {
      if (!opened_.contains(&stmt)) {
        last_run(all).statements.push_back(stmt);
      } else if (const For *loop = stmt.as<For>()) {
        open(*loop, stmt, all);
      } else {
        open(*stmt.as<If>(), stmt, all);
      }
    }
    return all;
  }

  void open(const For &loop, const Stmt &stmt, std::vector<DistributedStep> &all) {
    DistributedStep step{stmt, steps(loop.body), {}, {}, {}};
    for (const Carried &carried : loop.carried) {
      if (uniform(carried.inner)) continue;
      leave(all, {carried.inner, carried.initial});
      leave(step.body, {carried.inner, carried.next});
      plan_.slot[carried.result] = carried.inner;
    }
    all.push_back(std::move(step));
  }

  void open(const If &branch, const Stmt &stmt, std::vector<DistributedStep> &all) {
    DistributedStep step{stmt, steps(branch.then_block), steps(branch.else_block), {}, {}};
    for (const BranchResult &result : branch.results) {
      if (uniform(result.local)) continue;
      leave(step.body, {result.local, result.then_value});
      leave(step.otherwise, {result.local, result.else_value});
    }
    all.push_back(std::move(step));
  }

  void define(const std::vector<DistributedStep> &steps) {
    for (const DistributedStep &step : steps) {
      if (!step.opened)
        for_each_statement(step.statements, [&](const Stmt &stmt) {
          for_each_definition(stmt, [&](LocalId local, Type) { run_of_[local] = &step; });
          if (const Let *let = stmt.as<Let>()) let_of_[let->local] = let;
          if (const Allocate *allocate = stmt.as<Allocate>()) run_of_array_[allocate->array] = &step;
        });
      define(step.body);
      define(step.otherwise);
    }
  }

  // A value that is read outside of the run that defines it is kept.
  void read(const std::vector<DistributedStep> &steps) {
    for (const DistributedStep &step : steps) {
      const std::function<void(const Value &)> here = [&](const Value &value) {
        if (!value.is_local() || !run_of_[value.id()] || run_of_[value.id()] == &step) return;
        if (uniform(value.id())) {
          plan_.shared[value.id()] = true;
        } else if (uniformity_.of(value) == Shape::Varying) {
          plan_.slot[value.id()] = value.id();
        } else if (const Let *let = let_of_[value.id()]; let && info(let->value.op).pure) {
          std::ranges::for_each(let->value.operands, here);
        } else {
          keeps_too_much_ = true;
        }
      };
      if (step.opened) read_header(*step.opened, here);
      for_each_statement(step.statements, [&](const Stmt &stmt) {
        for_each_operand(stmt, here);
        if (auto array = local_array_touched(stmt)) keeps_too_much_ = keeps_too_much_ || run_of_array_[*array] != &step;
      });
      for (const RunAssignment &assignment : step.leaves) here(assignment.value);
      read(step.body);
      read(step.otherwise);
    }
  }

  // The operands of an opened statement itself. The runs before and inside assign all others.
  void read_header(const Stmt &stmt, const std::function<void(const Value &)> &read) const {
    if (const For *loop = stmt.as<For>()) {
      for (const Value &bound : {loop->begin, loop->end, loop->step}) read(bound);
      for (const Carried &carried : loop->carried)
        if (uniform(carried.inner)) read(carried.initial), read(carried.next);
    } else if (const If *branch = stmt.as<If>()) {
      read(branch->condition);
      for (const BranchResult &result : branch->results)
        if (uniform(result.local)) read(result.then_value), read(result.else_value);
    }
  }

  const Uniformity &uniformity_;
  const std::unordered_set<const Stmt *> &opened_;
  DistributedLoop plan_;
  std::vector<const DistributedStep *> run_of_, run_of_array_;  // by LocalId; by LocalArrayId
  std::vector<const Let *> let_of_;                             // by LocalId, of those in runs
  bool keeps_too_much_ = false;
};

}  // namespace

std::optional<DistributedLoop> distribute(const Kernel &kernel, const For &thread_loop, const Uniformity &uniformity,
                                          const std::vector<bool> &only_added_to) {
  Opening opening(uniformity, only_added_to);
  opening.look_into(thread_loop.body);
  if (opening.opened().empty()) return std::nullopt;
  Planner planner(kernel, uniformity, opening.opened());
  DistributedLoop plan = planner.plan(thread_loop.body);
  if (planner.keeps_too_much()) return std::nullopt;
  return plan;
}

}  // namespace samite::passes
