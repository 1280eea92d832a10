// The rules of passes/index_forms.h: how the form of an operation's result follows from the forms of its operands.
#pragma once

#include "samite/ir/stmt.h"
#include "samite/passes/index_forms.h"

#include <functional>
#include <optional>
#include <span>

namespace samite::passes {

struct IndexRule {
  // Of the operands' forms, in their order.
  std::function<Affine(std::span<const Affine>)> form;
  // Where the result lies, unless the operation itself wraps.
  Range range{};
  // How many low bits of the operands have to be right. 0: a sum or product, which may wrap, and has as many right low
  // bits as its operands have; the others do not wrap.
  int needed_bits = IndexForm::all_bits;
  // A power of two that the result is a multiple of, as the operands' divisors tell.
  std::int64_t divisor = 1;
  // Whether it holds of numbers that have wrapped, too.
  bool always = true;
};

// Nothing where the result is a symbol of its own. `range_of` gives the range of a form if nothing wraps.
std::optional<IndexRule> index_rule(const ir::Operation &operation, std::span<const IndexForm> operands,
                                    const std::function<Range(const Affine &)> &range_of);

// What is known of such a symbol from its operands: its range and its divisor.
void describe_symbol(IndexForm &symbol, const ir::Operation &operation, std::span<const IndexForm> operands);

// An integer, no tile of them.
bool is_index(const ir::Type &type);
bool is_unsigned(const ir::Type &type);
int width(const ir::Type &type);  // bits
Range range_of_type(const ir::Type &type);
// Whether a type has all these numbers. A range without a bound is in no type.
bool holds(const ir::Type &type, const Range &range);
std::int64_t power_of_two_in(std::int64_t number);
// The divisor of a sum or product, which is a power of two up to 2^61.
std::int64_t product_of_divisors(std::int64_t a, std::int64_t b);

}  // namespace samite::passes
