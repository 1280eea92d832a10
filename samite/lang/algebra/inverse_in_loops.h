// The inverse of a matrix by loops of the kernel over a local array, for matrices so large that straight-line code
// would take seconds to compile. Its derivative is that of A ↦ A⁻¹, also in loops: the cotangent C becomes -A⁻ᵀ C A⁻ᵀ.
#pragma once

#include "samite/lang/algebra/matrix_functions.h"
#include "samite/lang/control.h"
#include "samite/lang/custom_adjoint.h"
#include "samite/lang/local_array.h"

namespace samite::lang {

// A square matrix in the instance's own memory, row by row. The kernel's loops select rows and columns, so that all
// lanes select the same ones.
template <Scalar T, int N>
class LocalMatrix {
 public:
  using Line = Vector<Traced<T>, N>;  // a row, or a column

  explicit LocalMatrix(SourceLocation where) : elements_(where) {}
  LocalMatrix(const Matrix<Traced<T>, N, N> &m, SourceLocation where) : elements_(where) {
    for (int i = 0; i < N * N; ++i) elements_(i) = m.begin()[i];
  }

  Element<T> operator()(const Int &row, const Int &column) { return elements_(row * N + column); }
  Line row(const Int &i) const {
    return Line::generate([&](int j) { return Traced<T>(elements_(i * N + j)); });
  }
  Line column(const Int &j) const {
    return Line::generate([&](int i) { return Traced<T>(elements_(j + i * N)); });
  }
  void set_row(const Int &i, const Line &line) {
    for (int j = 0; j < N; ++j) elements_(i * N + j) = line[j];
  }
  void set_column(const Int &j, const Line &line) {
    for (int i = 0; i < N; ++i) elements_(j + i * N) = line[i];
  }
  Matrix<Traced<T>, N, N> to_matrix() const {
    return Matrix<Traced<T>, N, N>::generate([&](int i, int j) { return Traced<T>(elements_(i * N + j)); });
  }

 private:
  LocalArray<T, N * N> elements_;
};

// By Gauss-Jordan elimination with partial pivoting, in place. Lanes that exchange different rows than their neighbours
// select among all rows.
template <Scalar T, int N>
Matrix<Traced<T>, N, N> eliminated_in_loops(const Matrix<Traced<T>, N, N> &matrix, SourceLocation where) {
  using Line = Vector<Traced<T>, N>;
  const auto with_component = [](const Line &line, const Int &k, T value) {
    return Line::generate([&](int j) { return Traced<T>(select(k == j, value, line[j])); });
  };
  LocalMatrix<T, N> m(matrix, where);
  LocalArray<std::int32_t, N> pivots(where);
  for (Int k : range(N, where)) {
    // Finds the largest element of the column, among rows k and below, for row k.
    Int pivot_row = k;
    Traced<T> pivot = m(k, k);
    const Line upper = m.row(k);
    Line row = upper;
    for (Int i : range(k + 1, N, where)) {
      const Traced<T> element = m(i, k);
      const Bool larger = abs(element) > abs(pivot);
      pivot = select(larger, element, pivot);
      pivot_row = select(larger, i, pivot_row);
      row = select(larger, m.row(i), row);
    }
    pivots(k) = pivot_row;
    // The row is scaled and subtracted from the others; the inverse grows in the column that has become a unit vector.
    const Line scaled = with_component(row, k, 1) * (T(1) / pivot), exchanged = with_component(upper, k, 0);
    const Traced<T> upper_factor = m(k, k);
    // No row above is the pivot's, so that those need no selection.
    for (Int i : range(k, where)) {
      const Traced<T> factor = m(i, k);
      m(i, k) = T(0);
      m.set_row(i, m.row(i) - factor * scaled);
    }
    for (Int i : range(k + 1, N, where)) {
      const Bool is_pivot = i == pivot_row;
      const Traced<T> factor = select(is_pivot, upper_factor, m(i, k));
      m(i, k) = T(0);
      m.set_row(i, select(is_pivot, exchanged, m.row(i)) - factor * scaled);
    }
    m.set_row(k, scaled);
  }
  // Exchanging rows of the matrix exchanges columns of its inverse.
  for (Int n : range(N, where)) {
    const Int k = N - 1 - n, pivot_row = pivots(k);
    const Line left = m.column(k);
    Line column = left;
    for (Int j : range(k + 1, N, where)) {
      const Bool is_pivot = j == pivot_row;
      const Line right = m.column(j);
      m.set_column(j, select(is_pivot, left, right));
      column = select(is_pivot, right, column);
    }
    m.set_column(k, column);
  }
  return m.to_matrix();
}

// -XᵀCXᵀ.
template <Scalar T, int N>
Matrix<Traced<T>, N, N> cotangent_of_inverted(const Matrix<Traced<T>, N, N> &inverse,
                                              const Matrix<Traced<T>, N, N> &cotangent, SourceLocation where) {
  using Line = Vector<Traced<T>, N>;
  LocalMatrix<T, N> x(inverse, where), c(cotangent, where);
  // Row i of CXᵀ replaces that of C.
  for (Int i : range(N, where)) {
    Line sum(where);
    for (Int k : range(N, where)) sum += c(i, k) * x.column(k);
    c.set_row(i, sum);
  }
  LocalMatrix<T, N> result(where);
  for (Int i : range(N, where)) {
    Line sum(where);
    for (Int k : range(N, where)) sum -= x(k, i) * c.row(k);
    result.set_row(i, sum);
  }
  return result.to_matrix();
}

// For elements of any magnitude, if those of the inverse are finite. Elements of 16 bits are inverted in 32.
template <Scalar T, int N>
Matrix<Traced<T>, N, N> inverse_in_loops(const Matrix<Traced<T>, N, N> &matrix, SourceLocation where) {
  using M = Matrix<Traced<T>, N, N>;
  if constexpr (std::floating_point<T>) {
    const auto inverse = custom_adjoint(
        [where](M m) {
          const Traced<T> size = magnitude(m);
          return M(eliminated_in_loops(over_size(m, size), where) / size);
        },
        [where](M, M inverted, M cotangent) { return cotangent_of_inverted(inverted, cotangent, where); });
    return inverse(matrix, where);
  } else {
    const auto wide = Matrix<Float, N, N>::generate([&](int i, int j) { return samite::cast<Float>(matrix(i, j)); });
    const Matrix<Float, N, N> inverted = inverse_in_loops(wide, where);
    return M::generate([&](int i, int j) { return samite::cast<Traced<T>>(inverted(i, j)); });
  }
}

}  // namespace samite::lang
