// Matrices of one to twelve rows and columns.
//
//   Mat3f a{1, 0, x,   0, 1, y,   0, 0, 1};     // row by row; Mat3f() is zeros
//   a(1, 2) += z;                                // element in row 1, column 2
//   a(r, c) += z;                                // or of traced indices, as components of vectors
//   Vec3f w = a * v;                             // products are those of linear algebra
//   Matrix<double, 2, 2> on_the_host{1, 2, 3, 4};
//
// `Matrix<T, Rows, Columns>` holds components of type T, as Vector (lang/algebra/vector.h) does, in row-major order,
// also in arrays of matrices. `+` and `-` take matrices of one shape and type, `*` two matrices, or a matrix and a
// column vector, whose inner sizes agree; a scalar scales. `hadamard` multiplies component by component.
#pragma once

#include "samite/lang/algebra/vector_functions.h"

namespace samite {

template <lang::Component T, int R, int C>
class Matrix;

using Mat2f = Matrix<Float, 2, 2>;
using Mat3f = Matrix<Float, 3, 3>;
using Mat4f = Matrix<Float, 4, 4>;
using Mat5f = Matrix<Float, 5, 5>;
using Mat6f = Matrix<Float, 6, 6>;
using Mat2d = Matrix<Double, 2, 2>;
using Mat3d = Matrix<Double, 3, 3>;
using Mat4d = Matrix<Double, 4, 4>;
using Mat5d = Matrix<Double, 5, 5>;
using Mat6d = Matrix<Double, 6, 6>;

namespace lang {

template <class A>
struct MatrixOf {
  static constexpr bool is_matrix = false;
};
template <Component T, int R, int C>
struct MatrixOf<Matrix<T, R, C>> {
  static constexpr bool is_matrix = true;
  using type = Matrix<T, R, C>;
  using component = T;
  static constexpr int rows = R, columns = C;
};
template <class A>
  requires requires { typename A::referenced_type; }
struct MatrixOf<A> : MatrixOf<typename A::referenced_type> {};

template <class A>
concept MatrixValue = MatrixOf<std::remove_cvref_t<A>>::is_matrix;
template <MatrixValue A>
using matrix_type_of = typename MatrixOf<std::remove_cvref_t<A>>::type;
template <MatrixValue A>
using element_of = typename MatrixOf<std::remove_cvref_t<A>>::component;
template <MatrixValue A>
inline constexpr int rows_of = MatrixOf<std::remove_cvref_t<A>>::rows;
template <MatrixValue A>
inline constexpr int columns_of = MatrixOf<std::remove_cvref_t<A>>::columns;

// The operators of Matrix<T, R, C>, and of references to one, found by argument-dependent look-up.
template <class T, int R, int C>
struct MatrixOperators {
  using M = Matrix<T, R, C>;
  using MatrixOperand = AlgebraOperand<M>;
  using ScalarOperand = ComponentOperand<T>;

  friend M operator+(const MatrixOperand &a, const MatrixOperand &b) {
    const Attributed<T> at(a.where());
    return M::generate([&](int i, int j) { return T(a[i * C + j] + b[i * C + j]); });
  }
  friend M operator-(const MatrixOperand &a, const MatrixOperand &b) {
    const Attributed<T> at(a.where());
    return M::generate([&](int i, int j) { return T(a[i * C + j] - b[i * C + j]); });
  }
  friend M operator-(const MatrixOperand &a) {
    const Attributed<T> at(a.where());
    return M::generate([&](int i, int j) { return T(-a[i * C + j]); });
  }
  friend M operator*(const MatrixOperand &a, const ScalarOperand &b) {
    const Attributed<T> at(a.where());
    const T scalar = ComponentOf<T>::from(b);
    return M::generate([&](int i, int j) { return T(a[i * C + j] * scalar); });
  }
  friend M operator*(const ScalarOperand &a, const MatrixOperand &b) {
    const Attributed<T> at(b.where());
    const T scalar = ComponentOf<T>::from(a);
    return M::generate([&](int i, int j) { return T(scalar * b[i * C + j]); });
  }
  friend M operator/(const MatrixOperand &a, const ScalarOperand &b) {
    const Attributed<T> at(a.where());
    const T scalar = ComponentOf<T>::from(b);
    return M::generate([&](int i, int j) { return T(a[i * C + j] / scalar); });
  }

  friend Vector<T, R> operator*(const MatrixOperand &a, const AlgebraOperand<Vector<T, C>> &v) {
    const Attributed<T> at(a.where());
    return Vector<T, R>::generate([&](int i) {
      T sum = a[i * C] * v[0];
      for (int k = 1; k < C; ++k) sum = sum + a[i * C + k] * v[k];
      return sum;
    });
  }
  template <int K>
  friend Matrix<T, R, K> operator*(const MatrixOperand &a, const Matrix<T, C, K> &b) {
    const Attributed<T> at(a.where());
    return Matrix<T, R, K>::generate([&](int i, int j) {
      T sum = a[i * C] * b(0, j);
      for (int k = 1; k < C; ++k) sum = sum + a[i * C + k] * b(k, j);
      return sum;
    });
  }
  // A reference on the right has as many rows and columns as the left has columns.
  friend M operator*(const MatrixOperand &a, const AlgebraOperand<Matrix<T, C, C>> &b) { return *a * *b; }
};

}  // namespace lang

template <lang::Component T, int R, int C>
class Matrix : public lang::MatrixOperators<T, R, C>,
               public lang::ComponentStorage<T, R * C, std::make_index_sequence<static_cast<std::size_t>(R *C)>> {
  static_assert(R >= 1 && R <= 12 && C >= 1 && C <= 12, "a Matrix has 1 to 12 rows and columns");
  using Storage = lang::ComponentStorage<T, R * C, std::make_index_sequence<static_cast<std::size_t>(R *C)>>;
  using MatrixOperand = lang::AlgebraOperand<Matrix>;
  using ScalarOperand = lang::ComponentOperand<T>;

 public:
  using component_type = T;
  static constexpr int rows() { return R; }
  static constexpr int columns() { return C; }

  // R C scalars in row-major order; no arguments give zeros.
  using Storage::Storage;
  Matrix(SourceLocation where = std::source_location::current()) : Storage(where) {}
  Matrix(const Matrix &other, SourceLocation where = std::source_location::current()) : Storage(other, where) {}
  Matrix(Matrix &&) noexcept = default;
  template <lang::ReferenceTo<Matrix> A>
  Matrix(const A &reference, SourceLocation where = std::source_location::current()) : Matrix(reference.load(where)) {}

  // Converts the components, as for vectors.
  template <class U>
    requires(!std::same_as<U, T>)
  explicit Matrix(const Matrix<U, R, C> &other, SourceLocation where = std::source_location::current())
      : Matrix(generate([&](int i, int j) { return T(other(i, j)); }, where)) {}

  Matrix &operator=(const Matrix &) = default;
  Matrix &operator=(Matrix &&) = default;
  ~Matrix() = default;

  // component(row, column) for each.
  template <class F>
  static Matrix generate(const F &component, SourceLocation where = std::source_location::current()) {
    return Matrix([&](int at) { return component(at / C, at % C); }, lang::Attributed<T>(where));
  }
  static Matrix identity(SourceLocation where = std::source_location::current())
    requires(R == C)
  {
    return generate([](int i, int j) { return T(i == j ? 1 : 0); }, where);
  }
  static Matrix diagonal(const Vector<T, R> &entries, SourceLocation where = std::source_location::current())
    requires(R == C)
  {
    return generate([&](int i, int j) { return i == j ? T(entries[i]) : T(0); }, where);
  }
  static Matrix from_rows(const std::array<Vector<T, C>, R> &rows,
                          SourceLocation where = std::source_location::current()) {
    return generate([&](int i, int j) { return T(rows[static_cast<std::size_t>(i)][j]); }, where);
  }
  static Matrix from_columns(const std::array<Vector<T, R>, C> &columns,
                             SourceLocation where = std::source_location::current()) {
    return generate([&](int i, int j) { return T(columns[static_cast<std::size_t>(j)][i]); }, where);
  }

  T &operator()(lang::ComponentIndex i, lang::ComponentIndex j) { return this->component(at(i, j)); }
  const T &operator()(lang::ComponentIndex i, lang::ComponentIndex j) const { return this->component(at(i, j)); }
  auto operator()(const lang::TracedIndex &i, const lang::TracedIndex &j) & { return chosen(*this, i, j); }
  auto operator()(const lang::TracedIndex &i, const lang::TracedIndex &j) const & { return chosen(*this, i, j); }
  auto operator()(const lang::TracedIndex &i, lang::ComponentIndex j) & { return chosen(*this, i, j); }
  auto operator()(const lang::TracedIndex &i, lang::ComponentIndex j) const & { return chosen(*this, i, j); }
  auto operator()(lang::ComponentIndex i, const lang::TracedIndex &j) & { return chosen(*this, i, j); }
  auto operator()(lang::ComponentIndex i, const lang::TracedIndex &j) const & { return chosen(*this, i, j); }

  Vector<T, C> row(int i, SourceLocation where = std::source_location::current()) const {
    return Vector<T, C>::generate([&](int j) { return T((*this)(i, j)); }, where);
  }
  Vector<T, R> column(int j, SourceLocation where = std::source_location::current()) const {
    return Vector<T, R>::generate([&](int i) { return T((*this)(i, j)); }, where);
  }
  void set_row(int i, const Vector<T, C> &values) {
    for (int j = 0; j < C; ++j) (*this)(i, j) = values[j];
  }
  void set_column(int j, const Vector<T, R> &values) {
    for (int i = 0; i < R; ++i) (*this)(i, j) = values[i];
  }

  Matrix &operator+=(const MatrixOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this + *b;
  }
  Matrix &operator-=(const MatrixOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this - *b;
  }
  Matrix &operator*=(const ScalarOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this * lang::ComponentOf<T>::from(b);
  }
  Matrix &operator/=(const ScalarOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this / lang::ComponentOf<T>::from(b);
  }
  // Multiplies by a square matrix from the right.
  Matrix &operator*=(const lang::AlgebraOperand<Matrix<T, C, C>> &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this * *b;
  }

 private:
  template <class F>
  Matrix(const F &component, const lang::Attributed<T> &at) : Storage(component, at) {}

  template <class M>
  static auto chosen(M &matrix, const Index &i, const Index &j) {
    return lang::chosen_component(matrix.begin(), R, C, i, j);
  }
  static std::size_t at(const lang::ComponentIndex &i, const lang::ComponentIndex &j) {
    return i.within(R, "row") * C + j.within(C, "column");
  }
};

}  // namespace samite
