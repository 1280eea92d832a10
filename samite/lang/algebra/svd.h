// The singular value decomposition of 2×2 and 3×3 matrices.
//
//   auto [u, values, v] = svd(m);                    // m = u diagonal(values) transpose(v)
//
// Values descend and are not negative; v is a rotation, and so is u unless determinant(m) < 0, when u is a reflection.
// (Negating the last column of u and the last value makes both rotations, as is usual in elasticity.) One-sided Jacobi
// rotations (Hestenes 1958) compute small values to the relative accuracy that m determines. Any m is reproduced, and u
// and v are orthogonal, to 40 units of rounding relative to the largest element; 10 are usual.
//
// Gradients: u and v that decompose m itself count as constants, and two sweeps of two-sided rotations of transpose(u)
// m v are differentiated (Golub & Van Loan, Matrix Computations, 8.6: each pair is made symmetric, then diagonal). They
// converge quadratically: first and second derivatives are exact, away from equal values and from zero values (where
// the sign of a column flips). If values are equal, or nearly so, single values and columns have no meaningful
// derivative, but smooth symmetric functions of the values, such as the sum of their squares, do. polar() has
// derivatives at equal values, too.
//
// One two-sided rotation decomposes a 2×2 matrix.
//
// Takes 1342 operations in the IR for 3×3, 129 for 2×2.
#pragma once

#include "samite/lang/algebra/symmetric_eigen.h"

#include <limits>

namespace samite {

template <lang::FloatingComponent T, int N = 3>
struct SingularValues {
  Matrix<T, N, N> u;
  Vector<T, N> values;
  Matrix<T, N, N> v;
};

namespace lang {

template <class T>
T column_product(const Matrix<T, 3, 3> &m, int p, int q) {
  return m(0, p) * m(0, q) + m(1, p) * m(1, q) + m(2, p) * m(2, q);
}

// Rotates columns of m, and those of v with them, until each pair is orthogonal.
template <class T>
void one_sided_sweep(Matrix<T, 3, 3> &m, Matrix<T, 3, 3> &v) {
  for (auto [p, q] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
    const JacobiRotation<T> rotation(column_product(m, p, p), column_product(m, q, q), column_product(m, p, q));
    rotation.apply(m, p, q);
    rotation.apply(v, p, q);
  }
}

// Sorts columns by descending length.
template <class T>
void sort_columns(Matrix<T, 3, 3> &m, Matrix<T, 3, 3> &v) {
  auto squares = Vector<T, 3>::generate([&](int i) { return component::stop_gradient(column_product(m, i, i)); });
  for (auto [p, q] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{0, 1}}) {
    const TruthOf<T> wrong = squares[p] < squares[q];
    const T larger = component::select(wrong, squares[q], squares[p]);
    squares[q] = component::select(wrong, squares[p], squares[q]);
    squares[p] = larger;
    turn_columns_where<T>(wrong, m, p, q);
    turn_columns_where<T>(wrong, v, p, q);
  }
}

// A unit vector at right angles to the unit vector n (Duff et al., Building an Orthonormal Basis, Revisited, 2017).
template <class T>
Vector<T, 3> perpendicular(const Vector<T, 3> &n) {
  const T sign = component::copysign(T(1), component::stop_gradient(n[2])), a = T(-1) / (sign + n[2]);
  return Vector<T, 3>(T(1) + sign * n[0] * n[0] * a, sign * n[0] * n[1] * a, -sign * n[0]);
}

// u and the values of a matrix with orthogonal columns of descending length: m = u diagonal(values).
template <class T>
SingularValues<T> singular_values_of_columns(const Matrix<T, 3, 3> &m, Matrix<T, 3, 3> v) {
  // A column that is only rounding error relative to the first one has no direction.
  using Number = typename ComponentOf<T>::Scalar;
  constexpr double none = 0.01 * std::numeric_limits<Number>::epsilon();
  const Vector<T, 3> b0 = m.column(0), b1 = m.column(1);
  const T first = norm(b0);
  const TruthOf<T> is_zero = !(first > T(0));
  const Vector<T, 3> u0 = select(is_zero, Vector<T, 3>::unit(0), normalize(b0));
  const Vector<T, 3> rest = b1 - u0 * dot(u0, b1);
  const T second = norm(rest);
  const Vector<T, 3> u1 = select(second > first * none, normalize(rest), perpendicular(u0));
  const Vector<T, 3> u2 = cross(u0, u1);
  const T third = dot(u2, m.column(2)), sign = component::copysign(T(1), component::stop_gradient(third));
  return {Matrix<T, 3, 3>::from_columns({u0, u1, u2 * sign}), Vector<T, 3>(first, second, third * sign), std::move(v)};
}

// The decomposition as a constant, by the loop alone.
template <class T>
SingularValues<T> constant_svd(const Matrix<T, 3, 3> &constant, SourceLocation where) {
  Matrix<T, 3, 3> v = Matrix<T, 3, 3>::identity(), m = constant;
  repeat<T>(constant_jacobi_sweeps, where, [&] { one_sided_sweep(m, v); });
  sort_columns(m, v);
  return singular_values_of_columns(m, std::move(v));
}

// Rotates u and v so that m = transpose(u) a v, already nearly diagonal, comes closer to diagonal. A pair's values
// become those of a 2×2 matrix in closed form, whose derivative is of the size of the matrix's own however close the
// values are.
template <class T, int N>
void two_sided_sweep(Matrix<T, N, N> &m, Matrix<T, N, N> &u, Matrix<T, N, N> &v) {
  for (auto [p, q] : column_pairs<N>()) {
    // The rotation of rows that makes the pair symmetric; none if its square has no precise digits, as for zeros.
    using Number = typename ComponentOf<T>::Scalar;
    constexpr double none = std::numeric_limits<Number>::min() / std::numeric_limits<Number>::epsilon();
    const T sum = m(p, p) + m(q, q), difference = m(q, p) - m(p, q);
    const T square = sum * sum + difference * difference;
    const TruthOf<T> turns = square > T(none);
    const T root = component::sqrt(component::select(turns, square, T(1)));
    const T turn = component::copysign(T(1), component::stop_gradient(sum)) / root;
    const T cosine = component::select(turns, sum * turn, T(1)),
            sine = component::select(turns, difference * turn, T(0));
    const auto left = [&](T &x, T &y) {
      T turned = cosine * x + sine * y;
      y = cosine * y - sine * x;
      x = std::move(turned);
    };
    for (int i = 0; i < N; ++i) left(m(p, i), m(q, i));
    for (int i = 0; i < N; ++i) left(u(i, p), u(i, q));
    const T between = (m(p, q) + m(q, p)) * T(0.5);
    const JacobiRotation<T> rotation(m(p, p), m(q, q), between);
    const T change = rotation.tangent * between;
    m(p, p) = m(p, p) - change;
    m(q, q) = m(q, q) + change;
    m(p, q) = m(q, p) = T(0);
    if constexpr (N == 3) {
      const int r = 3 - p - q;
      rotation.apply(m(p, r), m(q, r));
      rotation.apply(m(r, p), m(r, q));
    }
    rotation.apply(u, p, q);
    rotation.apply(v, p, q);
  }
}

}  // namespace lang

template <lang::FloatingMatrix A>
auto svd(const A &a, SourceLocation where = std::source_location::current()) {
  constexpr int N = lang::rows_of<A>;
  static_assert((N == 2 || N == 3) && lang::columns_of<A> == N, "svd is of a 2×2 or a 3×3 matrix");
  return lang::with_matrix(a, where, [&]<class T>(const Matrix<T, N, N> &given) {
    using M = Matrix<T, N, N>;
    const T scale = lang::magnitude(given);
    M m = lang::over_size(given, scale);
    SingularValues<T, N> result{M::identity(), Vector<T, N>(), M::identity()};
    if constexpr (N == 2) {
      lang::two_sided_sweep(m, result.u, result.v);
    } else {
      result = lang::constant_svd(stop_gradient(m), where);
      m = transpose(result.u) * (m * result.v);
      for (int sweep = 0; sweep < lang::differentiated_jacobi_sweeps; ++sweep)
        lang::two_sided_sweep(m, result.u, result.v);
    }
    // Values that are zero up to rounding may be negative, or out of order.
    for (int i = 0; i < N; ++i) {
      const T sign = lang::component::copysign(T(1), lang::component::stop_gradient(m(i, i)));
      result.values[i] = m(i, i) * sign * scale;
      for (int j = 0; j < N; ++j) result.u(j, i) = result.u(j, i) * sign;
    }
    for (auto [p, q] : lang::sorting_pairs<N>()) {
      const lang::TruthOf<T> wrong = result.values[p] < result.values[q];
      T larger = lang::component::select(wrong, result.values[q], result.values[p]);
      result.values[q] = lang::component::select(wrong, result.values[p], result.values[q]);
      result.values[p] = std::move(larger);
      lang::turn_columns_where<T>(wrong, result.u, p, q);
      lang::turn_columns_where<T>(wrong, result.v, p, q);
    }
    return result;
  });
}

}  // namespace samite
