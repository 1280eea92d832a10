// Rigid transforms: a rotation, then a translation.
//
//   Transformf body{position, orientation};
//   Vec3f world = transform_point(body, local);            // orientation turns it, position is added
//   Transformf hand = body * arm * wrist;                   // wrist first
//   Vec3f back = transform_point(inverse(body), world);
//
// The orientation is a unit quaternion; rounding makes long products drift from unit length, and normalize() restores
// it. An array stores x, y, z of the position, then x, y, z, w of the orientation.
#pragma once

#include "samite/lang/algebra/quaternion.h"

namespace samite {

template <lang::FloatingComponent T>
class Transform;

using Transformf = Transform<Float>;
using Transformd = Transform<Double>;

namespace lang {

template <class T>
struct TransformOperators {
  using X = Transform<T>;

  // The transform b, then a.
  friend X operator*(const AlgebraOperand<X> &a, const AlgebraOperand<X> &b) {
    const Attributed<T> at(a.where());
    const X &first = *b, &then = *a;
    return X(rotate(then.rotation, first.translation) + then.translation, then.rotation * first.rotation);
  }
};

}  // namespace lang

template <lang::FloatingComponent T>
class Transform : public lang::TransformOperators<T> {
 public:
  using component_type = T;

  Vector<T, 3> translation;
  Quaternion<T> rotation;

  // The identity.
  Transform(SourceLocation where = std::source_location::current()) : translation(where), rotation(where) {}
  Transform(Vector<T, 3> translation, Quaternion<T> rotation)
      : translation(std::move(translation)), rotation(std::move(rotation)) {}
  Transform(const Transform &other, SourceLocation where = std::source_location::current())
      : translation(other.translation, where), rotation(other.rotation, where) {}
  Transform(Transform &&) noexcept = default;
  template <lang::ReferenceTo<Transform> A>
  Transform(const A &reference, SourceLocation where = std::source_location::current())
      : Transform(reference.load(where)) {}
  Transform &operator=(const Transform &) = default;
  Transform &operator=(Transform &&) = default;
  ~Transform() = default;

  Transform &operator*=(const lang::AlgebraOperand<Transform> &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this * *b;
  }
};

namespace lang {

template <class A>
struct TransformOf {
  static constexpr bool is_transform = false;
};
template <class T>
struct TransformOf<Transform<T>> {
  static constexpr bool is_transform = true;
  using component = T;
};
template <class A>
  requires requires { typename A::referenced_type; }
struct TransformOf<A> : TransformOf<typename A::referenced_type> {};
template <class A>
concept TransformValue = TransformOf<std::remove_cvref_t<A>>::is_transform;

template <class A, class F>
auto with_transform(const A &a, SourceLocation where, const F &function) {
  const Attributed<typename TransformOf<A>::component> at(where);
  return function(loaded(a, where));
}
template <class A, class B>
concept TransformOfVector =
    TransformValue<A> && VectorValue<B> &&
    std::same_as<vector_type_of<B>, Vector<typename TransformOf<std::remove_cvref_t<A>>::component, 3>>;

}  // namespace lang

// Transforms a position: rotates and translates it.
template <lang::TransformValue A, class B>
  requires lang::TransformOfVector<A, B>
auto transform_point(const A &a, const B &point, SourceLocation where = std::source_location::current()) {
  return lang::with_transform(a, where, [&]<class T>(const Transform<T> &transform) {
    return rotate(transform.rotation, lang::loaded(point, where)) + transform.translation;
  });
}
// Transforms a direction, velocity or force: only rotates it.
template <lang::TransformValue A, class B>
  requires lang::TransformOfVector<A, B>
auto transform_direction(const A &a, const B &direction, SourceLocation where = std::source_location::current()) {
  return lang::with_transform(a, where, [&]<class T>(const Transform<T> &transform) {
    return rotate(transform.rotation, lang::loaded(direction, where));
  });
}
template <lang::TransformValue A>
auto inverse(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_transform(a, where, []<class T>(const Transform<T> &transform) {
    const Quaternion<T> back = conjugate(transform.rotation);
    return Transform<T>(-rotate(back, transform.translation), back);
  });
}
template <lang::TransformValue A>
auto normalize(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_transform(a, where, []<class T>(const Transform<T> &transform) {
    return Transform<T>(transform.translation, normalize(transform.rotation));
  });
}
// 4×4, for column vectors x, y, z, 1.
template <lang::TransformValue A>
auto to_matrix(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_transform(a, where, []<class T>(const Transform<T> &transform) {
    const Matrix<T, 3, 3> m = to_matrix(transform.rotation);
    return Matrix<T, 4, 4>::generate([&](int i, int j) {
      if (i == 3) return T(j == 3 ? 1 : 0);
      return j == 3 ? T(transform.translation[i]) : T(m(i, j));
    });
  });
}

}  // namespace samite
