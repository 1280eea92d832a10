#include "samite/schedule/integers.h"

#include "samite/base/error.h"

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::AffineTerm;
using passes::Symbol;

Value Integers::value_of(const Symbol &symbol) {
  switch (symbol.kind) {
    case Symbol::Kind::Parameter: return write_.as_i32(Value::parameter(parameters_[symbol.id].type, symbol.id));
    case Symbol::Kind::Extent:
      return write_.operation({Op::Extent, ScalarType::Int32, {}, symbol.id, symbol.dimension});
    default: break;
  }
  if (const auto value = values_.find(symbol); value != values_.end()) return value->second;
  if (const Affine *stands_for = symbols_.bound(symbol)) {
    const InGroup &known = in_groups_.at(symbol);
    if (open_.threads && known.group == open_.threads->number) return known.value;
    return value_of(*stands_for);
  }
  if (const Derived *derived = symbols_.derived(symbol)) {
    const Value a = value_of(derived->a), b = value_of(derived->b);
    return write_(derived->op, a, b);
  }
  throw InternalError("an index is used where it is not known: " + to_string(symbol));
}

std::optional<Value> Integers::known_here(const Symbol &symbol) const {
  const auto found = values_.find(symbol);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

// Rounded down, as forms are; numbers that are not negative need no care.
Value Integers::divided(const Affine &a, std::int64_t by, bool remainder) {
  const Value value = value_of(a);
  const bool natural = at_least(a, symbols_.range()).value_or(-1) >= 0;
  const bool power = (by & (by - 1)) == 0;
  if (power && remainder) return write_(Op::And, value, number(by - 1));
  if (power) return write_(Op::ShiftRight, value, number(__builtin_ctzll(static_cast<unsigned long long>(by))));
  if (natural) return write_(remainder ? Op::Rem : Op::Div, value, number(by));
  const Value rest = write_.floored_remainder(value, by);
  if (remainder) return rest;
  return write_(Op::Div, write_(Op::Sub, value, rest), number(by));
}

Value Integers::value_of(const AffineTerm &term) {
  using TermKind = AffineTerm::Kind;
  switch (term.kind) {
    case TermKind::Symbol: return value_of(term.symbol);
    case TermKind::Quotient: return divided((*term.operands)[0], term.by, false);
    case TermKind::Remainder: return divided((*term.operands)[0], term.by, true);
    case TermKind::Least:
    case TermKind::Greatest: {
      const Value a = value_of((*term.operands)[0]), b = value_of((*term.operands)[1]);
      return write_(term.kind == TermKind::Least ? Op::Min : Op::Max, a, b);
    }
  }
  throw InternalError("a term of no kind");
}

Value Integers::value_of(const Affine &form) {
  internal_check(form.known(), "a form that is not known has no value");
  std::optional<Value> sum;
  for (const AffineTerm &term : form.terms()) {
    const std::int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    Value part = value_of(term);
    if (size != 1) part = write_(Op::Mul, part, number(size));
    if (!sum)
      sum = term.coefficient < 0 ? write_.operation({Op::Neg, ScalarType::Int32, {part}}) : part;
    else
      sum = write_(term.coefficient < 0 ? Op::Sub : Op::Add, *sum, part);
  }
  if (!sum) return number(form.constant());
  if (form.constant() == 0) return *sum;
  return form.constant() < 0 ? write_(Op::Sub, *sum, number(-form.constant()))
                             : write_(Op::Add, *sum, number(form.constant()));
}

Affine Integers::derived(Derived what) {
  const Symbol symbol = new_symbol();
  symbols_.set_derived(symbol, std::move(what));
  return symbol;
}

Affine Integers::bound(const Affine &form) {
  constexpr std::size_t simple = 2;
  if (form.nodes() <= simple) return form;
  const Symbol symbol = new_symbol();
  symbols_.set_range(symbol, range_of(form, symbols_.range()));
  if (open_.threads && depends_on_threads(open_, symbols_, form, /*or_inside=*/true)) {
    symbols_.set_bound(symbol, form);
    in_groups_.insert_or_assign(symbol, InGroup{value_of(form), open_.threads->number});
    return symbol;
  }
  Block *const before = write_.out;
  if (open_.threads) write_.out = open_.threads->outside;
  values_.insert_or_assign(symbol, value_of(form));
  symbols_.set_computed(symbol, form);
  write_.out = before;
  return symbol;
}

Affine Integers::bound_extent(const Affine &extent) {
  const auto most = at_most(extent, symbols_.range());
  const Affine result = bound(extent);
  if (most)
    result.for_each_symbol([&](const Symbol &symbol) {
      if (result.is_symbol_and_constant(symbol) && result.constant() == 0) symbols_.set_most(symbol, *most);
    });
  return result;
}

}  // namespace samite::schedules
