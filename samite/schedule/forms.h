// Describes the integers of a definition and their bounds.
//
// An integer is an affine form (passes/analysis/affine.h) of the definition's variables, of parameters and of extents,
// if it can be written as one. Otherwise its interval may still be known: for a minimum or maximum, for a selection, or
// for a type with few values.
#pragma once

#include "samite/passes/analysis/interval.h"
#include "samite/schedule/algorithm.h"

#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace samite::schedules {

// The interval of each variable of a definition, by its local.
using Environment = std::map<ir::LocalId, passes::Interval>;

// A part of a definition as a function of integers, which replace the locals `of`.
struct IntegerFunction {
  ir::Block body;  // `Let`s alone
  std::vector<ir::LocalId> of;
  ir::Value result;  // an integer

  friend bool operator==(const IntegerFunction &a, const IntegerFunction &b);
};

// The result of an operation on integers that is not an affine form: a product, a quotient or a remainder by a number
// that is not constant, or a function's result.
struct Derived {
  ir::Op op;
  std::vector<passes::Affine> operands;
  passes::Interval range;
  std::shared_ptr<const IntegerFunction> function = nullptr;  // replaces the operation
};
// Names such a result with a symbol, the same one for the same operands.
using Derive = std::function<passes::Affine(const Derived &)>;

class Forms {
 public:
  // `promises`: the array that represents them, as in Algorithm.
  explicit Forms(const ir::Block &body, std::optional<std::uint32_t> promises = {});

  // Unknown if it is no integer, or no form.
  passes::Affine form(const ir::Value &value) const;
  // `of` gives the intervals of the symbols in the environment's bounds. Without `derive`, bounds that are no forms are
  // unknown.
  passes::Interval interval(const ir::Value &value, const Environment &environment, const passes::RangeOfSymbol &of,
                            const Derive &derive = {}) const;
  // Whether the value contains a remainder. A short piece may be known not to wrap around only because its begin is
  // known; then the interval of a part may be wider than that of the whole.
  bool has_remainder(const ir::Value &value) const;
  // The operation whose result the local is; null for a variable.
  const ir::Operation *operation(const ir::Value &value) const;
  // The range of a floating number for any values of the integers that it is computed from: clamps limit it.
  struct FloatingRange {
    double lower, upper;  // infinite if nothing is known
  };
  FloatingRange floating(const ir::Value &value) const;

 private:
  passes::Affine made(const ir::Operation &operation) const;
  std::optional<IntegerFunction> function_of_launch(const ir::Value &value) const;
  std::optional<IntegerFunction> function_of_integer(const ir::Value &value) const;
  passes::Interval of_float(const ir::Value &cast, const Environment &environment, const passes::RangeOfSymbol &of,
                            const Derive &derive) const;
  passes::Interval interval_of(const ir::Value &value, const ir::Operation &operation, const Environment &environment,
                               const passes::RangeOfSymbol &of, const Derive &derive) const;

  std::unordered_map<ir::LocalId, const ir::Let *> lets_;
  std::unordered_map<ir::LocalId, passes::Affine> forms_;
  std::optional<std::uint32_t> promises_;
};

// The interval of a form over the intervals of its variables.
passes::Interval over_all(const passes::Affine &form, const Environment &environment);

// The least constant that is known to be no less than the form (`at_least`: the greatest that is no greater); nothing
// if none is known. Terms are combined: least(4*x + 3, n) - 4*x is at most 3.
std::optional<std::int64_t> at_most(const passes::Affine &form, const passes::RangeOfSymbol &of);
std::optional<std::int64_t> at_least(const passes::Affine &form, const passes::RangeOfSymbol &of);

}  // namespace samite::schedules
