// The determinant of a matrix that is too large for a polynomial of its elements.
#pragma once

#include "samite/lang/algebra/matrix_functions.h"

namespace samite::lang {

// By Gaussian elimination with row exchanges. The gradient is right for regular matrices. For a singular one it is
// right if the rows other than the dependent one, in the order of the exchanges, are independent.
template <class T, int N>
T determinant_by_elimination(const Matrix<T, N, N> &matrix) {
  static_assert(FloatingComponent<T>, "the determinant of more than 6 rows is of floating elements");
  Matrix<T, N, N> m = matrix;
  T result = T(1);
  for (int k = 0; k < N; ++k) {
    // Moves the largest element of the column, among rows k and below, to row k.
    for (int i = k + 1; i < N; ++i) {
      const TruthOf<T> larger = component::abs(m(i, k)) > component::abs(m(k, k));
      for (int j = k; j < N; ++j) {
        T upper = component::select(larger, m(i, j), m(k, j));
        m(i, j) = component::select(larger, m(k, j), m(i, j));
        m(k, j) = std::move(upper);
      }
      result = component::select(larger, T(-result), result);
    }
    result = result * m(k, k);
    // If the column is zero, the factors are zero too.
    const T inverse = T(1) / component::select(m(k, k) == T(0), T(1), m(k, k));
    for (int i = k + 1; i < N; ++i) {
      const T factor = m(i, k) * inverse;
      for (int j = k + 1; j < N; ++j) m(i, j) = m(i, j) - factor * m(k, j);
    }
  }
  return result;
}

}  // namespace samite::lang
