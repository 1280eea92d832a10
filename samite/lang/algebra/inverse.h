// Determinants and inverses of square matrices, 1×1 to 12×12.
//
// The determinant is a polynomial of the elements, and so has the right gradient everywhere: 4, 17, 52, 139 and 346
// operations for n = 2 … 6; of larger ones it is by elimination (lang/algebra/elimination.h). The inverse is by
// cofactors up to 4×4 (12, 45, 152), and by elimination with row exchanges (Gauss-Jordan with partial pivoting) from
// 5×5 on, 455 operations there and 801 for 6×6. The inverse of a singular matrix is infinities and not-a-numbers, as 1
// / 0 is.
#pragma once

#include "samite/lang/algebra/elimination.h"

namespace samite {
namespace lang {

// The determinants of the first |S| rows and the columns S, for each set S of columns, by expansion along the last row;
// that of all columns is the matrix's.
template <class T, int N>
T determinant_by_expansion(const Matrix<T, N, N> &m) {
  constexpr int sets = 1 << N;
  std::array<std::optional<T>, sets> minors;
  for (int set = 1; set < sets; ++set) {
    int row = -1;
    for (int column = 0; column < N; ++column) row += (set >> column) & 1;
    bool positive = row % 2 == 0;  // of the term of the first column in the set
    for (int column = 0; column < N; ++column) {
      const int bit = 1 << column;
      if (!(set & bit)) continue;
      auto &sum = minors[static_cast<std::size_t>(set)];
      if (row == 0) {
        sum.emplace(m(row, column));
      } else {
        const T term = m(row, column) * *minors[static_cast<std::size_t>(set ^ bit)];
        if (!sum)
          sum.emplace(positive ? T(term) : T(-term));
        else
          sum.emplace(positive ? T(*sum + term) : T(*sum - term));
      }
      positive = !positive;
    }
  }
  return *minors[sets - 1];
}

template <class T>
Matrix<T, 4, 4> inverse_by_minors(const Matrix<T, 4, 4> &m) {
  // 2×2 minors of the upper two rows and of the lower two, of columns (a, b).
  auto minor = [&](int row, int a, int b) { return T(m(row, a) * m(row + 1, b) - m(row, b) * m(row + 1, a)); };
  const Vector<T, 6> s{minor(0, 0, 1), minor(0, 0, 2), minor(0, 0, 3), minor(0, 1, 2), minor(0, 1, 3), minor(0, 2, 3)};
  const Vector<T, 6> c{minor(2, 0, 1), minor(2, 0, 2), minor(2, 0, 3), minor(2, 1, 2), minor(2, 1, 3), minor(2, 2, 3)};
  const T scale = T(1) / (s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0]);
  // Element (j, i) of the result is the signed minor without row i and column j.
  return Matrix<T, 4, 4>::generate([&](int j, int i) {
    const Vector<T, 6> &pairs = i < 2 ? c : s;
    const int row = i ^ 1;  // the other one of its two rows
    // The minor of columns (a, b), by its place among the six.
    auto pair = [&](int a, int b) { return pairs[a == 0 ? b - 1 : a + b]; };
    std::array<int, 3> k{};
    for (int column = 0, at = 0; column < 4; ++column)
      if (column != j) k[static_cast<std::size_t>(at++)] = column;
    const T cofactor =
        m(row, k[0]) * pair(k[1], k[2]) - m(row, k[1]) * pair(k[0], k[2]) + m(row, k[2]) * pair(k[0], k[1]);
    return (i + j) % 2 == 0 ? T(cofactor * scale) : T(-cofactor * scale);
  });
}

// Exchanges a and b where `condition` holds.
template <class T>
void exchange_where(const TruthOf<T> &condition, T &a, T &b) {
  T first = component::select(condition, b, a);
  b = component::select(condition, a, b);
  a = std::move(first);
}

template <class T, int N>
Matrix<T, N, N> inverse_by_elimination(const Matrix<T, N, N> &matrix) {
  Matrix<T, N, N> m = matrix;
  std::array<std::array<std::optional<TruthOf<T>>, N>, N> exchanged;
  auto flag = [&](int i, int k) -> std::optional<TruthOf<T>> & {
    return exchanged[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
  };
  for (int k = 0; k < N; ++k) {
    // The largest element of the column, of rows k and below, comes to row k.
    for (int i = k + 1; i < N; ++i) {
      flag(i, k).emplace(component::abs(m(i, k)) > component::abs(m(k, k)));
      for (int j = 0; j < N; ++j) exchange_where<T>(*flag(i, k), m(k, j), m(i, j));
    }
    // The row is scaled and subtracted from the others; the inverse grows in the column that has become a unit vector.
    const T pivot = T(1) / m(k, k);
    m(k, k) = pivot;
    for (int j = 0; j < N; ++j)
      if (j != k) m(k, j) = m(k, j) * pivot;
    for (int i = 0; i < N; ++i) {
      if (i == k) continue;
      const T factor = m(i, k);
      for (int j = 0; j < N; ++j)
        if (j != k) m(i, j) = m(i, j) - factor * m(k, j);
      m(i, k) = -factor * pivot;
    }
  }
  // An exchange of rows of the matrix is one of columns of its inverse.
  for (int k = N - 1; k >= 0; --k)
    for (int i = N - 1; i > k; --i)
      for (int j = 0; j < N; ++j) exchange_where<T>(*flag(i, k), m(j, k), m(j, i));
  return m;
}

}  // namespace lang

template <lang::MatrixValue A>
auto determinant(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == lang::columns_of<A>, "determinant is of a square matrix");
  return lang::with_matrix(a, where, []<class T, int N>(const Matrix<T, N, N> &m) {
    if constexpr (N <= 6)
      return lang::determinant_by_expansion(m);
    else
      return lang::determinant_by_elimination(m);
  });
}

template <lang::FloatingMatrix A>
auto inverse(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == lang::columns_of<A>, "inverse is of a square matrix");
  if constexpr (lang::rows_of<A> == lang::columns_of<A>) {
    return lang::with_matrix(a, where, []<class T, int N>(const Matrix<T, N, N> &m) {
      if constexpr (N == 1) {
        return Matrix<T, 1, 1>(T(1) / m(0, 0));
      } else if constexpr (N == 2) {
        const T scale = T(1) / (m(0, 0) * m(1, 1) - m(0, 1) * m(1, 0));
        return Matrix<T, 2, 2>(m(1, 1) * scale, -m(0, 1) * scale, -m(1, 0) * scale, m(0, 0) * scale);
      } else if constexpr (N == 3) {
        // The columns of the inverse are cross products of the rows.
        const Vector<T, 3> r0 = m.row(0), r1 = m.row(1), r2 = m.row(2);
        const Vector<T, 3> c0 = cross(r1, r2);
        const T scale = T(1) / dot(r0, c0);
        return Matrix<T, 3, 3>::from_columns({c0 * scale, cross(r2, r0) * scale, cross(r0, r1) * scale});
      } else if constexpr (N == 4) {
        return lang::inverse_by_minors(m);
      } else {
        return lang::inverse_by_elimination(m);
      }
    });
  }
}

}  // namespace samite
