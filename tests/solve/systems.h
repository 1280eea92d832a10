// Small sparse systems, and the same as dense numbers of the host.
#pragma once

#include "samite/samite.h"
#include "samite/solve.h"
#include "tests/runtime/test_device.h"

#include <cmath>
#include <random>
#include <vector>

namespace samite::test::systems {

using Numbers = std::vector<double>;

struct Dense {
  std::size_t rows, columns;
  Numbers values;

  Dense(std::size_t rows, std::size_t columns) : rows(rows), columns(columns), values(rows * columns) {}
  double &at(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

inline Numbers product(const Dense &a, const Numbers &x) {
  Numbers y(a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) y[i] += a.at(i, j) * x[j];
  return y;
}

inline Dense transposed(const Dense &a) {
  Dense t(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  return t;
}

// By elimination with the largest pivot.
inline Numbers solution(Dense a, Numbers b) {
  const std::size_t n = a.rows;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::abs(a.at(i, k)) > std::abs(a.at(pivot, k))) pivot = i;
    for (std::size_t j = 0; j < n; ++j) std::swap(a.at(k, j), a.at(pivot, j));
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a.at(i, k) / a.at(k, k);
      for (std::size_t j = k; j < n; ++j) a.at(i, j) -= factor * a.at(k, j);
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a.at(k, j) * b[j];
    b[k] /= a.at(k, k);
  }
  return b;
}

inline double uniform(std::mt19937 &random, double from = -1, double to = 1) {
  return from + (to - from) * (static_cast<double>(random()) / 4294967296.0);
}

// Random numbers at random places, some rows empty; if `diagonal` is not 0, it is added to the diagonal.
inline Dense random_dense(std::size_t rows, std::size_t columns, double density, double diagonal, unsigned seed) {
  std::mt19937 random(seed);
  Dense a(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const double number = uniform(random);
      if (uniform(random, 0, 1) < density) a.at(i, j) = number;
      if (i == j) a.at(i, j) += diagonal;
    }
  return a;
}

inline Dense symmetric(const Dense &a) {
  Dense s = a;
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < a.columns; ++j) s.at(i, j) = (a.at(i, j) + a.at(j, i)) / 2;
  return s;
}

inline Numbers random_numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Numbers numbers(count);
  for (double &number : numbers) number = uniform(random);
  return numbers;
}

// The nonzero numbers, as blocks if `block` is larger than one number.
template <class T = double>
solvers::SparseMatrix sparse(const Dense &a, solvers::BlockExtents block = {}, Gradient gradient = Gradient::tracked) {
  const Device device = test::device();
  const auto r = static_cast<std::size_t>(block.rows), c = static_cast<std::size_t>(block.columns);
  std::vector<std::int32_t> offsets{0}, indices;
  std::vector<T> values;
  for (std::size_t i = 0; i < a.rows / r; ++i) {
    for (std::size_t j = 0; j < a.columns / c; ++j) {
      std::vector<T> numbers;
      bool any = false;
      for (std::size_t k = 0; k < r * c; ++k) {
        numbers.push_back(static_cast<T>(a.at(i * r + k / c, j * c + k % c)));
        any = any || numbers.back() != T(0);
      }
      if (!any) continue;
      indices.push_back(static_cast<std::int32_t>(j));
      values.insert(values.end(), numbers.begin(), numbers.end());
    }
    offsets.push_back(static_cast<std::int32_t>(indices.size()));
  }
  const Extents extents = r * c == 1 ? Extents{indices.size()} : Extents{indices.size(), r, c};
  return {static_cast<std::int64_t>(a.rows), static_cast<std::int64_t>(a.columns),
          Buffer<std::int32_t>(device, {offsets.size()}, offsets),
          Buffer<std::int32_t>(device, {indices.size()}, indices), Buffer<T>(device, extents, values, gradient)};
}

inline Buffer<double> on_device(const Numbers &numbers, Gradient gradient = Gradient::tracked) {
  return Buffer<double>(test::device(), {numbers.size()}, numbers, gradient);
}

// Tridiagonal: `diagonal` on the diagonal, -1 next to it.
inline Dense tridiagonal(std::size_t n, double diagonal) {
  Dense a(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    a.at(i, i) = diagonal;
    if (i > 0) a.at(i, i - 1) = a.at(i - 1, i) = -1;
  }
  return a;
}

}  // namespace samite::test::systems
