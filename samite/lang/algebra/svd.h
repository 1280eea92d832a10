// The singular value decomposition of 3×3 matrices.
//
//   auto [u, values, v] = svd(m);                    // m = u diagonal(values) transpose(v)
//
// Values descend and are not negative; v is a rotation, and u one too unless determinant(m) < 0, where it is a
// reflection. (With the last column of u and the last value negated both are rotations, as elasticity likes it.)
// By one-sided Jacobi rotations (Hestenes 1958), which find small values to the relative accuracy that they have. Any m
// is reproduced, and u and v are orthogonal, to 40 units of rounding relative to the largest element; 10 are usual.
//
// Gradients as in lang/algebra/symmetric_eigen.h: first and second derivatives are exact, away from equal values and
// from zero values (where the sign of a column turns). polar() has derivatives at equal values, too.
//
// 884 operations in the IR.
#pragma once

#include "samite/lang/algebra/symmetric_eigen.h"

#include <limits>

namespace samite {

template <lang::FloatingComponent T>
struct SingularValues {
  Matrix<T, 3, 3> u;
  Vector<T, 3> values;
  Matrix<T, 3, 3> v;
};

namespace lang {

template <class T>
T column_product(const Matrix<T, 3, 3> &m, int p, int q) {
  return m(0, p) * m(0, q) + m(1, p) * m(1, q) + m(2, p) * m(2, q);
}

// Turns columns of m, and those of v with them, until each pair is orthogonal.
template <class T>
void one_sided_sweep(Matrix<T, 3, 3> &m, Matrix<T, 3, 3> &v) {
  for (auto [p, q] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
    const JacobiRotation<T> rotation(column_product(m, p, p), column_product(m, q, q), column_product(m, p, q));
    rotation.apply(m, p, q);
    rotation.apply(v, p, q);
  }
}

// Columns by descending length.
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

// u and the values of a matrix whose columns are orthogonal and descend: m = u diagonal(values).
template <class T>
SingularValues<T> singular_values_of_columns(const Matrix<T, 3, 3> &m, Matrix<T, 3, 3> v) {
  // A column that is nothing but rounding beside the first one has no direction.
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

// The decomposition of constants, by the loop alone.
template <class T>
SingularValues<T> constant_svd(const Matrix<T, 3, 3> &constant, SourceLocation where) {
  Matrix<T, 3, 3> v = Matrix<T, 3, 3>::identity(), m = constant;
  repeat<T>(constant_jacobi_sweeps, where, [&] { one_sided_sweep(m, v); });
  sort_columns(m, v);
  return singular_values_of_columns(m, std::move(v));
}

}  // namespace lang

template <lang::FloatingMatrix A>
auto svd(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == 3 && lang::columns_of<A> == 3, "svd is of a 3×3 matrix");
  return lang::with_matrix(a, where, [&]<class T>(const Matrix<T, 3, 3> &given) {
    const T scale = lang::magnitude(given);
    const Matrix<T, 3, 3> scaled = given * (T(1) / scale);
    Matrix<T, 3, 3> v = Matrix<T, 3, 3>::identity(), constant = stop_gradient(scaled);
    lang::repeat<T>(lang::constant_jacobi_sweeps, where, [&] { lang::one_sided_sweep(constant, v); });

    Matrix<T, 3, 3> m = scaled * v;
    for (int sweep = 0; sweep < lang::differentiated_jacobi_sweeps; ++sweep) lang::one_sided_sweep(m, v);
    lang::sort_columns(m, v);
    SingularValues<T> result = lang::singular_values_of_columns(m, std::move(v));
    result.values *= scale;
    return result;
  });
}

}  // namespace samite
