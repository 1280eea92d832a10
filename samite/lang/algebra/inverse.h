// Determinants, inverses and solutions of square matrices, 1×1 to 12×12.
//
// Up to 6×6 the determinant is a polynomial of the elements, so that its gradient is right everywhere; larger
// determinants use elimination (lang/algebra/elimination.h). The inverse uses cofactors up to 4×4, and elimination with
// row exchanges (Gauss-Jordan with partial pivoting) from 5×5 on, in loops of the kernel from 9×9 on
// (lang/algebra/inverse_in_loops.h). If products of elements leave the range of their type although the result does
// not, a branch computes it another way: the determinant after scaling rows and columns to one size, the inverse by
// elimination of the scaled matrix. The inverse of a singular matrix consists of infinities and NaNs, like 1 / 0.
//
// For n = 2 … 6 the determinant takes 124, 243, 452, 841 and 1614 operations in the IR with that branch, and 4, 17, 52,
// 139 and 346 without it, not counting the condition; the inverse takes 78, 228, 563, 612 and 1024.
#pragma once

#include "samite/lang/algebra/elimination.h"
#include "samite/lang/algebra/inverse_in_loops.h"

namespace samite {
namespace lang {

// The determinants of the first |S| rows and the columns S, for each set S of columns, by expansion along the last row;
// the set of all columns gives the determinant of the matrix.
template <class T, int N>
T determinant_by_expansion(const Matrix<T, N, N> &m) {
  constexpr int sets = 1 << N;
  std::array<std::optional<T>, sets> minors;
  for (int set = 1; set < sets; ++set) {
    int row = -1;
    for (int column = 0; column < N; ++column) row += (set >> column) & 1;
    bool positive = row % 2 == 0;  // sign of the term of the first column in the set
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

// Whether products of the matrix's elements, and quotients by its determinant, keep full precision. A product that
// underflows is off by less than the smallest number times a power of the largest element: within these bounds that is
// less than the rounding error of the determinant.
template <class T, int N>
TruthOf<T> is_moderate(const Matrix<T, N, N> &m, const T &determinant) {
  using Number = typename ComponentOf<T>::Scalar;
  constexpr bool wide = std::same_as<Number, double>, narrow = std::same_as<Number, half>;
  constexpr double least = wide ? 0x1p-700 : narrow ? 0x1p-8 : 0x1p-76;
  constexpr int bits = (wide ? 60 : narrow ? 6 : 46) / (N - 1);
  constexpr auto most = static_cast<double>(std::int64_t{1} << bits);
  // The root of the sum of squares bounds every element, and takes half the time of finding the largest one.
  T squares = m(0, 0) * m(0, 0);
  for (int i = 1; i < N * N; ++i) squares = squares + m.begin()[i] * m.begin()[i];
  return squares <= T(most * most) && component::abs(determinant) >= T(least);
}

// A matrix after scaling its rows, and then its columns, to one size, and the factor that its determinant must be
// multiplied by. The scaled determinant is close to 1 unless the determinant is too large for the type, so that
// derivatives have the range of the cofactors.
template <class T, int N>
struct Balanced {
  Matrix<T, N, N> matrix;
  std::array<T, 4> factors{T(1), T(1), T(1), T(1)};

  explicit Balanced(const Matrix<T, N, N> &m) : matrix(m) {
    constexpr double most = std::same_as<typename ComponentOf<T>::Scalar, double> ? 900 / N : 100 / N;
    for (bool rows : {true, false}) {
      const auto element = [&](int i, int k) -> T & { return rows ? matrix(i, k) : matrix(k, i); };
      const auto exponents = Vector<T, N>::generate([&](int i) {
        const auto line = Matrix<T, 1, N>::generate([&](int, int k) { return T(element(i, k)); });
        return component::floor(component::log2(magnitude(line)));
      });
      const T total = sum(exponents), mean = component::floor(total * T(1.0 / N));
      const T common = rows ? T(mean) : component::min(mean, T(most));
      // Each scaling takes two steps, by powers of two that the type can represent.
      const auto powers = [](const T &exponent) {
        const T part = component::floor(exponent * T(0.5));
        return std::array<T, 2>{component::exp2(part), component::exp2(T(exponent - part))};
      };
      for (int i = 0; i < N; ++i) {
        const auto [first, second] = powers(common - exponents[i]);
        for (int k = 0; k < N; ++k) element(i, k) = element(i, k) * first * second;
      }
      const auto [first, second] = powers(total - common * T(N));
      factors[rows ? 0 : 2] = first;
      factors[rows ? 1 : 3] = second;
    }
  }
  T determinant() const { return determinant_by_expansion(matrix) * factors[0] * factors[1] * factors[2] * factors[3]; }
};

template <class T, int N>
T determinant_of(const Matrix<T, N, N> &m, SourceLocation where) {
  if constexpr (FloatingComponent<T> && N > 1) {
    T determinant(0);
    either(
        is_moderate(m, determinant_by_expansion(stop_gradient(m))), where,
        [&] { determinant = determinant_by_expansion(m); }, [&] { determinant = Balanced<T, N>(m).determinant(); });
    return determinant;
  } else {
    return determinant_by_expansion(m);
  }
}

// The determinant as inverse_by_cofactors() computes it, so that the two share one computation.
template <class T>
T determinant_for_inverse(const Matrix<T, 2, 2> &m) {
  return m(0, 0) * m(1, 1) - m(0, 1) * m(1, 0);
}
template <class T>
T determinant_for_inverse(const Matrix<T, 3, 3> &m) {
  return dot(m.row(0), cross(m.row(1), m.row(2)));
}

// The 2×2 minors of two rows, of columns (0, 1), (0, 2), (0, 3), (1, 2), (1, 3) and (2, 3).
template <class T>
Vector<T, 6> minors_of_rows(const Matrix<T, 4, 4> &m, int row) {
  auto minor = [&](int a, int b) { return T(m(row, a) * m(row + 1, b) - m(row, b) * m(row + 1, a)); };
  return {minor(0, 1), minor(0, 2), minor(0, 3), minor(1, 2), minor(1, 3), minor(2, 3)};
}
template <class T>
T determinant_for_inverse(const Matrix<T, 4, 4> &m) {
  const Vector<T, 6> s = minors_of_rows(m, 0), c = minors_of_rows(m, 2);
  return s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0];
}

template <class T>
Matrix<T, 2, 2> inverse_by_cofactors(const Matrix<T, 2, 2> &m) {
  const T scale = T(1) / determinant_for_inverse(m);
  return Matrix<T, 2, 2>(m(1, 1) * scale, -m(0, 1) * scale, -m(1, 0) * scale, m(0, 0) * scale);
}

template <class T>
Matrix<T, 3, 3> inverse_by_cofactors(const Matrix<T, 3, 3> &m) {
  // The columns of the inverse are cross products of the rows.
  const Vector<T, 3> r0 = m.row(0), r1 = m.row(1), r2 = m.row(2);
  const Vector<T, 3> c0 = cross(r1, r2);
  const T scale = T(1) / dot(r0, c0);
  return Matrix<T, 3, 3>::from_columns({c0 * scale, cross(r2, r0) * scale, cross(r0, r1) * scale});
}

template <class T>
Matrix<T, 4, 4> inverse_by_cofactors(const Matrix<T, 4, 4> &m) {
  const Vector<T, 6> s = minors_of_rows(m, 0), c = minors_of_rows(m, 2);
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
    // Moves the largest element of the column, among rows k and below, to row k.
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
  // Exchanging rows of the matrix exchanges columns of its inverse.
  for (int k = N - 1; k >= 0; --k)
    for (int i = N - 1; i > k; --i)
      for (int j = 0; j < N; ++j) exchange_where<T>(*flag(i, k), m(j, k), m(j, i));
  return m;
}

// For elements of any magnitude, if those of the inverse are finite.
template <class T, int N>
Matrix<T, N, N> inverse_of_any_size(const Matrix<T, N, N> &m) {
  const T size = magnitude(m);
  return inverse_by_elimination(over_size(m, size)) / size;
}

}  // namespace lang

template <lang::MatrixValue A>
auto determinant(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == lang::columns_of<A>, "determinant is of a square matrix");
  return lang::with_matrix(a, where, [&]<class T, int N>(const Matrix<T, N, N> &m) {
    if constexpr (N <= 6)
      return lang::determinant_of(m, where);
    else
      return lang::determinant_by_elimination(m);
  });
}

template <lang::FloatingMatrix A>
auto inverse(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == lang::columns_of<A>, "inverse is of a square matrix");
  if constexpr (lang::rows_of<A> == lang::columns_of<A>) {
    return lang::with_matrix(a, where, [&]<class T, int N>(const Matrix<T, N, N> &m) {
      if constexpr (N == 1) {
        return Matrix<T, 1, 1>(T(1) / m(0, 0));
      } else if constexpr (N <= 4) {
        Matrix<T, N, N> inverse;
        lang::either(
            lang::is_moderate(m, lang::determinant_for_inverse(stop_gradient(m))), where,
            [&] { inverse = lang::inverse_by_cofactors(m); }, [&] { inverse = lang::inverse_of_any_size(m); });
        return inverse;
      } else if constexpr (N > 8 && !Scalar<T>) {
        return lang::inverse_in_loops(m, where);
      } else {
        return lang::inverse_of_any_size(m);
      }
    });
  }
}

// x with a x = b, for a vector b, or a matrix b with as many rows as a.
template <lang::FloatingMatrix A, class B>
  requires(lang::VectorValue<B> || lang::MatrixValue<B>)
auto solve(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == lang::columns_of<A>, "solve is of a square matrix");
  return lang::with_matrix(a, where, [&](const auto &m) {
    const auto size = lang::magnitude(m);
    const auto &right = lang::loaded(b, where);
    return inverse(lang::over_size(m, size), where) * right / size;
  });
}

}  // namespace samite
