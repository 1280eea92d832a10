// Functions of vectors: products, norms, and functions component by component.
//
// They take vectors and references to vectors (elements of arrays), of traced scalars or of the host's numbers. Two
// vectors passed to one function must have the same size and component type; otherwise the program does not compile.
//
// Norms are safe for the zero vector: norm gives 0 and normalize the zero vector, both with a gradient of 0 (norm has
// none there). They are right for numbers of every size: squares neither overflow nor lose digits.
#pragma once

#include "samite/lang/algebra/vector.h"

namespace samite {
namespace lang {

template <class A, class B>
constexpr bool same_vector = std::is_same_v<vector_type_of<A>, vector_type_of<B>>;
template <class A, class B>
concept SameVector = VectorValue<A> && VectorValue<B> && same_vector<A, B>;
template <class A>
concept FloatingVector = VectorValue<A> && FloatingComponent<component_of<A>>;

// Calls `function` with both as vectors; does not compile if they differ.
template <class A, class B, class F>
auto with_vectors(const A &a, const B &b, SourceLocation where, const F &function) {
  static_assert(same_vector<A, B>,
                "the two vectors differ in size or in component type; convert one, as in Vec3d(v), or use the "
                "components");
  if constexpr (SameVector<A, B>) {
    const Attributed<component_of<A>> at(where);
    return function(loaded(a, where), loaded(b, where));
  }
}

// 1 if `square` is zero, so that it can be divided by and its root taken.
template <class T>
T square_or_one(const T &square) {
  return component::select(square > T(0), square, T(1));
}

template <class V>
auto norm_of(const V &v, SourceLocation where) {
  return root_of_squares(v.begin(), std::make_index_sequence<V::size()>(), where);
}

// v / length; zero, with a gradient of zero, if the length is zero. Divides, because derivatives of a product with the
// inverse would leave the type's range earlier.
template <class V, class T>
V over_length(const V &v, const T &length) {
  const TruthOf<T> is_long = length > T(0);
  const T divisor = component::select(is_long, length, T(1));
  return V::generate([&](int i) { return component::select(is_long, T(v.begin()[i] / divisor), T(0)); });
}

}  // namespace lang

template <lang::VectorValue A, lang::VectorValue B>
auto dot(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::with_vectors(a, b, where, []<class T, int N>(const Vector<T, N> &v, const Vector<T, N> &w) {
    T sum = v[0] * w[0];
    for (int i = 1; i < N; ++i) sum = sum + v[i] * w[i];
    return sum;
  });
}

// For three components, a vector; for two, the z component of the product, a scalar.
template <lang::VectorValue A, lang::VectorValue B>
auto cross(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  static_assert(lang::size_of_vector<A> == 2 || lang::size_of_vector<A> == 3,
                "cross is of vectors of two or three components");
  return lang::with_vectors(a, b, where, []<class T, int N>(const Vector<T, N> &v, const Vector<T, N> &w) {
    if constexpr (N == 3)
      return Vector<T, 3>(v[1] * w[2] - v[2] * w[1], v[2] * w[0] - v[0] * w[2], v[0] * w[1] - v[1] * w[0]);
    else
      return T(v[0] * w[1] - v[1] * w[0]);
  });
}

template <lang::VectorValue A>
auto norm_squared(const A &a, SourceLocation where = std::source_location::current()) {
  return dot(a, a, where);
}
template <lang::FloatingVector A>
auto norm(const A &a, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<lang::component_of<A>> at(where);
  return lang::norm_of(lang::loaded(a, where), where);
}
// a / norm(a), and zero for the zero vector.
template <lang::FloatingVector A>
auto normalize(const A &a, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<lang::component_of<A>> at(where);
  const lang::vector_type_of<A> &v = lang::loaded(a, where);
  return lang::over_length(v, lang::norm_of(v, where));
}
template <lang::FloatingVector A, lang::FloatingVector B>
auto distance(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::with_vectors(a, b, where, [](const auto &v, const auto &w) { return norm(v - w); });
}
template <lang::VectorValue A, lang::VectorValue B>
auto distance_squared(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::with_vectors(a, b, where, [](const auto &v, const auto &w) { return norm_squared(v - w); });
}

// a + (b - a) t; t may be any scalar that combines with the components.
template <lang::FloatingVector A, lang::FloatingVector B>
auto lerp(const A &a, const B &b, const std::type_identity_t<lang::ComponentOperand<lang::component_of<A>>> &t,
          SourceLocation where = std::source_location::current()) {
  return lang::with_vectors(a, b, where, [&](const auto &v, const auto &w) { return v + (w - v) * t; });
}

// function(a[0]), function(a[1]), …
template <lang::VectorValue A, class F>
auto map(const A &a, const F &function, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<lang::component_of<A>> at(where);
  const lang::vector_type_of<A> &v = lang::loaded(a, where);
  using R = std::remove_cvref_t<decltype(function(v[0]))>;
  return Vector<R, lang::size_of_vector<A>>::generate([&](int i) { return R(function(v[i])); }, where);
}
template <lang::VectorValue A>
auto abs(const A &a, SourceLocation where = std::source_location::current()) {
  return map(a, [](const auto &x) { return lang::component::abs(x); }, where);
}
template <lang::FloatingVector A>
auto floor(const A &a, SourceLocation where = std::source_location::current()) {
  return map(a, [](const auto &x) { return lang::component::floor(x); }, where);
}
template <lang::VectorValue A, lang::VectorValue B>
auto min(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::with_vectors(a, b, where, []<class T, int N>(const Vector<T, N> &v, const Vector<T, N> &w) {
    return Vector<T, N>::generate([&](int i) { return lang::component::min(v[i], w[i]); });
  });
}
template <lang::VectorValue A, lang::VectorValue B>
auto max(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  return lang::with_vectors(a, b, where, []<class T, int N>(const Vector<T, N> &v, const Vector<T, N> &w) {
    return Vector<T, N>::generate([&](int i) { return lang::component::max(v[i], w[i]); });
  });
}
// Clamps between two vectors, or two scalars.
template <lang::VectorValue A, class L, class H>
auto clamp(const A &a, const L &low, const H &high, SourceLocation where = std::source_location::current()) {
  using V = lang::vector_type_of<A>;
  auto bound = [&](const auto &limit) {
    if constexpr (lang::VectorValue<decltype(limit)>)
      return lang::loaded(limit, where);
    else
      return V::filled(lang::ComponentOperand<lang::component_of<A>>(limit));
  };
  const lang::Attributed<lang::component_of<A>> at(where);
  return min(max(a, bound(low)), bound(high));
}

template <lang::VectorValue A>
auto sum(const A &a, SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<A>;
  const lang::Attributed<T> at(where);
  const lang::vector_type_of<A> &v = lang::loaded(a, where);
  T result = v[0];
  for (int i = 1; i < v.size(); ++i) result = result + v[i];
  return result;
}
template <lang::VectorValue A>
auto product(const A &a, SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<A>;
  const lang::Attributed<T> at(where);
  const lang::vector_type_of<A> &v = lang::loaded(a, where);
  T result = v[0];
  for (int i = 1; i < v.size(); ++i) result = result * v[i];
  return result;
}
// The smallest and the largest component.
template <lang::VectorValue A>
auto minimum(const A &a, SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<A>;
  const lang::Attributed<T> at(where);
  const lang::vector_type_of<A> &v = lang::loaded(a, where);
  T result = v[0];
  for (int i = 1; i < v.size(); ++i) result = lang::component::min(result, v[i]);
  return result;
}
template <lang::VectorValue A>
auto maximum(const A &a, SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<A>;
  const lang::Attributed<T> at(where);
  const lang::vector_type_of<A> &v = lang::loaded(a, where);
  T result = v[0];
  for (int i = 1; i < v.size(); ++i) result = lang::component::max(result, v[i]);
  return result;
}

// The direction `a` after reflection at a surface with unit normal `normal`.
template <lang::FloatingVector A, lang::FloatingVector B>
auto reflect(const A &a, const B &normal, SourceLocation where = std::source_location::current()) {
  return lang::with_vectors(a, normal, where, [](const auto &v, const auto &n) { return v - n * (dot(v, n) * 2); });
}

template <lang::VectorValue A>
auto stop_gradient(const A &a, SourceLocation where = std::source_location::current())
  requires lang::FloatingVector<A>
{
  return map(a, [](const auto &x) { return lang::component::stop_gradient(x); }, where);
}

// The vector a where `condition` holds, else b; both are computed.
template <lang::VectorValue A, lang::VectorValue B>
  requires std::same_as<lang::TruthOf<lang::component_of<A>>, Bool>
auto select(const Operand<bool> &condition, const A &a, const B &b) {
  return lang::with_vectors(a, b, condition.where(), [&]<class T, int N>(const Vector<T, N> &v, const Vector<T, N> &w) {
    const Bool chosen = Bool::copy(condition.value(), condition.where());
    return Vector<T, N>::generate([&](int i) { return select(chosen, v[i], w[i]); });
  });
}
template <lang::VectorValue A>
  requires std::same_as<lang::TruthOf<lang::component_of<A>>, bool>
A select(bool condition, const A &a, const A &b) {
  return condition ? a : b;
}

// Two vectors that cannot be combined: one readable message instead of a list of candidates.
namespace lang {
template <class A, class B>
concept DifferentVectors = VectorValue<A> && VectorValue<B> && !SameVector<A, B>;
}
template <class A, class B>
  requires lang::DifferentVectors<A, B>
auto operator+(const A &a, const B &b) {
  return lang::with_vectors(a, b, {}, [](const auto &v, const auto &) { return v; });
}
template <class A, class B>
  requires lang::DifferentVectors<A, B>
auto operator-(const A &a, const B &b) {
  return lang::with_vectors(a, b, {}, [](const auto &v, const auto &) { return v; });
}
template <class A, class B>
  requires lang::DifferentVectors<A, B>
auto operator*(const A &a, const B &b) {
  return lang::with_vectors(a, b, {}, [](const auto &v, const auto &) { return v; });
}
template <class A, class B>
  requires lang::DifferentVectors<A, B>
auto operator/(const A &a, const B &b) {
  return lang::with_vectors(a, b, {}, [](const auto &v, const auto &) { return v; });
}

}  // namespace samite
