// Functions of matrices, and functions of vectors that return matrices.
//
// They take matrices and references to matrices (elements of arrays); determinants and inverses are in
// lang/algebra/inverse.h.
#pragma once

#include "samite/lang/algebra/matrix.h"

namespace samite {
namespace lang {

template <class A, class B>
constexpr bool same_matrix = std::is_same_v<matrix_type_of<A>, matrix_type_of<B>>;
template <class A, class B>
concept SameMatrix = MatrixValue<A> && MatrixValue<B> && same_matrix<A, B>;
template <class A>
concept FloatingMatrix = MatrixValue<A> && FloatingComponent<element_of<A>>;

// Calls `function` with the matrix; everything is recorded at the user's line.
template <class A, class F>
auto with_matrix(const A &a, SourceLocation where, const F &function) {
  const Attributed<element_of<A>> at(where);
  return function(loaded(a, where));
}
template <class A, class B, class F>
auto with_matrices(const A &a, const B &b, SourceLocation where, const F &function) {
  static_assert(same_matrix<A, B>, "the two matrices differ in shape or in component type");
  if constexpr (SameMatrix<A, B>) {
    const Attributed<element_of<A>> at(where);
    return function(loaded(a, where), loaded(b, where));
  }
}

}  // namespace lang

template <lang::MatrixValue A>
auto transpose(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_matrix(a, where, []<class T, int R, int C>(const Matrix<T, R, C> &m) {
    return Matrix<T, C, R>::generate([&](int i, int j) { return T(m(j, i)); });
  });
}
template <lang::MatrixValue A>
auto trace(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == lang::columns_of<A>, "trace is of a square matrix");
  return lang::with_matrix(a, where, []<class T, int R, int C>(const Matrix<T, R, C> &m) {
    T sum = m(0, 0);
    for (int i = 1; i < R; ++i) sum = sum + m(i, i);
    return sum;
  });
}
template <lang::MatrixValue A>
auto diagonal(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == lang::columns_of<A>, "diagonal is of a square matrix");
  return lang::with_matrix(a, where, []<class T, int R, int C>(const Matrix<T, R, C> &m) {
    return Vector<T, R>::generate([&](int i) { return T(m(i, i)); });
  });
}

// The outer product of two vectors of any sizes: element (i, j) is a[i] b[j].
template <lang::VectorValue A, lang::VectorValue B>
auto outer(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<A>;
  static_assert(std::same_as<T, lang::component_of<B>>, "the two vectors differ in component type; convert one");
  const lang::Attributed<T> at(where);
  const auto &v = lang::loaded(a, where);
  const auto &w = lang::loaded(b, where);
  return Matrix<T, lang::size_of_vector<A>, lang::size_of_vector<B>>::generate(
      [&](int i, int j) { return T(v[i] * w[j]); });
}
// The matrix that maps w to cross(v, w).
template <lang::VectorValue A>
auto skew(const A &a, SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<A>;
  static_assert(lang::size_of_vector<A> == 3, "skew is of a vector of three components");
  const lang::Attributed<T> at(where);
  const Vector<T, 3> &v = lang::loaded(a, where);
  return Matrix<T, 3, 3>(T(0), -v[2], v[1], v[2], T(0), -v[0], -v[1], v[0], T(0));
}

// The sum of the products of corresponding elements, trace(transpose(a) b); dot(a, a) is the squared Frobenius norm.
template <lang::MatrixValue A, lang::MatrixValue B>
auto dot(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::with_matrices(a, b, where,
                             []<class T, int R, int C>(const Matrix<T, R, C> &m, const Matrix<T, R, C> &n) {
                               T sum = m(0, 0) * n(0, 0);
                               for (int i = 1; i < R * C; ++i) sum = sum + m.begin()[i] * n.begin()[i];
                               return sum;
                             });
}
template <lang::MatrixValue A>
auto norm_squared(const A &a, SourceLocation where = std::source_location::current()) {
  return dot(a, a, where);
}
// The Frobenius norm; 0 with a gradient of 0 for the zero matrix.
template <lang::FloatingMatrix A>
auto norm(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_matrix(a, where, [&]<class T, int R, int C>(const Matrix<T, R, C> &m) {
    return lang::root_of_squares(m.begin(), std::make_index_sequence<static_cast<std::size_t>(R * C)>(), where);
  });
}
namespace lang {

// The largest magnitude of an element, as a constant; 1 for the zero matrix. Divide by it before squaring, to avoid
// overflow.
template <class T, int R, int C>
T magnitude(const Matrix<T, R, C> &m) {
  T largest = component::abs(component::stop_gradient(m(0, 0)));
  for (int i = 1; i < R * C; ++i)
    largest = component::max(largest, component::abs(component::stop_gradient(m.begin()[i])));
  return component::select(largest > T(0), largest, T(1));
}

// The matrix divided by a size from magnitude(), whose inverse may be infinite or lose all digits.
template <class T, int R, int C>
Matrix<T, R, C> over_size(const Matrix<T, R, C> &m, const T &size) {
  const T power = power_for(size), inverse = T(1) / (size * power);
  return (m * power) * inverse;
}

}  // namespace lang
// The products of corresponding elements.
template <lang::MatrixValue A, lang::MatrixValue B>
auto hadamard(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::with_matrices(a, b, where,
                             []<class T, int R, int C>(const Matrix<T, R, C> &m, const Matrix<T, R, C> &n) {
                               return Matrix<T, R, C>::generate([&](int i, int j) { return T(m(i, j) * n(i, j)); });
                             });
}

template <lang::FloatingMatrix A>
auto stop_gradient(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_matrix(a, where, []<class T, int R, int C>(const Matrix<T, R, C> &m) {
    return Matrix<T, R, C>::generate([&](int i, int j) { return lang::component::stop_gradient(m(i, j)); });
  });
}

// The matrix a where `condition` holds, else b; both are computed.
template <lang::MatrixValue A, lang::MatrixValue B>
  requires std::same_as<lang::TruthOf<lang::element_of<A>>, Bool>
auto select(const Operand<bool> &condition, const A &a, const B &b) {
  return lang::with_matrices(
      a, b, condition.where(), [&]<class T, int R, int C>(const Matrix<T, R, C> &m, const Matrix<T, R, C> &n) {
        const Bool chosen = Bool::copy(condition.value(), condition.where());
        return Matrix<T, R, C>::generate([&](int i, int j) { return select(chosen, m(i, j), n(i, j)); });
      });
}
template <lang::MatrixValue A>
  requires std::same_as<lang::TruthOf<lang::element_of<A>>, bool>
A select(bool condition, const A &a, const A &b) {
  return condition ? a : b;
}

// Two matrices, or a matrix and a vector, of shapes that do not match: one readable message instead of a list of
// candidates.
namespace lang {
template <class A, class B>
concept DifferentMatrices = MatrixValue<A> && MatrixValue<B> && !SameMatrix<A, B>;

template <class A>
constexpr int inner_rows() {
  if constexpr (MatrixValue<A>)
    return rows_of<A>;
  else
    return size_of_vector<A>;
}
template <class A>
struct InnerComponent {
  using type = typename MatrixOf<A>::component;
};
template <VectorValue A>
struct InnerComponent<A> {
  using type = component_of<A>;
};
template <class A, class B>
concept NoProduct =
    MatrixValue<A> && (MatrixValue<B> || VectorValue<B>) &&
    (columns_of<A> != inner_rows<B>() || !std::same_as<element_of<A>, typename InnerComponent<B>::type>);
}  // namespace lang
template <class A, class B>
  requires lang::DifferentMatrices<A, B>
auto operator+(const A &a, const B &b) {
  return lang::with_matrices(a, b, {}, [](const auto &m, const auto &) { return m; });
}
template <class A, class B>
  requires lang::DifferentMatrices<A, B>
auto operator-(const A &a, const B &b) {
  return lang::with_matrices(a, b, {}, [](const auto &m, const auto &) { return m; });
}
template <class A, class B>
  requires lang::NoProduct<A, B>
A operator*(const A &a, const B &) {
  static_assert(!lang::NoProduct<A, B>,
                "a product of matrices needs as many columns on the left as there are rows on the right, and one "
                "component type");
  return a;
}

}  // namespace samite
