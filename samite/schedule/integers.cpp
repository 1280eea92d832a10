#include "samite/schedule/integers.h"

#include "samite/base/error.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::AffineTerm;
using passes::Symbol;

namespace {

constexpr passes::Range of_32_bits{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};

}  // namespace

Value Integers::value_of(const Symbol &symbol, ScalarType type) {
  switch (symbol.kind) {
    case Symbol::Kind::Parameter:
      return write_.converted(write_.as_i32(Value::parameter(parameters_[symbol.id].type, symbol.id)), type);
    case Symbol::Kind::Extent:
      return write_.converted(write_.operation({Op::Extent, ScalarType::Int32, {}, symbol.id, symbol.dimension}), type);
    default: break;
  }
  if (const auto value = values_.find(symbol); value != values_.end()) return write_.converted(value->second, type);
  if (const Affine *stands_for = symbols_.bound(symbol)) {
    const InGroup &known = in_groups_.at(symbol);
    if (open_.threads && known.group == open_.threads->number) return write_.converted(known.value, type);
    return value_of(*stands_for, type);
  }
  if (const Derived *derived = symbols_.derived(symbol)) {
    if (derived->function) {
      std::vector<Value> of;
      for (const Affine &operand : derived->operands) of.push_back(value_of(operand));
      return write_.converted(value_of(*derived->function, of), type);
    }
    const Affine &a = derived->operands[0], &b = derived->operands[1];
    for (const Division &division : divisions_)
      if ((derived->op == Op::Div || derived->op == Op::Rem) && a == division.a && b == division.b)
        return write_.converted(derived->op == Op::Div ? division.quotient : division.remainder, type);
    const Value first = value_of(a, type), second = value_of(b, type);
    return write_(derived->op, first, second);
  }
  throw InternalError("an index is used where it is not known: " + to_string(symbol));
}

Value Integers::value_of(const IntegerFunction &function, const std::vector<Value> &of) {
  std::map<LocalId, Value> made;
  for (std::size_t i = 0; i < of.size(); ++i) made.emplace(function.of[i], of[i]);
  for (const Stmt &stmt : function.body) {
    const Let *let = stmt.as<Let>();
    Operation copy = let->value;
    for (Value &operand : copy.operands)
      if (operand.is_local()) operand = made.at(operand.id());
    made.insert_or_assign(let->local, write_.operation(std::move(copy)));
  }
  return made.at(function.result.id());
}

Value Integers::value_of(const Symbol &symbol) { return value_of(symbol, ScalarType::Int32); }
Value Integers::value_of(const Affine &form) { return value_of(form, ScalarType::Int32); }
Value Integers::wide_value_of(const Affine &form) { return value_of(form, ScalarType::Int64); }

std::optional<Value> Integers::known_here(const Symbol &symbol) const {
  const auto found = values_.find(symbol);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

// Whether a form's numbers may exceed 32 bits.
bool Integers::is_large(const Affine &a) const {
  constexpr std::int64_t large = 1 << 24;
  return !of_32_bits.contains(range_of(a, symbols_.range())) &&
         (std::abs(a.constant()) >= large ||
          std::ranges::any_of(a.terms(), [](const AffineTerm &term) { return std::abs(term.coefficient) >= large; }));
}

// A division needs its exact operand, while sums and products may wrap around on the way. Inside loops, 64 bits would
// cost every iteration: there the operand is an index, which fits 32 bits, unless its numbers are large.
bool Integers::divides_64_bits(const Affine &a, std::int64_t by) const {
  if (by > of_32_bits.upper || is_large(a)) return true;
  if (of_32_bits.contains(range_of(a, symbols_.range()))) return false;
  return !symbols_.depends_on(a, [&](const Symbol &symbol) {
    return std::ranges::any_of(open_.all, [&](const OpenLoop &loop) { return loop.symbol == symbol; });
  });
}

// Rounded down, like forms; non-negative numbers need no correction.
Value Integers::divided(const Affine &a, std::int64_t by, bool remainder, ScalarType type) {
  if (type != ScalarType::Int64 && divides_64_bits(a, by))
    return write_.converted(divided(a, by, remainder, ScalarType::Int64), type);
  const auto number = [&](std::int64_t of) { return Value::constant(type, of); };
  const Value value = value_of(a, type);
  const bool natural = at_least(a, symbols_.range()).value_or(-1) >= 0;
  const bool power = (by & (by - 1)) == 0;
  if (power && remainder) return write_(Op::And, value, number(by - 1));
  if (power) return write_(Op::ShiftRight, value, number(__builtin_ctzll(static_cast<unsigned long long>(by))));
  if (natural) return write_(remainder ? Op::Rem : Op::Div, value, number(by));
  const Value rest = write_.floored_remainder(value, by);
  if (remainder) return rest;
  return write_(Op::Div, write_(Op::Sub, value, rest), number(by));
}

Value Integers::value_of(const AffineTerm &term, ScalarType type) {
  using TermKind = AffineTerm::Kind;
  switch (term.kind) {
    case TermKind::Symbol: return value_of(term.symbol, type);
    case TermKind::Quotient: return divided((*term.operands)[0], term.by, false, type);
    case TermKind::Remainder: return divided((*term.operands)[0], term.by, true, type);
    case TermKind::Least:
    case TermKind::Greatest: {
      const bool wide = std::ranges::any_of(*term.operands, [&](const Affine &operand) { return is_large(operand); });
      const ScalarType of = wide ? ScalarType::Int64 : type;
      const Value a = value_of((*term.operands)[0], of), b = value_of((*term.operands)[1], of);
      return write_.converted(write_(term.kind == TermKind::Least ? Op::Min : Op::Max, a, b), type);
    }
  }
  throw InternalError("a term of no kind");
}

Value Integers::value_of(const Affine &form, ScalarType type) {
  internal_check(form.known(), "a form that is not known has no value");
  if (type != ScalarType::Int64 && is_large(form)) return write_.converted(wide_value_of(form), type);
  const auto number = [&](std::int64_t of) { return Value::constant(type, of); };
  std::optional<Value> sum;
  for (const AffineTerm &term : form.terms()) {
    const std::int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    Value part = value_of(term, type);
    if (size != 1) part = write_(Op::Mul, part, number(size));
    if (!sum)
      sum = term.coefficient < 0 ? write_.operation({Op::Neg, type, {part}}) : part;
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

Affine Integers::derived_once(const Derived &what) const {
  const auto is_same = [&](const Derived &known) {
    const bool same_function =
        known.function && what.function ? *known.function == *what.function : known.function == what.function;
    return known.op == what.op && known.operands == what.operands && same_function;
  };
  for (const auto &[known, symbol] : derived_)
    if (is_same(known)) return symbol;
  const Symbol symbol = new_symbol();
  symbols_.set_derived(symbol, what);
  derived_.emplace_back(what, symbol);
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
