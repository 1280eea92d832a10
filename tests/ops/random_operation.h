// Random launches of ready-made operations, and their expected results, computed in double.
//
// An operation is a list of launches over operands that are given as numbers. So it can be run on any device, and as
// text for a GPU on the host. Extents are 0, 1, odd, and around those of tiles; values are of one of several styles.
// The tolerance of each element follows from how the sums behind it are conditioned.
#pragma once

#include "samite/base/float8.h"
#include "samite/base/half.h"
#include "samite/ops/plan_device.h"
#include "samite/ops/planned_launch.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace samite::test::operations {

// Calls the function with a zero of this type.
template <class F>
auto with_type(ScalarType type, const F &function) {
  switch (type) {
    case ScalarType::Float8E4M3: return function(f8e4m3());
    case ScalarType::Float8E5M2: return function(f8e5m2());
    case ScalarType::Float16: return function(half());
    case ScalarType::BFloat16: return function(bfloat16());
    case ScalarType::Float32: return function(float());
    case ScalarType::Int32: return function(std::int32_t());
    default: return function(double());
  }
}

// The number that an element of this type holds, and the distance of 1 from the next one.
double held(ScalarType type, double value);
double epsilon_of(ScalarType type);
// The least positive number.
double least_of(ScalarType type);

struct Operand {
  std::string name;
  ScalarType type;
  std::vector<std::int64_t> extents;
  std::vector<double> values;
  bool written = false;

  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
};

// One kernel of an operation: which operands it is given, in order, a number after them, and integers after that.
struct Call {
  ops::PlannedLaunch planned;
  std::vector<std::size_t> operands;
  std::optional<double> number;
  std::vector<std::int32_t> integers{};

  ScalarType type_of_number() const {
    const auto &parameters = planned.kernel->parameters();
    return parameters[parameters.size() - 1 - integers.size()].type;
  }
};

struct Expected {
  std::size_t operand;
  std::vector<double> values, tolerances;  // NaN accepts any value
  std::int64_t addends = 1;                // that are summed up in each element, of a gradient
};

// For the first call of an operation: the gradients of its operands for those of its results.
struct Reversed {
  struct Cotangent {
    std::size_t operand;
    std::vector<double> values;
  };
  std::vector<Cotangent> cotangents;
  std::vector<Expected> gradients;
};

struct Operation {
  std::string text;
  std::vector<Operand> operands;
  std::function<std::vector<Call>(const ops::PlanDevice &)> calls;
  std::vector<Expected> expected;
  std::optional<Reversed> reversed{};  // if derivatives have digits to compare
  bool adds = false;                   // adds to its results, so that their previous values matter
};

// `most` is about how many elements the largest operand has.
Operation random_operation(std::uint32_t seed, std::int64_t most);
// A product of matrices whose rows are whole units of 16 bytes, so that bulk copies can read them.
Operation random_product_of_units(std::uint32_t seed, std::int64_t most);

// Empty if element k is as expected.
std::string difference(const Operand &operand, const Expected &expected, const std::vector<double> &actual);

}  // namespace samite::test::operations
