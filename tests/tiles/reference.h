// Arrays of the host and the expected results of tiles, in double.
#pragma once

#include "samite/samite.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace samite::test {

inline constexpr double not_written = std::numeric_limits<double>::quiet_NaN();

// Numbers that every type holds exactly, none of them zero.
inline std::vector<double> numbers(std::int64_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const int number = static_cast<int>(random() % 8) - 4;
    values.push_back((number >= 0 ? number + 1 : number) * 0.25);
  }
  return values;
}

template <class T>
std::vector<T> as(const std::vector<double> &values) {
  std::vector<T> converted;
  for (double value : values) converted.push_back(static_cast<T>(static_cast<float>(value)));
  return converted;
}
template <>
inline std::vector<double> as(const std::vector<double> &values) {
  return values;
}

template <class T>
Buffer<T> buffer(const Extents &extents, const std::vector<double> &values, Gradient gradient = Gradient::untracked) {
  if constexpr (FloatingScalar<T>)
    return Buffer<T>(test::device(), extents, as<T>(values), gradient);
  else
    return Buffer<T>(test::device(), extents, as<T>(values));
}
template <class T>
Buffer<T> poisoned(const Extents &extents, Gradient gradient = Gradient::untracked) {
  // Integers have no NaN: a number that occurs nowhere else here.
  const double poison = FloatingScalar<T> ? not_written : 93;
  return buffer<T>(extents, std::vector<double>(static_cast<std::size_t>(extents.count()), poison), gradient);
}

template <class T>
void expect_near(const Buffer<T> &actual, const std::vector<double> &expected, double tolerance) {
  const std::vector<T> values = actual.to_vector();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value =
        sizeof(T) == 2 ? static_cast<double>(static_cast<float>(values[i])) : static_cast<double>(values[i]);
    if (std::isinf(expected[i]))
      ASSERT_EQ(value, expected[i]) << "element " << i;
    else
      ASSERT_NEAR(value, expected[i], tolerance) << "element " << i;
  }
}

struct Matrix {
  std::int64_t rows, columns;
  std::vector<double> values;

  Matrix(std::int64_t rows, std::int64_t columns, unsigned seed)
      : rows(rows), columns(columns), values(numbers(rows * columns, seed)) {}
  Matrix(std::int64_t rows, std::int64_t columns, const std::function<double(std::int64_t, std::int64_t)> &element)
      : rows(rows), columns(columns) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) values.push_back(element(i, j));
  }
  double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
  Extents extents() const { return {rows, columns}; }
};

inline Matrix product(const Matrix &a, const Matrix &b) {
  return Matrix(a.rows, b.columns, [&](std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t k = 0; k < a.columns; ++k) sum += a(i, k) * b(k, j);
    return sum;
  });
}

inline Matrix turned(const Matrix &a) {
  return Matrix(a.columns, a.rows, [&](std::int64_t i, std::int64_t j) { return a(j, i); });
}

inline std::int64_t blocks(std::int64_t elements, std::int64_t tile) { return (elements + tile - 1) / tile; }

}  // namespace samite::test
