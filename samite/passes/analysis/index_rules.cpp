#include "samite/passes/analysis/index_rules.h"

#include <algorithm>
#include <bit>

namespace samite::passes {

using namespace ir;

namespace {

constexpr std::int64_t largest_divisor = std::int64_t{1} << 61;
using Forms = std::span<const Affine>;

Range range_of_product(const Range &a, const Range &b) {
  const bool bounded = a.lower != Range::none_below && a.upper != Range::none_above;
  return bounded ? united(b * a.lower, b * a.upper) : Range{};
}

// Rounded towards zero.
Range range_of_quotient(const Range &a, std::int64_t by) {
  return {a.lower == Range::none_below ? a.lower : a.lower / by, a.upper == Range::none_above ? a.upper : a.upper / by};
}

// Rounded down: negative numbers stay negative.
Range range_of_shifted(const Range &a, std::int64_t by) {
  Range range = range_of_quotient(a, by);
  if (a.lower < 0) range.lower = a.lower;
  if (a.upper < 0) range.upper = -1;
  return range;
}

Range range_of_remainder(const Range &a, std::int64_t by) {
  return {a.lower >= 0 ? 0 : 1 - by, std::min(std::max<std::int64_t>(a.upper, 0), by - 1)};
}

bool divides(std::int64_t by, const Affine &form) {
  return form.constant() % by == 0 &&
         std::ranges::all_of(form.terms(), [&](const AffineTerm &term) { return term.coefficient % by == 0; });
}

// An operand's constant value, if a form can represent it.
std::optional<std::int64_t> constant(const Value &value, const IndexForm &known) {
  return value.is_constant() && known.form.known() ? std::optional(known.form.constant()) : std::nullopt;
}

IndexRule multiple(const IndexForm &of, std::size_t operand, std::int64_t by) {
  return {[operand, by](Forms forms) { return forms[operand] * by; }, of.range * by, 0,
          product_of_divisors(of.divisor, power_of_two_in(by))};
}

// The low bits only. They are correct whatever has wrapped before; `by` is a power of two.
IndexRule last_bits(std::size_t operand, std::int64_t by) {
  return {[operand, by](Forms forms) { return remainder(forms[operand], by); },
          {0, by - 1},
          std::countr_zero(static_cast<std::uint64_t>(by))};
}

IndexRule quotient_by(std::int64_t by, const Range &range, bool always) {
  return {[by](Forms forms) { return quotient(forms[0], by); }, range, IndexForm::all_bits, 1, always};
}
IndexRule remainder_by(std::int64_t by, const Range &range, bool always) {
  return {[by](Forms forms) { return remainder(forms[0], by); }, range, IndexForm::all_bits, 1, always};
}

}  // namespace

bool is_index(const Type &type) { return is_integer(type) && !type.is_tile(); }
bool is_unsigned(const Type &type) { return class_of(type) == ScalarClass::Unsigned; }
int width(const Type &type) { return static_cast<int>(size_of(type)) * 8; }

Range range_of_type(const Type &type) {
  if (!is_index(type)) return {};
  const int n = width(type);
  if (n == 64) return {is_unsigned(type) ? 0 : Range::none_below, Range::none_above};
  const std::int64_t all = std::int64_t{1} << n;
  return is_unsigned(type) ? Range{0, all - 1} : Range{-all / 2, all / 2 - 1};
}

bool holds(const Type &type, const Range &range) {
  return range_of_type(type).contains(range) && range.lower != Range::none_below && range.upper != Range::none_above;
}

std::int64_t power_of_two_in(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number == 0 ? largest_divisor : std::int64_t{1} << std::min(std::countr_zero(bits), 61);
}
std::int64_t product_of_divisors(std::int64_t a, std::int64_t b) {
  return a > largest_divisor / b ? largest_divisor : a * b;
}

std::optional<IndexRule> index_rule(const Operation &operation, std::span<const IndexForm> operands,
                                    const std::function<Range(const Affine &)> &range_of) {
  for (const Value &operand : operation.operands)
    if (!is_index(operand.type())) return std::nullopt;
  const IndexForm &first = operands[0], &second = operands.back();
  const auto number = [&](std::size_t i) { return constant(operation.operands[i], operands[i]); };
  // Whether truncation equals rounding down: if nothing wraps, and always.
  const auto rounds_down = [&](std::int64_t by) { return range_of(first.form).lower >= 0 || divides(by, first.form); };
  const auto always_does = [&](std::int64_t by) { return first.range.lower >= 0 || divides(by, first.low_form()); };
  const auto shift = [&]() -> std::optional<std::int64_t> {
    const auto by = number(1);
    return by && *by >= 0 && *by < std::min(width(operation.type), 61) ? std::optional(std::int64_t{1} << *by)
                                                                       : std::nullopt;
  };
  switch (operation.op) {
    case Op::Neg: return multiple(first, 0, -1);
    case Op::Add:
      return IndexRule{[](Forms forms) { return forms[0] + forms[1]; }, first.range + second.range, 0,
                       std::min(first.divisor, second.divisor)};
    case Op::Sub:
      return IndexRule{[](Forms forms) { return forms[0] - forms[1]; }, first.range + second.range * -1, 0,
                       std::min(first.divisor, second.divisor)};
    case Op::Mul:
      for (const std::size_t i : {0u, 1u})
        if (const auto by = number(i)) return multiple(operands[1 - i], 1 - i, *by);
      return std::nullopt;
    case Op::ShiftLeft:
      if (const auto by = shift()) return multiple(first, 0, *by);
      return std::nullopt;
    case Op::ShiftRight:
      if (const auto by = shift()) return quotient_by(*by, range_of_shifted(first.range, *by), true);
      return std::nullopt;
    case Op::And:
      for (const std::size_t i : {0u, 1u})
        if (const auto mask = number(i); mask && *mask > 0 && (*mask & (*mask + 1)) == 0)
          return last_bits(1 - i, *mask + 1);
      return std::nullopt;
    case Op::Div:
      if (const auto by = number(1); by && *by > 0 && rounds_down(*by))
        return quotient_by(*by, range_of_quotient(first.range, *by), always_does(*by));
      return std::nullopt;
    case Op::Rem: {
      const auto by = number(1);
      if (!by || *by <= 0) return std::nullopt;
      if (std::has_single_bit(static_cast<std::uint64_t>(*by)) && first.range.lower >= 0) return last_bits(0, *by);
      if (!rounds_down(*by)) return std::nullopt;
      return remainder_by(*by, range_of_remainder(first.range, *by), always_does(*by));
    }
    case Op::Min:
      return IndexRule{
          [](Forms forms) { return least(forms[0], forms[1]); },
          {std::min(first.range.lower, second.range.lower), std::min(first.range.upper, second.range.upper)},
          IndexForm::all_bits,
          std::min(first.divisor, second.divisor)};
    case Op::Max:
      return IndexRule{
          [](Forms forms) { return greatest(forms[0], forms[1]); },
          {std::max(first.range.lower, second.range.lower), std::max(first.range.upper, second.range.upper)},
          IndexForm::all_bits,
          std::min(first.divisor, second.divisor)};
    default: return std::nullopt;
  }
}

void describe_symbol(IndexForm &symbol, const Operation &operation, std::span<const IndexForm> operands) {
  if (operation.op == Op::Mul) {
    const std::int64_t product = product_of_divisors(operands[0].divisor, operands[1].divisor);
    symbol.divisor = std::min(product, std::int64_t{1} << std::min(width(operation.type), 61));
    const Range range = range_of_product(operands[0].range, operands[1].range);
    if (holds(operation.type, range)) symbol.range = range;
  }
  if (operation.op == Op::Select) symbol.divisor = std::min(operands[1].divisor, operands[2].divisor);
}

}  // namespace samite::passes
