#include "samite/schedule/joint_steps.h"

#include "samite/schedule/forms.h"
#include "samite/schedule/identity.h"

#include <utility>

namespace samite::schedules {

using namespace ir;

namespace {

class JointSteps {
 public:
  JointSteps(const Function &function, const Definition &update)
      : function_(function), update_(update), forms_(update.body) {}

  std::optional<JointStep> found() const {
    if (update_.values.size() < 2) return std::nullopt;
    if (auto step = chosen()) return step;
    return complex_product();
  }

 private:
  const Operation *made(const Value &value, Op op) const {
    const Operation *operation = forms_.operation(value);
    return operation && operation->op == op ? operation : nullptr;
  }
  bool is_own(const Value &value, std::size_t v) const {
    const Operation *load = made(value, Op::Load);
    return load && load->array == function_.array + v && load->operands == update_.indices;
  }

  // The operation that compares the new first value with the old one; the new value.
  std::optional<std::pair<Op, Value>> comparison(const Value &condition) const {
    for (const auto &[op, other] : {std::pair{Op::Less, Op::Greater}, {Op::Greater, Op::Less}}) {
      const Operation *of = made(condition, op);
      if (!of) continue;
      if (is_own(of->operands[1], 0)) return std::pair{op, of->operands[0]};
      if (is_own(of->operands[0], 0)) return std::pair{other, of->operands[1]};
    }
    return std::nullopt;
  }

  std::optional<JointStep> chosen() const {
    JointStep step{JointStep::Kind::chosen, Op::Less, {}};
    std::optional<Value> condition;
    for (std::size_t v = 1; v < update_.values.size(); ++v) {
      const Operation *select = made(update_.values[v], Op::Select);
      if (!select || !is_own(select->operands[2], v)) return std::nullopt;
      if (condition && !(*condition == select->operands[0])) return std::nullopt;
      condition = select->operands[0];
      step.with.push_back(select->operands[1]);
    }
    const auto compared = comparison(*condition);
    if (!compared) return std::nullopt;
    step.comparison = compared->first;
    step.with.insert(step.with.begin(), compared->second);
    return is_first_value(step, *condition) ? std::optional(step) : std::nullopt;
  }

  // Selected by the same condition, or the minimum or maximum of both.
  bool is_first_value(const JointStep &step, const Value &condition) const {
    const Value &value = update_.values[0], &with = step.with[0];
    if (const Operation *select = made(value, Op::Select))
      return select->operands[0] == condition && select->operands[1] == with && is_own(select->operands[2], 0);
    const Operation *extreme = made(value, step.comparison == Op::Less ? Op::Min : Op::Max);
    return extreme && ((is_own(extreme->operands[0], 0) && extreme->operands[1] == with) ||
                       (is_own(extreme->operands[1], 0) && extreme->operands[0] == with));
  }

  // The factor of one of the Func's own values in a product.
  std::optional<Value> factor(const Value &value, std::size_t v) const {
    const Operation *product = made(value, Op::Mul);
    if (!product) return std::nullopt;
    if (is_own(product->operands[0], v)) return product->operands[1];
    if (is_own(product->operands[1], v)) return product->operands[0];
    return std::nullopt;
  }

  // (a x - b y, a y + b x), where a and b are the Func's own values.
  std::optional<JointStep> complex_product() const {
    if (update_.values.size() != 2) return std::nullopt;
    const Operation *real = made(update_.values[0], Op::Sub), *imaginary = made(update_.values[1], Op::Add);
    if (!real || !imaginary) return std::nullopt;
    const auto x = factor(real->operands[0], 0), y = factor(real->operands[1], 1);
    if (!x || !y) return std::nullopt;
    for (const auto &[first, second] : {std::pair{0, 1}, {1, 0}}) {
      const auto of_real = factor(imaginary->operands[static_cast<std::size_t>(first)], 0),
                 of_imaginary = factor(imaginary->operands[static_cast<std::size_t>(second)], 1);
      if (of_real && of_imaginary && *of_real == *y && *of_imaginary == *x)
        return JointStep{JointStep::Kind::complex_product, Op::Mul, {*x, *y}};
    }
    return std::nullopt;
  }

  const Function &function_;
  const Definition &update_;
  const Forms forms_;
};

}  // namespace

std::optional<JointStep> joint_step_of(const Function &function, const Definition &update) {
  return JointSteps(function, update).found();
}

std::optional<std::vector<Value>> identity_of(const JointStep &step, const std::vector<ScalarType> &types) {
  std::vector<Value> identity;
  for (const ScalarType type : types) identity.push_back(Value::zero(type));
  if (step.kind == JointStep::Kind::complex_product) {
    identity[0] = Value::constant(types[0], 1);
    return identity;
  }
  const auto first = identity_of(step.comparison == Op::Less ? Op::Min : Op::Max, types[0]);
  if (!first) return std::nullopt;
  identity[0] = *first;
  return identity;
}

std::vector<Value> step_with(const JointStep &step, const std::vector<Value> &own, const std::vector<Value> &with,
                             Block &block, LocalId &next, SourceLocation where) {
  const auto write = [&](Op op, Type type, std::vector<Value> operands) {
    const Value local = Value::local(type, next++);
    block.emplace_back(Let{local.id(), {op, type, std::move(operands)}}, where);
    return local;
  };
  const auto product = [&](std::size_t a, std::size_t b) { return write(Op::Mul, own[a].type(), {own[a], with[b]}); };
  std::vector<Value> result;
  if (step.kind == JointStep::Kind::complex_product) {
    const Type type = own[0].type();
    result.push_back(write(Op::Sub, type, {product(0, 0), product(1, 1)}));
    result.push_back(write(Op::Add, type, {product(0, 1), product(1, 0)}));
    return result;
  }
  const Value is_taken = write(step.comparison, ScalarType::Bool, {with[0], own[0]});
  for (std::size_t v = 0; v < own.size(); ++v)
    result.push_back(write(Op::Select, own[v].type(), {is_taken, with[v], own[v]}));
  return result;
}

}  // namespace samite::schedules
