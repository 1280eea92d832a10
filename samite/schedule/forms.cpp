#include "samite/schedule/forms.h"

#include <algorithm>
#include <limits>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::AffineTerm;
using passes::Interval;
using passes::Range;
using passes::Symbol;

Forms::Forms(const Block &body, std::optional<std::uint32_t> promises) : promises_(promises) {
  for (const Stmt &stmt : body) {
    const Let *let = stmt.as<Let>();
    if (!let) continue;
    lets_[let->local] = let;
    forms_.insert_or_assign(let->local, made(let->value));
  }
}

const Operation *Forms::operation(const Value &value) const {
  const auto found = value.is_local() ? lets_.find(value.id()) : lets_.end();
  return found == lets_.end() ? nullptr : &found->second->value;
}

Affine Forms::form(const Value &value) const {
  if (!is_integer(value.type().element())) return Affine::unknown();
  if (value.is_constant()) return value.as_int();
  if (value.kind() == Value::Kind::Parameter) return Symbol::parameter(value.parameter_index());
  const auto found = forms_.find(value.id());
  return found == forms_.end() ? Affine(Symbol::local(value.id())) : found->second;
}

Affine Forms::made(const Operation &operation) const {
  if (!is_integer(operation.type.element())) return Affine::unknown();
  if (size_of(operation.type.element()) < 4 && operation.op != Op::Copy) return Affine::unknown();  // may wrap around
  if (operation.op == Op::Extent) return Symbol::extent(operation.array, operation.attribute);
  std::vector<Affine> of;
  for (const Value &operand : operation.operands) {
    of.push_back(form(operand));
    if (!of.back().known()) return Affine::unknown();
  }
  const auto constant = [&](std::size_t i) { return of[i].is_constant() ? of[i].constant() : 0; };
  switch (operation.op) {
    case Op::Copy: return of[0];
    case Op::Cast:
      // For values that fit anyway: indices.
      return is_integer(operation.operands[0].type().element()) && size_of(operation.type.element()) >= 4
                 ? of[0]
                 : Affine::unknown();
    case Op::Neg: return of[0] * -1;
    case Op::Not: return class_of(operation.type) == ScalarClass::Signed ? of[0] * -1 - 1 : Affine::unknown();
    case Op::Add: return of[0] + of[1];
    case Op::Sub: return of[0] - of[1];
    case Op::Mul:
      if (of[0].is_constant()) return of[1] * of[0].constant();
      if (of[1].is_constant()) return of[0] * of[1].constant();
      return Affine::unknown();
    case Op::ShiftRight:
      return of[1].is_constant() && constant(1) >= 0 && constant(1) < 31
                 ? quotient(of[0], std::int64_t{1} << constant(1))
                 : Affine::unknown();
    case Op::ShiftLeft:
      return of[1].is_constant() && constant(1) >= 0 && constant(1) < 31 ? of[0] * (std::int64_t{1} << constant(1))
                                                                         : Affine::unknown();
    case Op::And:
      // x & (2^n - 1), x & -2^n
      if (constant(1) > 0 && (constant(1) & (constant(1) + 1)) == 0) return remainder(of[0], constant(1) + 1);
      if (constant(1) < 0 && constant(1) >= -(std::int64_t{1} << 30) && (-constant(1) & (-constant(1) - 1)) == 0)
        return quotient(of[0], -constant(1)) * -constant(1);
      return Affine::unknown();
    case Op::Or:
      // x | (2^n - 1)
      if (constant(1) > 0 && constant(1) < (std::int64_t{1} << 30) && (constant(1) & (constant(1) + 1)) == 0)
        return quotient(of[0], constant(1) + 1) * (constant(1) + 1) + constant(1);
      return Affine::unknown();
    case Op::Min: return least(of[0], of[1]);
    case Op::Max: return greatest(of[0], of[1]);
    default: return Affine::unknown();
  }
}

Interval over_all(const Affine &form, const Environment &environment) {
  Interval result = Interval::of(form);
  for (const auto &[local, interval] : environment) result = over(result, Symbol::local(local), interval);
  return result;
}

namespace {

using TermKind = AffineTerm::Kind;

bool form_has_remainder(const Affine &form) {
  return std::ranges::any_of(form.terms(), [](const AffineTerm &term) {
    return term.kind == TermKind::Remainder ||
           (term.operands && std::ranges::any_of(*term.operands, form_has_remainder));
  });
}

std::optional<std::int64_t> smaller(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  return !a ? b : !b ? a : std::min(*a, *b);
}

std::optional<std::int64_t> bound_above(const Affine &form, const passes::RangeOfSymbol &of, int depth);

// Empty for a form without a minimum or maximum. Otherwise it is replaced by each of its two operands. First come those
// for which both must hold. For the others the better one may be chosen, and the order of replacements matters: all are
// tried.
std::optional<std::optional<std::int64_t>> bound_of_extreme(const Affine &form, const passes::RangeOfSymbol &of,
                                                            int depth) {
  bool found = false;
  std::optional<std::int64_t> best;
  for (const bool one_is_enough : {false, true})
    for (const AffineTerm &term : form.terms()) {
      if (term.kind != TermKind::Least && term.kind != TermKind::Greatest) continue;
      if (((term.kind == TermKind::Least) == (term.coefficient > 0)) != one_is_enough) continue;
      AffineTerm alone = term;
      alone.coefficient = 1;
      const Affine rest = form - Affine(alone) * term.coefficient;
      const auto a = bound_above(rest + (*term.operands)[0] * term.coefficient, of, depth - 1);
      if (!one_is_enough && !a) return std::optional<std::int64_t>();
      const auto b = bound_above(rest + (*term.operands)[1] * term.coefficient, of, depth - 1);
      if (!one_is_enough) return b ? std::optional(std::max(*a, *b)) : std::nullopt;
      best = smaller(best, smaller(a, b));
      found = true;
    }
  if (!found) return std::nullopt;
  return best;
}

std::optional<std::int64_t> bound_above(const Affine &form, const passes::RangeOfSymbol &of, int depth) {
  if (!form.known()) return std::nullopt;
  if (form.is_constant()) return form.constant();
  if (depth > 0)
    if (const auto of_extreme = bound_of_extreme(form, of, depth)) return *of_extreme;
  if (depth > 0)
    for (const AffineTerm &term : form.terms()) {
      if (term.kind != TermKind::Quotient) continue;
      // a / n - b / n is at most (a - b) / n, rounded up.
      for (const AffineTerm &other : form.terms()) {
        if (other.kind != TermKind::Quotient || other.by != term.by || term.coefficient <= 0 ||
            other.coefficient != -term.coefficient)
          continue;
        const Affine distance = (*term.operands)[0] - (*other.operands)[0];
        const auto most = bound_above(distance, of, depth - 1);
        if (!most) continue;
        AffineTerm plus = term, minus = other;
        plus.coefficient = minus.coefficient = 1;
        const Affine rest = form - Affine(plus) * term.coefficient + Affine(minus) * term.coefficient;
        const std::int64_t up = *most + term.by - 1;
        const std::int64_t rounded = up / term.by - (up % term.by < 0);
        if (const auto of_rest = bound_above(rest, of, depth - 1)) return *of_rest + rounded * term.coefficient;
      }
    }
  const Range range = range_of(form, of);
  if (range.upper == Range::none_above) return std::nullopt;
  return range.upper;
}

}  // namespace

bool Forms::has_remainder(const Value &value) const {
  if (const Affine of = form(value); of.known()) return form_has_remainder(of);
  const Operation *operation = this->operation(value);
  return operation && (operation->op == Op::Rem ||
                       std::ranges::any_of(operation->operands, [&](const Value &of) { return has_remainder(of); }));
}

std::optional<std::int64_t> at_most(const Affine &form, const passes::RangeOfSymbol &of) {
  return bound_above(form, of, 6);
}

std::optional<std::int64_t> at_least(const Affine &form, const passes::RangeOfSymbol &of) {
  const auto above = bound_above(form * -1, of, 6);
  if (!above) return std::nullopt;
  return -*above;
}

}  // namespace samite::schedules
