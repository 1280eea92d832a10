// Operations on numbers and tiles, in doubles, each with its derivative along a direction: all that an interpreter of
// tile kernels needs.
//
// If `noise` is set, each result that its type cannot represent is rounded randomly to a number near it. Integers are
// exact. It does not optimise, and shares no code with the library's own.
#pragma once

#include "samite/ir/tile_rules.h"
#include "tests/passes/scalar_operations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace samite::test::tiles {

using ir::Op;

struct Element {
  double value = 0, derivative = 0;
  std::int64_t integer = 0;
};

struct TileValue {
  ir::Type type = ScalarType::Bool;
  std::vector<Element> elements;
};

// Row by row. One without extents is a number.
struct TileArray {
  ScalarType type;
  std::vector<std::int64_t> extents;
  std::vector<Element> elements;
};

class TileOperations {
 public:
  // `noise`: a seed; `loudness` how many halves of a last digit a result is off at most; 0: it is the nearest number,
  // so that numbers near each other are often the same.
  explicit TileOperations(std::optional<unsigned> noise = {}, double loudness = 1.5)
      : noisy_(noise.has_value()), loudness_(loudness), noise_(noise.value_or(0)) {}

 protected:
  using Shape = std::vector<std::int64_t>;

  static Shape shape_of(const ir::Type &type) {
    const ir::TileShape shape = type.shape();
    return {shape.begin(), shape.end()};
  }
  static std::size_t size_of_type(const ir::Type &type) { return static_cast<std::size_t>(type.count()); }
  static TileValue zero(const ir::Type &type) { return {type, std::vector<Element>(size_of_type(type))}; }

  // Calls `visit(e, index)` for each element of these extents, row by row.
  template <class F>
  static void for_each_index(const Shape &extents, F &&visit) {
    Shape index(extents.size(), 0);
    std::size_t count = 1;
    for (const std::int64_t extent : extents) count *= static_cast<std::size_t>(extent);
    for (std::size_t e = 0; e < count; ++e) {
      visit(e, index);
      for (std::size_t d = extents.size(); d-- > 0 && ++index[d] == extents[d];) index[d] = 0;
    }
  }
  // The place of an element; empty if it does not exist.
  static std::optional<std::size_t> place(const Shape &extents, const Shape &index) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      if (index[d] < 0 || index[d] >= extents[d]) return std::nullopt;
      at = at * extents[d] + index[d];
    }
    return static_cast<std::size_t>(at);
  }

  static Element constant(const ir::Value &value) {
    if (is_floating(value.type().element())) return {value.as_double(), 0, 0};
    return {0, 0, static_cast<std::int64_t>(value.bits())};
  }

  static double last_digit(ScalarType type) {
    switch (type) {
      case ScalarType::Float16: return 0x1p-11;
      case ScalarType::BFloat16: return 0x1p-8;
      case ScalarType::Float32: return 0x1p-24;
      case ScalarType::Float64: return 0x1p-53;
      default: return 0x1p-4;
    }
  }
  static double nearest(ScalarType type, double value) {
    switch (type) {
      case ScalarType::Float16: return static_cast<double>(static_cast<float>(half(static_cast<float>(value))));
      case ScalarType::BFloat16: return static_cast<double>(static_cast<float>(bfloat16(static_cast<float>(value))));
      case ScalarType::Float8E4M3: return static_cast<double>(static_cast<float>(f8e4m3(value)));
      case ScalarType::Float8E5M2: return static_cast<double>(static_cast<float>(f8e5m2(value)));
      default: return static_cast<double>(static_cast<float>(value));
    }
  }
  // A double that took few digits has taken no rounding.
  static bool holds(ScalarType type, double value) { return nearest(type, value) == value; }
  // `digits`: in which a function may be off.
  Element rounded(ScalarType type, Element element, double digits = 1) {
    if (!noisy_ || !is_floating(type) || !std::isfinite(element.value)) return element;
    if (digits == 1 && holds(type, element.value)) return element;
    if (loudness_ == 0) {
      if (type != ScalarType::Float64) element.value = nearest(type, element.value);
      return element;
    }
    const double smallest = type == ScalarType::Float16 ? 0x1p-14 : 0;
    element.value += digits * off(type) * std::max(std::fabs(element.value), smallest);
    return element;
  }
  // A number from within the rounding of 1.
  double off(ScalarType type) {
    return std::uniform_real_distribution<double>(-loudness_, loudness_)(noise_) * last_digit(type);
  }
  // A constant of size 1 that is off, whatever its value.
  Element inexact(ScalarType type, Element element) {
    if (noisy_) element.value += off(type);
    return element;
  }
  // The terms of a sum that may be added up in any order: one order may round where another one does not.
  class Terms {
   public:
    void add(double term) {
      if (term == 0 || !std::isfinite(term)) return;
      size_ += std::fabs(term);
      int exponent = 0;
      const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(term, &exponent), 53));
      finest_ = std::min(finest_, exponent - 53 + std::countr_zero(static_cast<std::uint64_t>(digits)));
    }
    void multiply(double factor) {
      if (factor == 0) *this = {};
      size_ *= std::fabs(factor);
      int exponent = 0;
      const bool power_of_two = std::fabs(std::frexp(factor, &exponent)) == 0.5;
      finest_ = power_of_two ? finest_ + exponent - 1 : -2200;  // else nothing is exact
    }
    // The sum of the absolute values.
    double size() const { return size_; }
    bool are_exact(ScalarType type) const {
      return size_ == 0 || size_ <= std::ldexp(1, finest_ + (size_of(type) == 8 ? 53 : 24));
    }

   private:
    double size_ = 0;
    int finest_ = 1100;
  };
  Element in_any_order(ScalarType type, const Terms &terms, Element sum) {
    if (noisy_ && is_floating(type) && !terms.are_exact(accumulator(type)) && std::isfinite(sum.value))
      sum.value += off(accumulator(type)) * terms.size();
    return sum;
  }

  // One step of such a sum, among others that are not known.
  Element added_in_any_order(ScalarType type, Element sum, Element term) {
    const double most = std::max({std::fabs(sum.value), std::fabs(term.value), std::fabs(sum.value + term.value)});
    sum = add(sum, term);
    if (noisy_ && std::isfinite(most)) sum.value += off(type) * most;
    return sum;
  }

  // The type in which sums of this type are accumulated.
  static ScalarType accumulator(ScalarType type) {
    return is_floating(type) && size_of(type) <= 2 ? ScalarType::Float32 : type;
  }

  static Element add(Element a, Element b) { return {a.value + b.value, a.derivative + b.derivative, 0}; }
  static Element multiply(Element a, Element b) {
    return {a.value * b.value, a.derivative * b.value + a.value * b.derivative, 0};
  }
  static Element divide(Element a, Element b) {
    const double quotient = a.value / b.value;
    return {quotient, (a.derivative - quotient * b.derivative) / b.value, 0};
  }
  static Element root(Element a) {
    const double value = std::sqrt(a.value);
    return {value, a.derivative / (2 * value), 0};
  }

  static bool compare(Op op, ScalarType type, Element a, Element b) {
    if (is_floating(type)) return scalar_rules::comparison(op, a.value, b.value);
    if (type == ScalarType::UInt64)
      return scalar_rules::comparison(op, static_cast<std::uint64_t>(a.integer), static_cast<std::uint64_t>(b.integer));
    return scalar_rules::comparison(op, a.integer, b.integer);
  }

  static Element of_integers(Op op, ScalarType type, Element a, Element b);

  static Element of_floats(Op op, Element a, Element b);
  static bool is_function(Op op) { return (op > Op::Sqrt && op <= Op::Fmod) || op == Op::Lgamma || op == Op::Digamma; }

  static Element cast(ScalarType to, ScalarType from, Element x);

  // One step of a reduction or a scan.
  Element combined(Op op, ScalarType type, Element a, Element b) {
    if (!is_floating(type)) return of_integers(op, type, a, b);
    return rounded(accumulator(type), of_floats(op, a, b));
  }
  static Op combination(Op op) {
    switch (op) {
      case Op::ReduceAdd:
      case Op::ScanAdd: return Op::Add;
      case Op::ReduceMul:
      case Op::ScanMul: return Op::Mul;
      case Op::ReduceMin:
      case Op::ScanMin: return Op::Min;
      default: return Op::Max;
    }
  }
  // The neutral element of the operation that a reduction or a scan repeats.
  static Element neutral(Op op, ScalarType type);

  TileValue reduce(const ir::Operation &operation, const TileValue &x);

  TileValue scan(const ir::Operation &operation, const TileValue &x, const TileValue *b);

  TileValue matmul(const ir::Operation &operation, const TileValue &a, const TileValue &b, const TileValue &c);

  TileValue cholesky(const TileValue &a);

  TileValue solve(const ir::Operation &operation, const TileValue &a, const TileValue &b);

  static TileValue sort_order(const ir::Operation &operation, const TileValue &x);

  // `put` adds where a take would read.
  TileValue moved(const ir::Operation &operation, const TileValue &x, const TileValue &places, bool put);

  TileValue fourier(const ir::Operation &operation, const TileValue &x);

  // One element of an element-wise operation, from one element of each operand.
  Element of_elements(Op op, ir::Typing typing, ScalarType type, ScalarType from, const Element *const *x) {
    switch (typing) {
      case ir::Typing::Copy: return *x[0];
      case ir::Typing::Compare: return {0, 0, compare(op, from, *x[0], *x[1]) ? 1 : 0};
      case ir::Typing::Select: return *x[x[0]->integer != 0 ? 1 : 2];
      case ir::Typing::Cast: return rounded(type, cast(type, from, *x[0]));
      default:
        if (op == Op::Fma) return rounded(type, add(multiply(*x[0], *x[1]), *x[2]));
        return is_floating(type) ? rounded(type, of_floats(op, *x[0], *x[1]), is_function(op) ? 4 : 1)
                                 : of_integers(op, type, *x[0], *x[1]);
    }
  }
  static bool by_elements(ir::Typing typing) { return typing <= ir::Typing::Copy; }

  // An operation of whole tiles, which a call in the lowered form makes too; none of any other. `x` are its operands.
  std::optional<TileValue> of_tiles(const ir::Operation &operation, const std::vector<TileValue> &x);

 private:
  bool noisy_;
  double loudness_;
  std::mt19937 noise_;
};

}  // namespace samite::test::tiles
