// Vectors of one to sixteen components.
//
//   Vec3f v{x, 0, 1};                    // of traced values and literals; Vec3f() is zeros
//   v[0] = 2;  v.z() += x;               // components, by a C++ integer
//   v[k] += 1;                           // or by a traced one
//   Vec3f n = normalize(cross(v, w));
//   Vector<float, 3> on_the_host{1, 2, 3};
//
// `Vector<T, N>` holds components of type T: a traced scalar in a kernel (Vec3f is Vector<Float, 3>), or a number on
// the host, for which the same functions compute at once. The IR has no vectors: a kernel of vectors becomes a kernel
// of their components.
//
// Operators work component by component, including `*` and `/`; a scalar scales a vector. Two vectors can be combined
// only if size and type agree: `Vec3d(v)` converts. A traced index selects among all components, so it costs one
// operation for each; an index outside reads zero, and assigning to it has no effect. Functions that divide by a norm
// are safe at zero, where they give zero, with a gradient of zero.
#pragma once

#include "samite/lang/algebra/component.h"

#include <array>
#include <optional>

namespace samite {

template <lang::Component T, int N>
class Vector;

using Vec2f = Vector<Float, 2>;
using Vec3f = Vector<Float, 3>;
using Vec4f = Vector<Float, 4>;
using Vec5f = Vector<Float, 5>;
using Vec6f = Vector<Float, 6>;
using Vec2d = Vector<Double, 2>;
using Vec3d = Vector<Double, 3>;
using Vec4d = Vector<Double, 4>;
using Vec5d = Vector<Double, 5>;
using Vec6d = Vector<Double, 6>;
using Vec2i = Vector<Int, 2>;
using Vec3i = Vector<Int, 3>;
using Vec4i = Vector<Int, 4>;

namespace lang {

// A reference to a value of type V stored elsewhere, such as in an array: load(where) returns its current value.
template <class A, class V>
concept ReferenceTo = std::same_as<typename A::referenced_type, V> && requires(const A &a, SourceLocation where) {
  { a.load(where) } -> std::same_as<V>;
};

template <class A>
struct VectorOf {
  static constexpr bool is_vector = false;
};
template <Component T, int N>
struct VectorOf<Vector<T, N>> {
  static constexpr bool is_vector = true;
  using type = Vector<T, N>;
  using component = T;
  static constexpr int size = N;
};
template <class A>
  requires requires { typename A::referenced_type; }
struct VectorOf<A> : VectorOf<typename A::referenced_type> {};

template <class A>
concept VectorValue = VectorOf<std::remove_cvref_t<A>>::is_vector;
template <VectorValue A>
using vector_type_of = typename VectorOf<std::remove_cvref_t<A>>::type;
template <VectorValue A>
using component_of = typename VectorOf<std::remove_cvref_t<A>>::component;
template <VectorValue A>
inline constexpr int size_of_vector = VectorOf<std::remove_cvref_t<A>>::size;

// A vector as one operand of an operator, with the line where it was written.
template <class V>
class AlgebraOperand {
 public:
  AlgebraOperand(const V &value, SourceLocation where = std::source_location::current())
      : value_(&value), where_(where) {}
  template <ReferenceTo<V> A>
  AlgebraOperand(const A &reference, SourceLocation where = std::source_location::current())
      : loaded_(reference.load(where)), value_(&*loaded_), where_(where) {}
  AlgebraOperand(const AlgebraOperand &) = delete;
  AlgebraOperand &operator=(const AlgebraOperand &) = delete;

  const V &operator*() const { return *value_; }
  const auto &operator[](int i) const { return value_->begin()[i]; }
  SourceLocation where() const { return where_; }

 private:
  std::optional<V> loaded_;
  const V *value_;
  SourceLocation where_;
};

// For functions: the value of a V, or of a reference to one. A V is passed through, since a copy would be captured.
template <class V>
const V &loaded(const V &value, SourceLocation)
  requires(!requires { typename V::referenced_type; })
{
  return value;  // NOLINT(bugprone-return-const-ref-from-parameter): callers name what they pass
}
template <class V>
const V &loaded(const V &&, SourceLocation) = delete;
template <class A>
typename A::referenced_type loaded(const A &reference, SourceLocation where) {
  return reference.load(where);
}

// The operators of Vector<T, N>, and of references to one, found by argument-dependent look-up.
template <class T, int N>
struct VectorOperators {
  using V = Vector<T, N>;
  using VectorOperand = AlgebraOperand<V>;
  using ScalarOperand = ComponentOperand<T>;

  friend V operator+(const VectorOperand &a, const VectorOperand &b) {
    const Attributed<T> at(a.where());
    return V::generate([&](int i) { return T(a[i] + b[i]); });
  }
  friend V operator-(const VectorOperand &a, const VectorOperand &b) {
    const Attributed<T> at(a.where());
    return V::generate([&](int i) { return T(a[i] - b[i]); });
  }
  friend V operator*(const VectorOperand &a, const VectorOperand &b) {
    const Attributed<T> at(a.where());
    return V::generate([&](int i) { return T(a[i] * b[i]); });
  }
  friend V operator/(const VectorOperand &a, const VectorOperand &b) {
    const Attributed<T> at(a.where());
    return V::generate([&](int i) { return T(a[i] / b[i]); });
  }
  friend V operator*(const VectorOperand &a, const ScalarOperand &b) {
    const Attributed<T> at(a.where());
    const T scalar = ComponentOf<T>::from(b);
    return V::generate([&](int i) { return T(a[i] * scalar); });
  }
  friend V operator*(const ScalarOperand &a, const VectorOperand &b) {
    const Attributed<T> at(b.where());
    const T scalar = ComponentOf<T>::from(a);
    return V::generate([&](int i) { return T(scalar * b[i]); });
  }
  friend V operator/(const VectorOperand &a, const ScalarOperand &b) {
    const Attributed<T> at(a.where());
    const T scalar = ComponentOf<T>::from(b);
    return V::generate([&](int i) { return T(a[i] / scalar); });
  }
  friend V operator/(const ScalarOperand &a, const VectorOperand &b) {
    const Attributed<T> at(b.where());
    const T scalar = ComponentOf<T>::from(a);
    return V::generate([&](int i) { return T(scalar / b[i]); });
  }
  friend V operator-(const VectorOperand &a) {
    const Attributed<T> at(a.where());
    return V::generate([&](int i) { return T(-a[i]); });
  }

  // Whether all components are equal; whether any is not.
  friend TruthOf<T> operator==(const VectorOperand &a, const VectorOperand &b) {
    const Attributed<T> at(a.where());
    TruthOf<T> all = a[0] == b[0];
    for (int i = 1; i < N; ++i) all = all && a[i] == b[i];
    return all;
  }
  friend TruthOf<T> operator!=(const VectorOperand &a, const VectorOperand &b) {
    const Attributed<T> at(a.where());
    return !(*a == *b);
  }
};

// One operand for each index in I: the constructor's arguments.
template <std::size_t, class A>
using Repeated = A;

template <class T, int N, class Indices>
class ComponentStorage;
template <class T, int N, std::size_t... I>
class ComponentStorage<T, N, std::index_sequence<I...>> {
 public:
  // Zeros.
  ComponentStorage(SourceLocation where = std::source_location::current())
      : ComponentStorage([](int) { return T{}; }, Attributed<T>(where)) {}
  ComponentStorage(const Repeated<I, ComponentOperand<T>> &...components)
      : components_{ComponentOf<T>::from(components)...} {}
  ComponentStorage(const ComponentStorage &other, SourceLocation where = std::source_location::current())
      : ComponentStorage([&](int i) { return T(other.component(i)); }, Attributed<T>(where)) {}
  ComponentStorage(ComponentStorage &&) noexcept = default;
  ComponentStorage &operator=(const ComponentStorage &) = default;
  ComponentStorage &operator=(ComponentStorage &&) = default;
  ~ComponentStorage() = default;

  T *begin() { return components_.data(); }
  T *end() { return components_.data() + N; }
  const T *begin() const { return components_.data(); }
  const T *end() const { return components_.data() + N; }

 protected:
  template <class F>
  ComponentStorage(const F &component, const Attributed<T> &) : components_{component(static_cast<int>(I))...} {}

  T &component(std::size_t i) { return components_[i]; }
  const T &component(std::size_t i) const { return components_[i]; }

 private:
  std::array<T, N> components_;
};

}  // namespace lang

template <lang::Component T, int N>
class Vector : public lang::VectorOperators<T, N>,
               public lang::ComponentStorage<T, N, std::make_index_sequence<static_cast<std::size_t>(N)>> {
  static_assert(N >= 1 && N <= 16, "a Vector has 1 to 16 components");
  using Storage = lang::ComponentStorage<T, N, std::make_index_sequence<static_cast<std::size_t>(N)>>;
  using VectorOperand = lang::AlgebraOperand<Vector>;
  using ScalarOperand = lang::ComponentOperand<T>;

 public:
  using component_type = T;
  static constexpr int size() { return N; }

  // N scalars; no arguments give zeros.
  using Storage::Storage;
  Vector(SourceLocation where = std::source_location::current()) : Storage(where) {}
  Vector(const Vector &other, SourceLocation where = std::source_location::current()) : Storage(other, where) {}
  Vector(Vector &&) noexcept = default;
  template <lang::ReferenceTo<Vector> A>
  Vector(const A &reference, SourceLocation where = std::source_location::current()) : Vector(reference.load(where)) {}

  // Converts the components as lang/traced.h does; in a kernel, also from the host's numbers.
  template <class U>
    requires(!std::same_as<U, T>)
  explicit Vector(const Vector<U, N> &other, SourceLocation where = std::source_location::current())
      : Vector(generate([&](int i) { return T(other[i]); }, where)) {}

  Vector &operator=(const Vector &) = default;
  Vector &operator=(Vector &&) = default;
  ~Vector() = default;

  // component(0), component(1), …
  template <class F>
  static Vector generate(const F &component, SourceLocation where = std::source_location::current()) {
    return Vector(component, lang::Attributed<T>(where));
  }
  static Vector filled(const ScalarOperand &value) {
    const lang::Attributed<T> at(value.where());
    const T scalar = lang::ComponentOf<T>::from(value);
    return generate([&](int) { return T(scalar); });
  }
  // 1 along axis i, zero along the others.
  static Vector unit(int i, SourceLocation where = std::source_location::current()) {
    return generate([&](int j) { return T(i == j ? 1 : 0); }, where);
  }

  T &operator[](lang::ComponentIndex i) { return this->component(i.within(N, "component")); }
  const T &operator[](lang::ComponentIndex i) const { return this->component(i.within(N, "component")); }
  // A reference, like an element of an array.
  auto operator[](const lang::TracedIndex &i) & { return lang::chosen_component(this->begin(), N, i); }
  auto operator[](const lang::TracedIndex &i) const & { return lang::chosen_component(this->begin(), N, i); }

  T &x() { return (*this)[0]; }
  const T &x() const { return (*this)[0]; }
  T &y()
    requires(N >= 2)
  {
    return (*this)[1];
  }
  const T &y() const
    requires(N >= 2)
  {
    return (*this)[1];
  }
  T &z()
    requires(N >= 3)
  {
    return (*this)[2];
  }
  const T &z() const
    requires(N >= 3)
  {
    return (*this)[2];
  }
  T &w()
    requires(N >= 4)
  {
    return (*this)[3];
  }
  const T &w() const
    requires(N >= 4)
  {
    return (*this)[3];
  }

  Vector &operator+=(const VectorOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this + *b;
  }
  Vector &operator-=(const VectorOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this - *b;
  }
  Vector &operator*=(const VectorOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this * *b;
  }
  Vector &operator/=(const VectorOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this / *b;
  }
  Vector &operator*=(const ScalarOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this * lang::ComponentOf<T>::from(b);
  }
  Vector &operator/=(const ScalarOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this / lang::ComponentOf<T>::from(b);
  }

 private:
  template <class F>
  Vector(const F &component, const lang::Attributed<T> &at) : Storage(component, at) {}
};

}  // namespace samite
