// The rules of passes/analysis/index_forms.h: how the form of an operation's result follows from the forms of its
// operands.
#pragma once

#include "samite/ir/stmt.h"
#include "samite/passes/analysis/index_forms.h"

#include <functional>
#include <optional>
#include <span>

namespace samite::passes {

struct IndexRule {
  // For the operands' forms, in order.
  std::function<Affine(std::span<const Affine>)> form;
  // The range of the result, unless the operation itself wraps.
  Range range{};
  // The number of the operands' low bits that must be correct. 0: a sum or product, which may wrap, and has as many
  // correct low bits as its operands; others do not wrap.
  int needed_bits = IndexForm::all_bits;
  // A power of two that divides the result, from the operands' divisors.
  std::int64_t divisor = 1;
  // Whether it also holds for numbers that have wrapped.
  bool always = true;
};

// Empty if the result is a new symbol. `range_of` returns the range of a form if nothing wraps.
std::optional<IndexRule> index_rule(const ir::Operation &operation, std::span<const IndexForm> operands,
                                    const std::function<Range(const Affine &)> &range_of);

// The facts about such a symbol that follow from its operands: its range and its divisor.
void describe_symbol(IndexForm &symbol, const ir::Operation &operation, std::span<const IndexForm> operands);

// An integer that is not a tile.
bool is_index(const ir::Type &type);
bool is_unsigned(const ir::Type &type);
int width(const ir::Type &type);  // bits
Range range_of_type(const ir::Type &type);
// Whether a type contains all these numbers. An unbounded range is in no type.
bool holds(const ir::Type &type, const Range &range);
std::int64_t power_of_two_in(std::int64_t number);
// The divisor of a sum or product, which is a power of two up to 2^61.
std::int64_t product_of_divisors(std::int64_t a, std::int64_t b);

}  // namespace samite::passes
