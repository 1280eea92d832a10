#include "samite/passes/threads/scalar_instances.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/op_cost.h"
#include "samite/passes/analysis/uniformity.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <cmath>

namespace samite::passes {
namespace {

using namespace ir;

// The time of an instance's part of a vector's operation, in scalar operations: for eight lanes, and for an access to
// an element of each.
constexpr double share_of_vector = 1.0 / 8, of_gather = 4;
// The assumed iterations of a loop of unknown length.
constexpr double unknown_iterations = 8;

class InstanceCost {
 public:
  InstanceCost(const Block &body, const Uniformity &lanes) : lanes_(lanes) { add(body, 1); }

  bool is_less_as_scalars() const { return plain_ && diverges_ && scalars_ < vectors_; }

 private:
  void add(const Block &block, double times) {
    for (const Stmt &stmt : block) add(stmt, times);
  }

  void add(const Stmt &stmt, double times) {
    if (const For *loop = stmt.as<For>()) return add(*loop, times);
    if (const Let *let = stmt.as<Let>()) return add(let->value, times);
    if (const Store *store = stmt.as<Store>()) return touch(store->indices, times);
    if (const Accumulate *accumulate = stmt.as<Accumulate>()) {
      plain_ = plain_ && !accumulate->atomic;
      return touch(accumulate->indices, 2 * times);
    }
    if (const If *branch = stmt.as<If>()) {
      add(branch->then_block, times);
      add(branch->else_block, times);
      return;
    }
    plain_ = false;
  }

  void add(const For &loop, double times) {
    diverges_ = diverges_ || (lanes_.divergent(loop) && !lanes_.starts_late(loop));
    plain_ = plain_ && loop.kind == LoopKind::Serial;
    const bool known = loop.begin.is_constant() && loop.end.is_constant() && loop.step.is_constant();
    const double iterations =
        known ? double(std::abs(loop.end.as_int() - loop.begin.as_int())) / std::abs(double(loop.step.as_int()))
              : unknown_iterations;
    compute(times * iterations);  // its index
    add(loop.body, times * iterations);
  }

  void add(const Operation &operation, double times) {
    if (operation.op == Op::Load) return touch(operation.operands, times);
    const bool calls = is_floating(operation.type) && !cheap(operation.op) && operation.op != Op::Div;
    const bool touches = operation.op == Op::LocalLoad || operation.op == Op::Exchange;
    plain_ = plain_ && !calls && !touches && info(operation.op).typing != Typing::Atomic && !operation.type.is_tile();
    compute(times);
  }

  void compute(double times) {
    scalars_ += times;
    vectors_ += times * share_of_vector;
  }

  // Neighbours in memory are one access of a vector.
  void touch(std::span<const Value> indices, double times) {
    const auto differs = [&](const Value &index) { return lanes_.of(index) != Shape::Uniform; };
    const bool is_row = !indices.empty() && lanes_.of(indices.back()) != Shape::Varying &&
                        std::none_of(indices.begin(), indices.end() - 1, differs);
    scalars_ += times;
    vectors_ += times * (is_row ? share_of_vector : of_gather);
  }

  const Uniformity &lanes_;
  bool plain_ = true, diverges_ = false;
  double scalars_ = 0, vectors_ = 0;
};

}  // namespace

Kernel scalar_instances(Kernel lowered) {
  const Uniformity lanes = uniformity(lowered);
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread || !InstanceCost(loop->body, lanes).is_less_as_scalars()) return stmt;
    For serial = *loop;
    serial.kind = LoopKind::Block;
    serial.jam = 1;
    return {std::move(serial), stmt.where()};
  });
  return lowered;
}

}  // namespace samite::passes
