// Euler angles of rotations, in radians.
//
//   Quatf q = euler_rotation(Vec3f{roll, pitch, yaw});    // about the axes x, then y, then z, which stay where they
//   are Vec3f angles = euler_angles(q);                        // or of a rotation matrix
//
// The same rotation is one about z, then about the new y, then about the newest x. The first and the third angle are
// between -π and π, the second between -π/2 and π/2. If the second is ±π/2, only a sum of the other two is defined: the
// first is then 0 and has no gradient.
#pragma once

#include "samite/lang/algebra/quaternion.h"

namespace samite {

template <lang::VectorValue A>
auto euler_rotation(const A &a, SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<A>;
  static_assert(lang::size_of_vector<A> == 3, "euler_rotation is of three angles");
  const lang::Attributed<T> at(where);
  const Vector<T, 3> half = lang::loaded(a, where) * T(0.5);
  const auto about = [&](int axis) {
    const T sine = lang::component::sin(half[axis]);
    return Quaternion<T>(Vector<T, 3>::unit(axis) * sine, lang::component::cos(half[axis]));
  };
  return about(2) * about(1) * about(0);
}

template <lang::MatrixValue A>
auto euler_angles(const A &a, SourceLocation where = std::source_location::current()) {
  static_assert(lang::rows_of<A> == 3 && lang::columns_of<A> == 3, "euler_angles are of a 3×3 matrix");
  return lang::with_matrix(a, where, [&]<class T>(const Matrix<T, 3, 3> &m) {
    namespace component = lang::component;
    const T cosine = norm(Vector<T, 2>(m(2, 1), m(2, 2)), where);
    constexpr double least = std::same_as<typename lang::ComponentOf<T>::Scalar, double> ? 1e-14 : 1e-6;
    const lang::TruthOf<T> locked = cosine < T(least);
    const auto either_of = [&](const T &where_locked, const T &otherwise) {
      return component::select(locked, where_locked, otherwise);
    };
    return Vector<T, 3>(component::atan2(either_of(T(0), m(2, 1)), either_of(T(1), m(2, 2))),
                        component::atan2(T(-m(2, 0)), cosine),
                        component::atan2(either_of(T(-m(0, 1)), m(1, 0)), either_of(m(1, 1), m(0, 0))));
  });
}
template <lang::QuaternionValue A>
auto euler_angles(const A &a, SourceLocation where = std::source_location::current()) {
  return euler_angles(to_matrix(a, where), where);
}

}  // namespace samite
