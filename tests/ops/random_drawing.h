// How random operations (tests/ops/random_operation.h) are drawn, and the ones that are in files of their own.
#pragma once

#include "tests/ops/random_operation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace samite::test::operations {

inline ScalarType type_of_sums(ScalarType type) { return type == ScalarType::Float64 ? type : ScalarType::Float32; }

enum class Style { usual, constant, far, tiny, large, with_infinities, with_nan };
inline constexpr const char *style_names[] = {"usual", "constant",        "far from zero", "tiny",
                                              "large", "with infinities", "with NaN"};

class Drawing {
 public:
  // `unit`: extents are multiples of it, and there are as few elements as there are without it.
  Drawing(std::uint32_t seed, std::int64_t most, std::int64_t unit = 1) : random_(seed), most_(most), unit_(unit) {}

  int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool one_in(int count) { return below(count) == 0; }
  double between(double low, double high) { return low + (high - low) * (random_() / 4294967295.0); }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }

  // Near the extents of tiles.
  std::int64_t extent(std::int64_t largest) {
    const std::int64_t drawn =
        one_of<std::int64_t>({1, 1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 129, 255, 257, 600});
    const std::int64_t most = one_in(30) ? 0 : std::min(drawn, std::max<std::int64_t>(largest, 1));
    return (most + unit_ - 1) / unit_ * unit_;
  }
  // The length of a row; sometimes so long that it is processed in parts.
  std::int64_t length() { return one_in(6) ? one_of<std::int64_t>({2049, 4096, 8193}) : extent(most_); }

  std::vector<double> values(ScalarType type, std::int64_t count, Style style) {
    std::vector<double> values;
    const double constant = between(-2000, 2000), mean = one_of({1e3, -3e4, 123456.0});
    for (std::int64_t k = 0; k < count; ++k) {
      double value = between(-1, 1);
      switch (style) {
        case Style::usual: break;
        case Style::constant: value = constant; break;
        case Style::far: value = (type == ScalarType::Float16 ? 1e3 : mean) + value; break;
        case Style::tiny: value = one_in(3) ? 0 : std::round(value * 40) * least_of(type); break;
        case Style::large: value *= type == ScalarType::Float16 ? 6e4 : 1e30; break;
        case Style::with_infinities:
          if (one_in(40)) value = std::copysign(std::numeric_limits<double>::infinity(), value);
          break;
        case Style::with_nan:
          if (one_in(60)) value = std::numeric_limits<double>::quiet_NaN();
          break;
      }
      values.push_back(held(type, value));
    }
    return values;
  }

 private:
  std::mt19937 random_;
  std::int64_t most_, unit_;
};

// Builds an operation: operands, then the expected values of written ones.
struct Building {
  Operation made;

  std::size_t reads(std::string name, ScalarType type, std::vector<std::int64_t> extents, std::vector<double> values) {
    made.operands.push_back({std::move(name), type, std::move(extents), std::move(values), false});
    return made.operands.size() - 1;
  }
  // Has another number in each element before it is written.
  std::size_t writes(std::string name, ScalarType type, std::vector<std::int64_t> extents, double before = 77) {
    std::int64_t count = 1;
    for (const std::int64_t extent : extents) count *= extent;
    made.operands.push_back({std::move(name), type, std::move(extents),
                             std::vector<double>(static_cast<std::size_t>(count), held(type, before)), true});
    return made.operands.size() - 1;
  }
  void expect(std::size_t operand, std::vector<double> values, std::vector<double> tolerances) {
    made.expected.push_back({operand, std::move(values), std::move(tolerances)});
  }
  const std::vector<double> &of(std::size_t operand) const { return made.operands[operand].values; }
  // For a written operand: its gradient.
  void reverse(std::size_t operand, std::vector<double> cotangent) {
    if (!made.reversed) made.reversed.emplace();
    made.reversed->cotangents.push_back({operand, std::move(cotangent)});
  }
  void gradient(std::size_t operand, std::vector<double> values, std::vector<double> tolerances,
                std::int64_t addends = 1) {
    made.reversed->gradients.push_back({operand, std::move(values), std::move(tolerances), addends});
  }
};

struct Row {
  const double *begin;
  std::int64_t count;
  double operator[](std::int64_t j) const { return begin[j]; }
};
inline Row row(const std::vector<double> &values, std::int64_t i, std::int64_t columns) {
  return {values.data() + i * columns, columns};
}

// One row, corrected for the mean's own rounding.
struct Normalised {
  std::vector<double> values;
  double inverse, error;  // of an element, for one rounding

  Normalised(const Row &x, double epsilon) {
    const auto n = static_cast<double>(x.count);
    double mean = 0, left = 0, variance = 0;
    for (std::int64_t j = 0; j < x.count; ++j) mean += x[j];
    mean /= n;
    for (std::int64_t j = 0; j < x.count; ++j) left += x[j] - mean;
    left /= n;
    for (std::int64_t j = 0; j < x.count; ++j) variance += (x[j] - mean - left) * (x[j] - mean - left) / n;
    inverse = 1 / std::sqrt(variance + epsilon);
    for (std::int64_t j = 0; j < x.count; ++j) values.push_back((x[j] - mean - left) * inverse);
    error = x.count == 0 ? 0 : (std::sqrt(variance) + std::abs(x[0] - mean)) * inverse;
  }
};

// In tests/ops/random_layers.cpp.
Operation rms_norm(Drawing &draw);
Operation cross_entropy(Drawing &draw);
Operation rotary(Drawing &draw);
Operation group_norm(Drawing &draw);
// In tests/ops/random_convolution.cpp.
Operation convolution(Drawing &draw);
// In tests/ops/random_attention.cpp.
Operation masked_attention(Drawing &draw);

}  // namespace samite::test::operations
