// Eigenvalues and eigenvectors of symmetric 2×2 and 3×3 matrices.
//
//   auto [values, vectors] = symmetric_eigen(m);     // m = vectors diagonal(values) transpose(vectors)
//
// Values ascend; column i of `vectors`, a rotation, belongs to value i. Only the symmetric part of m counts, and its
// gradient is symmetric. Cyclic Jacobi rotations (Golub & Van Loan, Matrix Computations, 8.5) are scaled so that no
// square overflows: m is reproduced, and the vectors are orthogonal, to 40 units of rounding relative to the largest
// element; 10 are usual.
//
// Gradients: the rotations that bring m close to diagonal form count as constants; the two sweeps after them are
// differentiated and converge quadratically, so that first and second derivatives are those of the exact decomposition.
// If two values are equal, their vectors and the single values have no derivative; the computed derivative is finite
// and meaningless, except for the sum of the equal values. A gap of δ between values multiplies rounding errors in the
// derivatives of vectors by 1 / δ.
//
// One rotation diagonalizes a 2×2 matrix, and is differentiated directly.
//
// Takes 631 operations in the IR for 3×3, 72 for 2×2.
#pragma once

#include "samite/lang/algebra/matrix_functions.h"

#include <limits>

namespace samite {

template <lang::FloatingComponent T, int N = 3>
struct SymmetricEigen {
  Vector<T, N> values;
  Matrix<T, N, N> vectors;
};

namespace lang {

// Each pair of columns once, and the pairs whose exchange sorts.
template <int N>
constexpr auto column_pairs() {
  if constexpr (N == 2)
    return std::array{std::pair{0, 1}};
  else
    return std::array{std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}};
}
template <int N>
constexpr auto sorting_pairs() {
  if constexpr (N == 2)
    return std::array{std::pair{0, 1}};
  else
    return std::array{std::pair{0, 1}, std::pair{1, 2}, std::pair{0, 1}};
}

// The rotation that makes the off-diagonal element `pq` of the symmetric matrix ((pp, pq), (pq, qq)) zero. No rotation
// if pq and qq - pp are below the rounding of the elements: its angle would be mere noise, and the derivative of the
// angle, as large as the noise is small, would destroy every product it enters.
template <class T>
struct JacobiRotation {
  T tangent, cosine, sine;

  JacobiRotation(const T &pp, const T &qq, const T &pq) {
    const T difference = qq - pp, twice = pq + pq;
    const T square = difference * difference + twice * twice;
    using Number = typename ComponentOf<T>::Scalar;
    constexpr double epsilon = std::numeric_limits<Number>::epsilon();
    const TruthOf<T> turns = square > (pp * pp + qq * qq) * T(epsilon * epsilon);
    const T root = component::sqrt(component::select(turns, square, T(1)));
    const T denominator = difference + component::copysign(root, component::stop_gradient(difference));
    tangent = component::select(turns, twice / component::select(turns, denominator, T(1)), T(0));
    cosine = T(1) / component::sqrt(T(1) + tangent * tangent);
    sine = tangent * cosine;
  }

  void apply(T &p, T &q) const {
    T turned = cosine * p - sine * q;
    q = sine * p + cosine * q;
    p = std::move(turned);
  }
  // Applies it to columns p and q.
  template <int R, int C>
  void apply(Matrix<T, R, C> &m, int p, int q) const {
    for (int i = 0; i < R; ++i) apply(m(i, p), m(i, q));
  }
};

// One rotation for each off-diagonal element of the upper triangle of `m`, also applied to the columns of `vectors`.
template <class T, int N>
void jacobi_sweep(Matrix<T, N, N> &m, Matrix<T, N, N> &vectors) {
  for (auto [p, q] : column_pairs<N>()) {
    auto upper = [&](int i, int j) -> T & { return i < j ? m(i, j) : m(j, i); };
    const JacobiRotation<T> rotation(m(p, p), m(q, q), m(p, q));
    const T change = rotation.tangent * m(p, q);
    m(p, p) = m(p, p) - change;
    m(q, q) = m(q, q) + change;
    m(p, q) = T(0);
    if constexpr (N == 3) rotation.apply(upper(3 - p - q, p), upper(3 - p - q, q));
    rotation.apply(vectors, p, q);
  }
}

// Exchanges columns p and q where `condition` holds; one of them changes its sign, so that a rotation stays a rotation.
template <class T, int R, int C>
void turn_columns_where(const TruthOf<T> &condition, Matrix<T, R, C> &m, int p, int q) {
  for (int i = 0; i < R; ++i) {
    T first = component::select(condition, m(i, q), m(i, p));
    m(i, q) = component::select(condition, -m(i, p), m(i, q));
    m(i, p) = std::move(first);
  }
}

// Relative to a largest element of 1.
template <class T>
constexpr double negligible = std::same_as<typename ComponentOf<T>::Scalar, double> ? 1e-25
                              : std::same_as<typename ComponentOf<T>::Scalar, half> ? 0
                                                                                    : 1e-9;

// Convergence is quadratic, so that more sweeps are useless: 5 bring any 3×3 matrix of doubles close to diagonal form.
inline constexpr int constant_jacobi_sweeps = 5;
inline constexpr int differentiated_jacobi_sweeps = 2;

}  // namespace lang

template <lang::FloatingMatrix A>
auto symmetric_eigen(const A &a, SourceLocation where = std::source_location::current()) {
  constexpr int N = lang::rows_of<A>;
  static_assert((N == 2 || N == 3) && lang::columns_of<A> == N, "symmetric_eigen is of a 2×2 or a 3×3 matrix");
  return lang::with_matrix(a, where, [&]<class T>(const Matrix<T, N, N> &given) {
    using M = Matrix<T, N, N>;
    const T scale = lang::magnitude(given);
    const M scaled = lang::over_size(given, scale);
    const auto symmetric = M::generate([&](int i, int j) { return T((scaled(i, j) + scaled(j, i)) * T(0.5)); });
    M vectors = M::identity(), m = symmetric;
    if constexpr (N == 2) {
      lang::jacobi_sweep(m, vectors);
    } else {
      M constant = stop_gradient(symmetric);
      lang::repeat<T>(lang::constant_jacobi_sweeps, where, [&] {
        lang::jacobi_sweep(constant, vectors);
        // The element is below rounding; squared further it would become denormal, and slow.
        for (auto [p, q] : lang::column_pairs<N>())
          constant(p, q) = lang::component::select(lang::component::abs(constant(p, q)) < T(lang::negligible<T>), T(0),
                                                   constant(p, q));
      });
      m = transpose(vectors) * (symmetric * vectors);
      for (int sweep = 0; sweep < lang::differentiated_jacobi_sweeps; ++sweep) lang::jacobi_sweep(m, vectors);
    }

    Vector<T, N> values = diagonal(m) * scale;
    for (auto [p, q] : lang::sorting_pairs<N>()) {
      const lang::TruthOf<T> wrong = values[p] > values[q];
      const T smaller = lang::component::select(wrong, values[q], values[p]);
      values[q] = lang::component::select(wrong, values[p], values[q]);
      values[p] = smaller;
      lang::turn_columns_where<T>(wrong, vectors, p, q);
    }
    return SymmetricEigen<T, N>{std::move(values), std::move(vectors)};
  });
}

}  // namespace samite
