#include "samite/passes/analysis/lane_steps.h"

#include "samite/ir/visit.h"

namespace samite::passes {
namespace {

using namespace ir;
using LaneStep = std::optional<std::int64_t>;

constexpr std::int64_t largest_step = 1 << 20;  // larger ones are useless, and their products might overflow

bool has_step(ScalarType type) { return type == ScalarType::Int32 || type == ScalarType::Int64; }

class LaneSteps {
 public:
  LaneSteps(const Kernel &kernel, const Uniformity &uniformity) : steps_(kernel.local_count) {
    for (LocalId local = 0; local < kernel.local_count; ++local)
      if (uniformity.of(local) != Shape::Varying) steps_[local] = uniformity.of(local) == Shape::Linear;
    for_each_statement(kernel, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      if (!let || steps_[let->local] || !has_step(let->value.type)) return;
      const LaneStep step = of(let->value);
      if (step && *step >= -largest_step && *step <= largest_step) steps_[let->local] = step;
    });
  }

  std::vector<LaneStep> made() && { return std::move(steps_); }

 private:
  LaneStep of(const Value &value) const { return value.is_local() ? steps_[value.id()] : 0; }

  LaneStep of(const Operation &operation) const {
    const auto &operands = operation.operands;
    if (operands.empty()) return std::nullopt;
    const LaneStep a = of(operands[0]);
    if (operation.op == Op::Copy) return a;
    if (operands.size() != 2) return std::nullopt;
    const LaneStep b = of(operands[1]);
    if (!a || !b) return std::nullopt;
    const auto times = [](LaneStep step, const Value &factor) -> LaneStep {
      if (!factor.is_constant() || factor.as_int() < -largest_step || factor.as_int() > largest_step)
        return std::nullopt;
      return *step * factor.as_int();
    };
    switch (operation.op) {
      case Op::Add: return *a + *b;
      case Op::Sub: return *a - *b;
      case Op::Mul: return operands[1].is_constant() ? times(a, operands[1]) : times(b, operands[0]);
      case Op::ShiftLeft:
        if (!operands[1].is_constant() || operands[1].as_int() < 0 || operands[1].as_int() > 20) return std::nullopt;
        return *a * (std::int64_t{1} << operands[1].as_int());
      default: return std::nullopt;
    }
  }

  std::vector<LaneStep> steps_;
};

}  // namespace

bool is_the_same_in_memory(ScalarType type) {
  return size_of(type) >= 4 || (!is_floating(type) && type != ScalarType::Bool);
}

std::vector<std::optional<std::int64_t>> lane_steps(const Kernel &kernel, const Uniformity &uniformity) {
  return LaneSteps(kernel, uniformity).made();
}

std::vector<bool> in_pairs_of_lanes(const Kernel &kernel, const std::vector<LaneStep> &steps) {
  std::vector<bool> pairs(kernel.local_count);
  const auto paired = [&](const Value &value) { return value.is_local() && pairs[value.id()]; };
  const auto steps_by = [&](const Value &value, std::int64_t step) {
    return value.is_local() ? steps[value.id()] == step : step == 0;
  };
  for_each_statement(kernel, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || !has_step(let->value.type)) return;
    const auto &operands = let->value.operands;
    switch (let->value.op) {
      case Op::Copy: pairs[let->local] = paired(operands[0]); break;
      case Op::ShiftRight:
        pairs[let->local] = steps_by(operands[0], 1) && operands[1].is_constant() && operands[1].as_int() == 1;
        break;
      case Op::Add:
        pairs[let->local] =
            (paired(operands[0]) && steps_by(operands[1], 0)) || (steps_by(operands[0], 0) && paired(operands[1]));
        break;
      case Op::Sub: pairs[let->local] = paired(operands[0]) && steps_by(operands[1], 0); break;
      default: break;
    }
  });
  return pairs;
}

std::vector<std::optional<Value>> clamped_lanes(const Kernel &kernel, const Uniformity &uniformity) {
  std::vector<std::optional<Value>> clamped(kernel.local_count);
  for_each_statement(kernel, [&](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    if (!let || let->value.type != ScalarType::Int32 || (let->value.op != Op::Min && let->value.op != Op::Max)) return;
    const auto &of = let->value.operands;
    for (const auto &[index, limit] : {std::pair{of[0], of[1]}, {of[1], of[0]}}) {
      if (!index.is_local() || uniformity.of(limit) != Shape::Uniform) continue;
      if (uniformity.of(index) == Shape::Linear && uniformity.steady(index))
        clamped[let->local] = index;
      else
        clamped[let->local] = clamped[index.id()];
    }
  });
  return clamped;
}

}  // namespace samite::passes
