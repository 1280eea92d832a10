#include "samite/schedule/floating_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Interval;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

class FloatingBoundsWriter {
 public:
  // `widen`: whether the bounds of a sum allow for another rounding of its products.
  FloatingBoundsWriter(const Forms &forms, const std::function<Interval(const Value &)> &interval_of, bool widen)
      : forms_(forms), interval_of_(interval_of), widen_(widen) {}

  bool is_point(const Value &cast) {
    const std::optional<Ends> number = ends(forms_.operation(cast)->operands[0]);
    return number && number->is_point();
  }

  std::optional<FloatingBounds> of(const Value &cast) {
    const Operation *operation = forms_.operation(cast);
    const std::optional<Ends> number = ends(operation->operands[0]);
    if (!number) return std::nullopt;
    Ends result = each(*number, [&](const Value &end) { return write(Op::Cast, operation->type, {end}); });
    if (result.is_point() && has_rounded_twice_) {
      const Value one = Value::constant(operation->type, 1);
      result = {write(Op::Sub, {result.lower, one}), write(Op::Add, {result.upper, one})};
    }
    if (!result.lower.is_local() || !result.upper.is_local()) return std::nullopt;
    std::vector<LocalId> of;
    for (const Ends &leaf : leaves_) of.insert(of.end(), {leaf.lower.id(), leaf.upper.id()});
    return FloatingBounds{intervals_, {body_, of, result.lower}, {body_, of, result.upper}};
  }

 private:
  struct Ends {
    Value lower, upper;
    bool may_be_nan = false;
    bool is_product = false;  // a sum with it may be rounded once or twice

    bool is_point() const { return lower == upper; }
  };

  Value write(Op op, Type type, std::vector<Value> operands) {
    const Value result = Value::local(type, next_++);
    body_.emplace_back(Let{result.id(), Operation{op, type, std::move(operands)}}, SourceLocation());
    return result;
  }
  Value write(Op op, const std::vector<Value> &operands) { return write(op, operands[0].type(), operands); }

  template <class Function>
  static Ends each(const Ends &of, const Function &function) {
    const Value lower = function(of.lower);
    return {lower, of.is_point() ? lower : function(of.upper), of.may_be_nan};
  }

  // The number may be anything in its constant range, or is unknown.
  std::optional<Ends> constant_range(const Value &value) const {
    const Forms::FloatingRange range = forms_.floating(value);
    if (!std::isfinite(range.lower) || !std::isfinite(range.upper)) return std::nullopt;
    return Ends{Value::constant(value.type(), range.lower), Value::constant(value.type(), range.upper)};
  }

  std::optional<Ends> ends(const Value &value) {
    if (!value.is_local()) return Ends{value, value};
    if (const auto known = known_.find(value.id()); known != known_.end()) return known->second;
    const Operation *operation = forms_.operation(value);
    std::optional<Ends> result;
    if (operation) result = computed(*operation);
    if (!result) result = constant_range(value);
    known_.emplace(value.id(), result);
    return result;
  }

  std::optional<Ends> computed(const Operation &operation) {
    if (operation.op == Op::Cast && is_integer(operation.operands[0].type().element())) return integer(operation);
    std::vector<Ends> of;
    for (std::size_t i = operation.op == Op::Select ? 1 : 0; i < operation.operands.size(); ++i) {
      const Value &operand = operation.operands[i];
      if (!is_floating(operand.type().element())) return std::nullopt;
      const std::optional<Ends> found = ends(operand);
      if (!found) return std::nullopt;
      of.push_back(*found);
    }
    if (of.empty()) return std::nullopt;
    const bool same = of.size() == 2 && operation.operands[0] == operation.operands[1];
    std::optional<Ends> result = by_operation(operation, of, same);
    const auto is_nan = [](const Ends &operand) { return operand.may_be_nan; };
    if (result && operation.op != Op::Min && operation.op != Op::Max)
      result->may_be_nan = result->may_be_nan || std::ranges::any_of(of, is_nan);
    return result;
  }

  std::optional<Ends> integer(const Operation &cast) {
    const Value &integer = cast.operands[0];
    const auto to_float = [&](const Value &end) { return write(Op::Cast, cast.type, {end}); };
    if (!integer.is_local()) return each({integer, integer}, to_float);
    const auto found = std::ranges::find(integers_, integer);
    const auto at = static_cast<std::size_t>(found - integers_.begin());
    if (found == integers_.end()) {
      const Interval interval = interval_of_(integer);
      if (!interval.lower.known() || !interval.upper.known()) return std::nullopt;
      const Value lower = Value::local(integer.type(), next_++);
      integers_.push_back(integer);
      intervals_.insert(intervals_.end(), {interval.lower, interval.upper});
      leaves_.push_back({lower, interval.lower == interval.upper ? lower : Value::local(integer.type(), next_++)});
    }
    return each(leaves_[at], to_float);
  }

  std::optional<Ends> by_operation(const Operation &operation, const std::vector<Ends> &of, bool same) {
    switch (operation.op) {
      case Op::Copy: return of[0];
      case Op::Cast:
      case Op::Floor:
      case Op::Ceil:
      case Op::Round:
      case Op::Trunc: return each(of[0], [&](const Value &end) { return write(operation.op, operation.type, {end}); });
      case Op::Neg: {
        Ends result = each({of[0].upper, of[0].lower}, [&](const Value &end) { return write(Op::Neg, {end}); });
        result.is_product = of[0].is_product;
        return result;
      }
      case Op::Abs: return absolute(of[0]);
      case Op::Sqrt: {
        const Value zero = Value::zero(operation.type);
        Ends result = each(of[0], [&](const Value &end) { return write(Op::Sqrt, {write(Op::Max, {end, zero})}); });
        result.may_be_nan = true;
        return result;
      }
      case Op::Add: return sum(Op::Add, of[0], of[1]);
      case Op::Sub: return sum(Op::Sub, of[0], of[1]);
      case Op::Fma: return sum(Op::Add, product(of[0], of[1], operation.operands[0] == operation.operands[1]), of[2]);
      case Op::Mul: return product(of[0], of[1], same);
      case Op::Div: return quotient(of[0], of[1]);
      case Op::Min:
      case Op::Max: return extreme(operation.op, of[0], of[1]);
      case Op::Select: return hull(of[0], of[1]);
      default: return std::nullopt;
    }
  }

  Ends absolute(const Ends &of) {
    if (of.is_point()) return each(of, [&](const Value &end) { return write(Op::Abs, {end}); });
    const Value minus_lower = write(Op::Neg, {of.lower}), minus_upper = write(Op::Neg, {of.upper});
    const Value zero = Value::zero(of.lower.type());
    return {write(Op::Max, {write(Op::Max, {of.lower, minus_upper}), zero}), write(Op::Max, {minus_lower, of.upper})};
  }

  // The ends of all numbers in either.
  Ends hull(const Ends &a, const Ends &b) {
    return {write(Op::Min, {a.lower, b.lower}), write(Op::Max, {a.upper, b.upper})};
  }

  // If one operand is NaN, the result is the other one.
  Ends extreme(Op op, const Ends &a, const Ends &b) {
    Ends result{write(op, {a.lower, b.lower}), write(op, {a.upper, b.upper})};
    if (a.is_point() && b.is_point()) result.upper = result.lower;
    if (a.may_be_nan) result = hull(result, b);
    if (b.may_be_nan) result = hull(result, a);
    result.may_be_nan = a.may_be_nan && b.may_be_nan;
    return result;
  }

  Ends sum(Op op, const Ends &a, const Ends &b) {
    Ends result{write(op, {a.lower, op == Op::Add ? b.lower : b.upper}), a.lower};
    result.upper =
        a.is_point() && b.is_point() ? result.lower : write(op, {a.upper, op == Op::Add ? b.upper : b.lower});
    if (!a.is_product && !b.is_product) return result;
    has_rounded_twice_ = true;
    if (!widen_) return result;
    // Four roundings of the larger operand: the sum that the bound computes may differ as well.
    const bool narrow = a.lower.type() == Type(ScalarType::Float32);
    const Value step = Value::constant(a.lower.type(), narrow ? 0x1p-22 : 0x1p-51);
    const Value largest = write(Op::Add, {absolute(a).upper, absolute(b).upper});
    const Value error = write(Op::Mul, {largest, step});
    return {write(Op::Sub, {result.lower, error}), write(Op::Add, {result.upper, error})};
  }

  // For an operation that is monotonic in each operand.
  Ends corners(Op op, const Ends &a, const Ends &b) {
    std::vector<Value> all{write(op, {a.lower, b.lower})};
    if (!a.is_point()) all.push_back(write(op, {a.upper, b.lower}));
    if (!b.is_point()) all.push_back(write(op, {a.lower, b.upper}));
    if (!a.is_point() && !b.is_point()) all.push_back(write(op, {a.upper, b.upper}));
    Ends result{all[0], all[0]};
    for (std::size_t i = 1; i < all.size(); ++i)
      result = {write(Op::Min, {result.lower, all[i]}), write(Op::Max, {result.upper, all[i]})};
    return result;
  }

  Ends product(const Ends &a, const Ends &b, bool same) {
    Ends result = a;
    if (same) {
      const Ends size = absolute(a);
      result = each(size, [&](const Value &end) { return write(Op::Mul, {end, end}); });
    } else {
      result = corners(Op::Mul, a, b);
    }
    result.is_product = true;
    return result;
  }

  Ends quotient(const Ends &a, const Ends &b) {
    Ends result = corners(Op::Div, a, b);
    const Value zero = Value::zero(a.lower.type());
    if (!b.is_point()) {
      const Type boolean = ScalarType::Bool;
      const Value away = write(Op::Or, {write(Op::Greater, boolean, {b.lower, zero}),  //
                                        write(Op::Less, boolean, {b.upper, zero})});
      result = {write(Op::Select, a.lower.type(), {away, result.lower, Value::constant(a.lower.type(), -infinite)}),
                write(Op::Select, a.lower.type(), {away, result.upper, Value::constant(a.lower.type(), infinite)})};
    }
    result.may_be_nan = !b.lower.is_constant() || b.lower.is_constant(0);
    result.is_product = true;
    return result;
  }

  const Forms &forms_;
  const std::function<Interval(const Value &)> &interval_of_;
  const bool widen_;
  bool has_rounded_twice_ = false;
  std::vector<Value> integers_;
  std::vector<passes::Affine> intervals_;
  std::vector<Ends> leaves_;  // of the integers
  std::map<LocalId, std::optional<Ends>> known_;
  Block body_;
  LocalId next_ = 0;
};

}  // namespace

std::optional<FloatingBounds> floating_bounds(const Forms &forms, const Value &cast,
                                              const std::function<Interval(const Value &)> &interval_of) {
  // A single number is rounded differently, but is no interval: it needs no interval arithmetic.
  FloatingBoundsWriter of_one(forms, interval_of, /*widen=*/false);
  if (of_one.is_point(cast)) return of_one.of(cast);
  return FloatingBoundsWriter(forms, interval_of, /*widen=*/true).of(cast);
}

}  // namespace samite::schedules
