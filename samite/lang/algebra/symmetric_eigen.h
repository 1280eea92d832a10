// Eigenvalues and eigenvectors of symmetric 3×3 matrices.
//
//   auto [values, vectors] = symmetric_eigen(m);     // m = vectors diagonal(values) transpose(vectors)
//
// Values ascend; column i of `vectors`, a rotation, belongs to value i. Only the symmetric part of m counts, and its
// gradient is symmetric. By cyclic Jacobi rotations (Golub & Van Loan, Matrix Computations, 8.5), scaled so that no
// square overflows: m is reproduced, and the
// vectors are orthogonal, to 40 units of rounding relative to the largest element; 10 are usual.
//
// Gradients: the rotations that bring m close to its diagonal form are taken as constants, and two sweeps after them
// are differentiated, which converge quadratically: first and second derivatives are those of the exact
// decomposition. Where two values are equal their vectors, and single values, have no derivative; what is computed
// there is finite and means nothing, except for the sum of the equal values. A gap of δ between values multiplies
// rounding errors in the derivatives of vectors by 1 / δ.
//
// 581 operations in the IR.
#pragma once

#include "samite/lang/algebra/matrix_functions.h"

namespace samite {

template <lang::FloatingComponent T>
struct SymmetricEigen {
  Vector<T, 3> values;
  Matrix<T, 3, 3> vectors;
};

namespace lang {

// The rotation that makes the off-diagonal element `pq` of the symmetric matrix ((pp, pq), (pq, qq)) zero. Smooth
// unless pq = 0 and pp = qq, where it is none.
template <class T>
struct JacobiRotation {
  T tangent, cosine, sine;

  JacobiRotation(const T &pp, const T &qq, const T &pq) {
    const T difference = qq - pp, twice = pq + pq;
    const T square = difference * difference + twice * twice;
    const T root = component::sqrt(square_or_one(square));
    const T denominator = difference + component::copysign(root, component::stop_gradient(difference));
    tangent = component::select(square > T(0), twice / component::select(square > T(0), denominator, T(1)), T(0));
    cosine = T(1) / component::sqrt(T(1) + tangent * tangent);
    sine = tangent * cosine;
  }

  void apply(T &p, T &q) const {
    T turned = cosine * p - sine * q;
    q = sine * p + cosine * q;
    p = std::move(turned);
  }
  // To columns p and q.
  template <int R, int C>
  void apply(Matrix<T, R, C> &m, int p, int q) const {
    for (int i = 0; i < R; ++i) apply(m(i, p), m(i, q));
  }
};

// One rotation for each off-diagonal element, of the upper triangle of `m`, and of the columns of `vectors`.
template <class T>
void jacobi_sweep(Matrix<T, 3, 3> &m, Matrix<T, 3, 3> &vectors) {
  for (auto [p, q] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
    const int r = 3 - p - q;
    auto upper = [&](int i, int j) -> T & { return i < j ? m(i, j) : m(j, i); };
    const JacobiRotation<T> rotation(m(p, p), m(q, q), m(p, q));
    const T change = rotation.tangent * m(p, q);
    m(p, p) = m(p, p) - change;
    m(q, q) = m(q, q) + change;
    m(p, q) = T(0);
    rotation.apply(upper(r, p), upper(r, q));
    rotation.apply(vectors, p, q);
  }
}

// Exchanges columns p and q where `condition` holds; one changes its sign, so that a rotation stays one.
template <class T, int R, int C>
void turn_columns_where(const TruthOf<T> &condition, Matrix<T, R, C> &m, int p, int q) {
  for (int i = 0; i < R; ++i) {
    T first = component::select(condition, m(i, q), m(i, p));
    m(i, q) = component::select(condition, -m(i, p), m(i, q));
    m(i, p) = std::move(first);
  }
}

// Beside a largest element of 1.
template <class T>
constexpr double negligible = std::same_as<typename ComponentOf<T>::Scalar, float> ? 1e-9 : 1e-25;

// Quadratic convergence makes more of no use: 5 sweeps bring any 3×3 matrix of doubles close to its diagonal form.
inline constexpr int constant_jacobi_sweeps = 5;
inline constexpr int differentiated_jacobi_sweeps = 2;

}  // namespace lang

template <lang::FloatingMatrix A>
auto symmetric_eigen(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == 3 && lang::columns_of<A> == 3, "symmetric_eigen is of a 3×3 matrix");
  return lang::with_matrix(a, where, [&]<class T>(const Matrix<T, 3, 3> &given) {
    const T scale = lang::magnitude(given);
    const Matrix<T, 3, 3> scaled = lang::over_size(given, scale);
    const auto symmetric =
        Matrix<T, 3, 3>::generate([&](int i, int j) { return T((scaled(i, j) + scaled(j, i)) * T(0.5)); });
    Matrix<T, 3, 3> vectors = Matrix<T, 3, 3>::identity(), constant = stop_gradient(symmetric);
    lang::repeat<T>(lang::constant_jacobi_sweeps, where, [&] {
      lang::jacobi_sweep(constant, vectors);
      // Below rounding, and squared further it would become denormal, and slow.
      for (auto [p, q] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}})
        constant(p, q) = lang::component::select(lang::component::abs(constant(p, q)) < T(lang::negligible<T>), T(0),
                                                 constant(p, q));
    });

    Matrix<T, 3, 3> m = transpose(vectors) * (symmetric * vectors);
    for (int sweep = 0; sweep < lang::differentiated_jacobi_sweeps; ++sweep) lang::jacobi_sweep(m, vectors);

    Vector<T, 3> values = diagonal(m) * scale;
    for (auto [p, q] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{0, 1}}) {
      const lang::TruthOf<T> wrong = values[p] > values[q];
      const T smaller = lang::component::select(wrong, values[q], values[p]);
      values[q] = lang::component::select(wrong, values[p], values[q]);
      values[p] = smaller;
      lang::turn_columns_where<T>(wrong, vectors, p, q);
    }
    return SymmetricEigen<T>{std::move(values), std::move(vectors)};
  });
}

}  // namespace samite
