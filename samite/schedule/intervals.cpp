// Intervals of a definition's integers (Forms::interval), by the operation that computes them.
#include "samite/schedule/copy_statements.h"
#include "samite/schedule/floating_bounds.h"
#include "samite/schedule/forms.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <set>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Interval;

namespace {

// The range of a small type.
Interval of_type(ScalarType type) {
  switch (type) {
    case ScalarType::Bool: return {0, 1};
    case ScalarType::Int8: return {-128, 127};
    case ScalarType::UInt8: return {0, 255};
    case ScalarType::Int16: return {-32768, 32767};
    case ScalarType::UInt16: return {0, 65535};
    default: return {};
  }
}

class Bounds {
 public:
  Bounds(const passes::RangeOfSymbol &range, const Derive &derive) : range_(range), derive_(derive) {}

  // The tighter of two valid bounds; one may be unknown.
  Affine nearer_below(const Affine &a, const Affine &b) const { return !a.known() ? b : !b.known() ? a : least(a, b); }
  Affine nearer_above(const Affine &a, const Affine &b) const {
    return !a.known() ? b : !b.known() ? a : greatest(a, b);
  }
  // The weaker of two bounds, either of which may apply.
  Affine both_least(const Affine &a, const Affine &b) const {
    return a.known() && b.known() ? least(a, b) : Affine::unknown();
  }
  Affine both_greatest(const Affine &a, const Affine &b) const {
    return a.known() && b.known() ? greatest(a, b) : Affine::unknown();
  }

  bool natural(const Interval &of) const { return of.lower.known() && at_least(of.lower, range_).value_or(-1) >= 0; }
  bool negative(const Interval &of) const { return of.upper.known() && at_most(of.upper, range_).value_or(1) <= 0; }

  Interval absolute(const Interval &of) const {
    if (natural(of)) return of;
    if (negative(of)) return of * -1;
    return {greatest(nearer_above(of.lower, of.upper * -1), 0), both_greatest(of.lower * -1, of.upper)};
  }

  Interval product(const Interval &a, const Interval &b) const {
    if (a.lower.is_constant() && a.upper == a.lower) return b * a.lower.constant();
    if (b.lower.is_constant() && b.upper == b.lower) return a * b.lower.constant();
    if (natural(a) && natural(b)) return {times(a.lower, b.lower), times(a.upper, b.upper)};
    // A form that is both, because it has no elements or is zero, would be negated forever.
    if (negative(a) && !natural(a)) return product(a * -1, b) * -1;
    if (negative(b) && !natural(b)) return product(a, b * -1) * -1;
    if (natural(a))
      return {both_least(times(a.lower, b.lower), times(a.upper, b.lower)),
              both_greatest(times(a.lower, b.upper), times(a.upper, b.upper))};
    if (natural(b)) return product(b, a);
    const Affine ll = times(a.lower, b.lower), lu = times(a.lower, b.upper), ul = times(a.upper, b.lower),
                 uu = times(a.upper, b.upper);
    return {both_least(both_least(ll, lu), both_least(ul, uu)),
            both_greatest(both_greatest(ll, lu), both_greatest(ul, uu))};
  }

  Interval square(const Interval &of) const {
    const Interval size = absolute(of);
    return {size.lower.known() ? times(size.lower, size.lower) : Affine(0), times(size.upper, size.upper)};
  }

  // Truncated; a division by zero gives zero.
  Interval quotient(const Interval &a, const Interval &b) const {
    if (b.lower.known() && b.lower == b.upper) {
      const Affine &by = b.lower;
      if (by.is_constant() && by.constant() < 0) return quotient(a, b * -1) * -1;
      if (by.is_constant() && by.constant() > 0) return by_constant(a, by.constant());
      const Affine first = divided(a.lower, by), last = divided(a.upper, by);
      if (natural(b) && first.known() && last.known()) return {first, last};
      if (negative(b) && first.known() && last.known()) return {last, first};
      if (first.known() && last.known()) return {least(first, last), greatest(first, last)};
    }
    if (natural(b)) return {both_least(a.lower, 0), both_greatest(a.upper, 0)};
    const Affine most = absolute(a).upper;
    return {most * -1, most};
  }

  // It has the sign of `a`, and its magnitude is at most that of `a`, and less than that of `b`; by zero it is `a`.
  Interval remainder(const Interval &a, const Interval &b) const {
    Interval result{natural(a) ? 0 : both_least(a.lower, 0), negative(a) ? 0 : both_greatest(a.upper, 0)};
    const Interval size = absolute(b);
    if (!size.upper.known() || at_least(size.lower, range_).value_or(0) <= 0) return result;
    if (!natural(a)) result.lower = nearer_above(result.lower, size.upper * -1 + 1);
    if (!negative(a)) result.upper = nearer_below(result.upper, size.upper - 1);
    return result;
  }

  // Bits of numbers of either sign: with a < 0 <= b, a | b is at least a, and a ^ b at least a - b; with both below
  // zero, a & b is more than a + b, and a ^ b less than -(a + b).
  Interval conjunction(const Interval &a, const Interval &b) const {
    if (natural(a) && natural(b)) return {0, nearer_below(a.upper, b.upper)};
    if (natural(a)) return {0, a.upper};
    if (natural(b)) return {0, b.upper};
    return {below_zero(a.lower) + below_zero(b.lower), both_greatest(a.upper, b.upper)};
  }
  Interval disjunction(const Interval &a, const Interval &b) const {
    const Affine upper = above_zero(a.upper) + above_zero(b.upper);
    if (natural(a) && natural(b)) return {0, upper};
    return {both_least(below_zero(a.lower), below_zero(b.lower)), upper};
  }
  Interval exclusive(const Interval &a, const Interval &b) const {
    const Affine upper = above_zero(a.upper) + above_zero(b.upper);
    if (natural(a) && natural(b)) return {0, upper};
    const Affine lower_a = below_zero(a.lower), lower_b = below_zero(b.lower);
    return {both_least(lower_a - above_zero(b.upper), lower_b - above_zero(a.upper)),
            both_greatest(upper, (lower_a + lower_b) * -1)};
  }

  // By this number of bits.
  Interval shifted(const Interval &of, const Interval &by) const {
    if (!by.lower.known() || !by.upper.known()) return {};
    constexpr std::int64_t most = 30;
    const std::int64_t least_bits = at_least(by.lower, range_).value_or(-1),
                       most_bits = at_most(by.upper, range_).value_or(most + 1);
    if (least_bits < 0 || most_bits > most || most_bits < least_bits) return {};
    return product(of, {std::int64_t{1} << least_bits, std::int64_t{1} << most_bits});
  }

  // The interval of a function of only parameters.
  Interval by_function(const std::shared_ptr<const IntegerFunction> &function) const {
    if (!derive_) return {};
    const Affine result = derive_({Op::Copy, {}, {}, function});
    const int more = may_be_contracted(*function) ? 1 : 0;
    return {result - more, result + more};
  }

  Interval by_function(const Interval &of, const std::shared_ptr<const IntegerFunction> &function) const {
    if (!derive_ || !of.lower.known() || !of.upper.known()) return {};
    const Affine first = derive_({Op::Copy, {of.lower}, {}, function}),
                 last = of.lower == of.upper ? first : derive_({Op::Copy, {of.upper}, {}, function});
    // A product and a sum may be rounded once or separately.
    const int more = may_be_contracted(*function) ? 1 : 0;
    return {least(first, last) - more, greatest(first, last) + more};
  }

 private:
  static bool may_be_contracted(const IntegerFunction &function) {
    std::set<LocalId> products;
    for (const Stmt &stmt : function.body) {
      const Let *let = stmt.as<Let>();
      const Op op = let->value.op;
      const bool of_product = std::ranges::any_of(let->value.operands, [&](const Value &operand) {
        return operand.is_local() && products.contains(operand.id());
      });
      if ((op == Op::Add || op == Op::Sub) && of_product) return true;
      if (op == Op::Mul || op == Op::Div || (op == Op::Neg && of_product)) products.insert(let->local);
    }
    return false;
  }

  // If it is no form, it is computed.
  Affine least(const Affine &a, const Affine &b) const { return chosen(Op::Min, passes::least(a, b), a, b); }
  Affine greatest(const Affine &a, const Affine &b) const { return chosen(Op::Max, passes::greatest(a, b), a, b); }
  Affine chosen(Op op, const Affine &form, const Affine &a, const Affine &b) const {
    return form.known() || !a.known() || !b.known() || !derive_ ? form : derive_({op, {a, b}, {}});
  }

  Affine above_zero(const Affine &of) const { return both_greatest(of, 0); }
  Affine below_zero(const Affine &of) const { return both_least(of, 0); }

  Interval by_constant(const Interval &of, std::int64_t by) const {
    const Affine lower = passes::quotient(of.lower, by);
    if (natural(of)) return {lower, passes::quotient(of.upper, by)};
    // For a negative number it may be one more than rounding down gives.
    return {lower, greatest(passes::quotient(of.upper, by), least(passes::quotient(of.upper + (by - 1), by), 0))};
  }

  static std::int64_t bounded(__int128 number) {
    constexpr __int128 most = std::int64_t{1} << 60;
    return static_cast<std::int64_t>(std::clamp(number, -most, most));
  }

  Affine times(const Affine &a, const Affine &b) const {
    if (!a.known() || !b.known()) return Affine::unknown();
    if (a.is_constant()) return b * a.constant();
    if (b.is_constant()) return a * b.constant();
    if (!derive_) return Affine::unknown();
    Interval range;
    const auto a0 = at_least(a, range_), a1 = at_most(a, range_), b0 = at_least(b, range_), b1 = at_most(b, range_);
    if (a0 && a1 && b0 && b1) {
      const __int128 corners[] = {__int128{*a0} * *b0, __int128{*a0} * *b1, __int128{*a1} * *b0, __int128{*a1} * *b1};
      range = {bounded(std::ranges::min(corners)), bounded(std::ranges::max(corners))};
    } else if (a0.value_or(-1) >= 0 && b0.value_or(-1) >= 0) {
      range.lower = bounded(__int128{*a0} * *b0);
    }
    return derive_({Op::Mul, {a, b}, range});
  }

  Affine divided(const Affine &a, const Affine &by) const {
    if (!a.known() || !derive_) return Affine::unknown();
    if (a == Affine(0)) return a;
    Interval range;
    if (const auto most = at_most(absolute({a, a}).upper, range_)) range = {-*most, *most};
    return derive_({Op::Div, {a, by}, range});
  }

  const passes::RangeOfSymbol &range_;
  const Derive &derive_;
};

// Whether a floating operation is monotonic in each of its operands, so that its extremes are at the ends.
bool is_monotonic(const Operation &operation, bool first_is_fixed) {
  switch (operation.op) {
    case Op::Copy:
    case Op::Cast:
    case Op::Neg:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Min:
    case Op::Max:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc: return true;
    case Op::Div: return !first_is_fixed;
    default: return false;
  }
}

// Casts leave the fraction out.
template <class Range>
Interval of_integers(const Range &range) {
  constexpr double most = 1 << 30;
  if (!(range.lower >= -most) || !(range.upper <= most)) return {};
  return {static_cast<std::int64_t>(std::trunc(range.lower)), static_cast<std::int64_t>(std::trunc(range.upper))};
}

bool is_float(Type type) { return type == Type(ScalarType::Float32) || type == Type(ScalarType::Float64); }

}  // namespace

bool operator==(const IntegerFunction &a, const IntegerFunction &b) {
  if (a.of != b.of || !(a.result == b.result) || a.body.size() != b.body.size()) return false;
  for (std::size_t i = 0; i < a.body.size(); ++i) {
    const Let &of_a = *a.body[i].as<Let>(), &of_b = *b.body[i].as<Let>();
    if (of_a.local != of_b.local || of_a.value.op != of_b.value.op || of_a.value.operands != of_b.value.operands)
      return false;
  }
  return true;
}

// For the cast of a floating number to an integer, if the number is a monotonic function of one integer and of values
// that are the same for all elements, or only of such values.
std::optional<IntegerFunction> Forms::function_of_integer(const Value &value) const {
  std::optional<LocalId> leaf;
  std::set<LocalId> seen;
  std::vector<const Let *> made;  // operands first
  const auto add = [&](const Let *let) {
    if (seen.insert(let->local).second) made.push_back(let);
  };
  bool possible = true;
  // Whether the value depends on the leaf.
  const std::function<bool(const Value &)> follow = [&](const Value &of) -> bool {
    if (!of.is_local()) return false;
    const auto let = lets_.find(of.id());
    if (let == lets_.end()) return possible = false;
    const Operation &operation = let->second->value;
    const bool to_float = operation.op == Op::Cast && is_float(operation.type);
    if (to_float && is_integer(operation.operands[0].type().element())) {
      add(let->second);
      const Value &integer = operation.operands[0];
      if (!integer.is_local()) return false;
      if (leaf && *leaf != integer.id()) possible = false;
      leaf = integer.id();
      return true;
    }
    if (!is_float(operation.type) && !(of == value)) return possible = false;
    int depend = 0;
    bool first = false;
    for (std::size_t i = 0; i < operation.operands.size(); ++i) {
      const bool depends = follow(operation.operands[i]);
      depend += depends;
      first = i == 0 ? depends : first;
    }
    if (depend > 1 || !is_monotonic(operation, depend == 1 && !first)) possible = false;
    add(let->second);
    return depend > 0;
  };
  follow(value);
  if (!possible) return std::nullopt;
  IntegerFunction function{{}, {}, value};
  if (leaf) function.of.push_back(*leaf);
  for (const Let *let : made) function.body.emplace_back(*let, SourceLocation());
  return function;
}

// For an integer that is the same for all elements: the host computes it.
std::optional<IntegerFunction> Forms::function_of_launch(const Value &value) const {
  std::set<LocalId> seen;
  std::vector<const Let *> made;  // operands first
  const std::function<bool(const Value &)> follow = [&](const Value &of) {
    if (!of.is_local() || seen.contains(of.id())) return true;
    const auto let = lets_.find(of.id());
    if (let == lets_.end()) return false;
    const Operation &operation = let->second->value;
    if (!info(operation.op).pure || is_floating(operation.type.element())) return false;
    if (!std::ranges::all_of(operation.operands, follow)) return false;
    seen.insert(of.id());
    made.push_back(let->second);
    return true;
  };
  if (!is_integer(value.type().element()) || !value.is_local() || !follow(value)) return std::nullopt;
  IntegerFunction function{{}, {}, value};
  for (const Let *let : made) function.body.emplace_back(*let, SourceLocation());
  return function;
}

// If one of two operands is NaN, the least and the greatest are the other one.
Forms::FloatingRange Forms::floating(const Value &value) const {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr FloatingRange any{-infinite, infinite};
  if (value.is_constant())
    return std::isnan(value.as_double()) ? any : FloatingRange{value.as_double(), value.as_double()};
  const Operation *operation = this->operation(value);
  if (!operation || !is_float(operation->type)) return any;
  const auto operand = [&](std::size_t i) { return floating(operation->operands[i]); };
  // Rounded in every operation.
  const auto rounded = [&](std::initializer_list<double> ends) {
    const double lower = std::min(ends), upper = std::max(ends), more = 1e-6;
    if (!std::isfinite(lower) || !std::isfinite(upper)) return any;
    return FloatingRange{lower - std::abs(lower) * more, upper + std::abs(upper) * more};
  };
  switch (operation->op) {
    case Op::Copy: return operand(0);
    case Op::Cast: {
      const Type from = operation->operands[0].type();
      if (is_float(from)) return rounded({operand(0).lower, operand(0).upper});
      const Interval narrow = is_integer(from.element()) ? of_type(from.element()) : Interval();
      if (!narrow.lower.known()) return any;
      return {static_cast<double>(narrow.lower.constant()), static_cast<double>(narrow.upper.constant())};
    }
    case Op::Neg: return {-operand(0).upper, -operand(0).lower};
    case Op::Floor: return {std::floor(operand(0).lower), std::floor(operand(0).upper)};
    case Op::Ceil: return {std::ceil(operand(0).lower), std::ceil(operand(0).upper)};
    case Op::Round: return {std::round(operand(0).lower), std::round(operand(0).upper)};
    case Op::Trunc: return {std::trunc(operand(0).lower), std::trunc(operand(0).upper)};
    case Op::Add:
    case Op::Sub: {
      const FloatingRange a = operand(0), b = operand(1);
      return operation->op == Op::Add ? rounded({a.lower + b.lower, a.upper + b.upper})
                                      : rounded({a.lower - b.upper, a.upper - b.lower});
    }
    case Op::Mul: {
      const FloatingRange a = operand(0), b = operand(1);
      return rounded({a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper});
    }
    case Op::Div: {
      const FloatingRange a = operand(0), b = operand(1);
      if (b.lower <= 0 && b.upper >= 0) return any;
      return rounded({a.lower / b.lower, a.lower / b.upper, a.upper / b.lower, a.upper / b.upper});
    }
    case Op::Min: {
      const FloatingRange a = operand(0), b = operand(1);
      return {std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
    }
    case Op::Max: {
      const FloatingRange a = operand(0), b = operand(1);
      return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
    }
    case Op::Select: {
      const FloatingRange a = operand(1), b = operand(2);
      return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)};
    }
    default: return any;
  }
}

Interval Forms::interval(const Value &value, const Environment &environment, const passes::RangeOfSymbol &range,
                         const Derive &derive) const {
  // The host computes values that are the same for all elements and have no short form.
  constexpr std::size_t short_form = Affine::most_nodes / 2;
  const auto of_launch = [&](const Interval &known) -> std::optional<Interval> {
    const auto function = derive ? function_of_launch(value) : std::nullopt;
    if (!function) return std::nullopt;
    return Interval::of(derive({Op::Copy, {}, known, std::make_shared<const IntegerFunction>(*function)}));
  };
  if (const Affine of = form(value); of.known()) {
    if (of.nodes() > short_form)
      if (const auto number = of_launch({})) return *number;
    const Interval all = over_all(of, environment);
    if (!derive || (all.lower.known() && all.upper.known())) return all;
  }
  const Operation *operation = this->operation(value);
  if (!operation) return {};
  Interval found = interval_of(value, *operation, environment, range, derive);
  if (!found.lower.known() || !(found.lower == found.upper))
    if (const auto number = of_launch(found)) return *number;
  const Interval narrow = of_type(operation->type.element());
  if (!narrow.lower.known()) return found;
  // Numbers of few bits wrap around.
  const bool fits = at_least(found.lower - narrow.lower, range).value_or(-1) >= 0 &&
                    at_most(found.upper - narrow.upper, range).value_or(1) <= 0;
  return fits ? found : narrow;
}

Interval Forms::of_float(const Value &cast, const Environment &environment, const passes::RangeOfSymbol &range,
                         const Derive &derive) const {
  if (const auto function = function_of_integer(cast)) {
    const auto shared = std::make_shared<const IntegerFunction>(*function);
    const Bounds bounds(range, derive);
    const auto leaf = [&] { return Value::local(ScalarType::Int32, function->of[0]); };
    const Interval of = function->of.empty() ? bounds.by_function(shared)
                                             : bounds.by_function(interval(leaf(), environment, range, derive), shared);
    if (of.lower.known() && of.upper.known()) return of;
  }
  Interval limits = of_integers(floating(operation(cast)->operands[0]));
  const auto of_integer = [&](const Value &integer) { return interval(integer, environment, range, derive); };
  const auto bounds = derive ? floating_bounds(*this, cast, of_integer) : std::nullopt;
  if (!bounds) return limits;
  const auto derived = [&](const IntegerFunction &function) {
    return derive({Op::Copy, bounds->ends, limits, std::make_shared<const IntegerFunction>(function)});
  };
  const Affine lower = derived(bounds->lower), upper = derived(bounds->upper);
  if (!limits.lower.known()) return {lower, upper};
  return {greatest(lower, limits.lower), least(upper, limits.upper)};
}

Interval Forms::interval_of(const Value &value, const Operation &of_value, const Environment &environment,
                            const passes::RangeOfSymbol &range, const Derive &derive) const {
  const Operation *operation = &of_value;
  const Bounds bounds(range, derive);
  const auto operand = [&](std::size_t i) { return interval(operation->operands[i], environment, range, derive); };
  const auto constant = [&](std::size_t i) {
    const Value &divisor = operation->operands[i];
    return divisor.is_constant() ? divisor.as_int() : 0;
  };
  switch (operation->op) {
    case Op::Copy: return operand(0);
    case Op::Cast: {
      const ScalarType from = operation->operands[0].type().element();
      if (is_floating(from)) {
        Interval narrow = of_type(operation->type.element());
        if (narrow.lower.known()) return narrow;
        return of_float(value, environment, range, derive);
      }
      Interval of = operand(0);
      if (of.lower.known() || of.upper.known()) return of;
      return of_type(from);
    }
    case Op::Neg: return operand(0) * -1;
    case Op::Not:
      return class_of(operation->type) == ScalarClass::Signed ? operand(0) * -1 + Interval{-1, -1} : Interval();
    case Op::Abs: return bounds.absolute(operand(0));
    case Op::Add: return operand(0) + operand(1);
    case Op::Sub: return operand(0) + operand(1) * -1;
    case Op::Mul:
      if (operation->operands[0] == operation->operands[1]) return bounds.square(operand(0));
      return bounds.product(operand(0), operand(1));
    case Op::Div: return bounds.quotient(operand(0), operand(1));
    case Op::Rem: return bounds.remainder(operand(0), operand(1));
    case Op::ShiftLeft: return bounds.shifted(operand(0), operand(1));
    case Op::ShiftRight: {
      const Interval of = operand(0);
      if (operation->operands[1].is_constant() && constant(1) >= 0 && constant(1) <= 30)
        return {quotient(of.lower, std::int64_t{1} << constant(1)), quotient(of.upper, std::int64_t{1} << constant(1))};
      return {bounds.both_least(of.lower, 0), bounds.both_greatest(of.upper, 0)};
    }
    case Op::And: return bounds.conjunction(operand(0), operand(1));
    case Op::Or: return bounds.disjunction(operand(0), operand(1));
    case Op::Xor: return bounds.exclusive(operand(0), operand(1));
    case Op::PopCount:
    case Op::LeadingZeros:
    case Op::TrailingZeros: return {0, static_cast<std::int64_t>(8 * size_of(operation->type.element()))};
    case Op::Min: {
      const Interval a = operand(0), b = operand(1);
      return {bounds.both_least(a.lower, b.lower), bounds.nearer_below(a.upper, b.upper)};
    }
    case Op::Max: {
      const Interval a = operand(0), b = operand(1);
      return {bounds.nearer_above(a.lower, b.lower), bounds.both_greatest(a.upper, b.upper)};
    }
    case Op::Select:
      return {bounds.both_least(operand(1).lower, operand(2).lower),
              bounds.both_greatest(operand(1).upper, operand(2).upper)};
    case Op::Load: {
      if (operation->array != promises_) return of_type(operation->type.element());
      const Interval own = operand(0), low = operand(1), high = operand(2);
      const Affine lower = bounds.nearer_above(own.lower, low.lower),
                   upper = bounds.nearer_below(own.upper, high.upper);
      return {lower.known() ? lower : low.lower, upper.known() ? upper : high.upper};
    }
    default: return {};
  }
}

}  // namespace samite::schedules
