// Quaternions that represent rotations in three dimensions.
//
//   Quatf q = Quatf::from_axis_angle({0, 0, 1}, angle);   // in radians, counter-clockwise seen against the axis
//   Vec3f turned = rotate(q * p, v);                       // p first, then q
//
// x i + y j + z k + w, given and stored in the order x, y, z, w. Quaternion() is the identity, 0, 0, 0, 1. Functions of
// rotations (rotate, to_matrix, slerp, rotation_vector) expect unit quaternions; rounding makes long products drift
// from unit length, and normalize() restores it.
#pragma once

#include "samite/lang/algebra/matrix_functions.h"

namespace samite {

template <lang::FloatingComponent T>
class Quaternion;

using Quatf = Quaternion<Float>;
using Quatd = Quaternion<Double>;

namespace lang {

template <class T>
struct QuaternionOperators {
  using Q = Quaternion<T>;
  using QuaternionOperand = AlgebraOperand<Q>;
  using ScalarOperand = ComponentOperand<T>;

  friend Q operator+(const QuaternionOperand &a, const QuaternionOperand &b) {
    const Attributed<T> at(a.where());
    return Q::generate([&](int i) { return T(a[i] + b[i]); });
  }
  friend Q operator-(const QuaternionOperand &a, const QuaternionOperand &b) {
    const Attributed<T> at(a.where());
    return Q::generate([&](int i) { return T(a[i] - b[i]); });
  }
  friend Q operator-(const QuaternionOperand &a) {
    const Attributed<T> at(a.where());
    return Q::generate([&](int i) { return T(-a[i]); });
  }
  friend Q operator*(const QuaternionOperand &a, const ScalarOperand &b) {
    const Attributed<T> at(a.where());
    const T scalar = ComponentOf<T>::from(b);
    return Q::generate([&](int i) { return T(a[i] * scalar); });
  }
  friend Q operator*(const ScalarOperand &a, const QuaternionOperand &b) {
    const Attributed<T> at(b.where());
    const T scalar = ComponentOf<T>::from(a);
    return Q::generate([&](int i) { return T(scalar * b[i]); });
  }
  friend Q operator/(const QuaternionOperand &a, const ScalarOperand &b) {
    const Attributed<T> at(a.where());
    const T scalar = ComponentOf<T>::from(b);
    return Q::generate([&](int i) { return T(a[i] / scalar); });
  }
  // Hamilton's product: the rotation b, then the rotation a.
  friend Q operator*(const QuaternionOperand &a, const QuaternionOperand &b) {
    const Attributed<T> at(a.where());
    return Q(
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]);
  }
};

}  // namespace lang

template <lang::FloatingComponent T>
class Quaternion : public lang::QuaternionOperators<T>,
                   public lang::ComponentStorage<T, 4, std::make_index_sequence<4>> {
  using Storage = lang::ComponentStorage<T, 4, std::make_index_sequence<4>>;
  using QuaternionOperand = lang::AlgebraOperand<Quaternion>;
  using ScalarOperand = lang::ComponentOperand<T>;

 public:
  using component_type = T;

  // x, y, z, w; no arguments give the identity.
  using Storage::Storage;
  Quaternion(SourceLocation where = std::source_location::current())
      : Quaternion(generate([](int i) { return T(i == 3 ? 1 : 0); }, where)) {}
  Quaternion(const Vector<T, 3> &vector, const ScalarOperand &w) : Quaternion(vector[0], vector[1], vector[2], w) {}
  Quaternion(const Quaternion &other, SourceLocation where = std::source_location::current()) : Storage(other, where) {}
  Quaternion(Quaternion &&) noexcept = default;
  template <lang::ReferenceTo<Quaternion> A>
  Quaternion(const A &reference, SourceLocation where = std::source_location::current())
      : Quaternion(reference.load(where)) {}
  template <class U>
    requires(!std::same_as<U, T>)
  explicit Quaternion(const Quaternion<U> &other, SourceLocation where = std::source_location::current())
      : Quaternion(generate([&](int i) { return T(other.begin()[i]); }, where)) {}
  Quaternion &operator=(const Quaternion &) = default;
  Quaternion &operator=(Quaternion &&) = default;
  ~Quaternion() = default;

  template <class F>
  static Quaternion generate(const F &component, SourceLocation where = std::source_location::current()) {
    return Quaternion(component, lang::Attributed<T>(where));
  }

  // A rotation by `angle` radians about `axis`, which may have any length but zero.
  static Quaternion from_axis_angle(const Vector<T, 3> &axis, const ScalarOperand &angle,
                                    SourceLocation where = std::source_location::current()) {
    const lang::Attributed<T> at(where);
    const T half = lang::ComponentOf<T>::from(angle) * T(0.5);
    return Quaternion(normalize(axis) * lang::component::sin(half), lang::component::cos(half));
  }
  // A rotation by |vector| radians about `vector`: the exponential of vector / 2, also smooth at zero.
  static Quaternion from_rotation_vector(const Vector<T, 3> &vector,
                                         SourceLocation where = std::source_location::current());
  // From a rotation matrix; the result for any other matrix means nothing.
  static Quaternion from_matrix(const Matrix<T, 3, 3> &m, SourceLocation where = std::source_location::current());

  T &x() { return this->component(0); }
  T &y() { return this->component(1); }
  T &z() { return this->component(2); }
  T &w() { return this->component(3); }
  const T &x() const { return this->component(0); }
  const T &y() const { return this->component(1); }
  const T &z() const { return this->component(2); }
  const T &w() const { return this->component(3); }
  Vector<T, 3> vector(SourceLocation where = std::source_location::current()) const {
    return Vector<T, 3>::generate([&](int i) { return T(this->begin()[i]); }, where);
  }

  Quaternion &operator*=(const QuaternionOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this * *b;
  }
  Quaternion &operator+=(const QuaternionOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this + *b;
  }
  Quaternion &operator*=(const ScalarOperand &b) {
    const lang::Attributed<T> at(b.where());
    return *this = *this * lang::ComponentOf<T>::from(b);
  }

 private:
  template <class F>
  Quaternion(const F &component, const lang::Attributed<T> &at) : Storage(component, at) {}
};

namespace lang {

template <class A>
struct QuaternionOf {
  static constexpr bool is_quaternion = false;
};
template <class T>
struct QuaternionOf<Quaternion<T>> {
  static constexpr bool is_quaternion = true;
  using component = T;
};
template <class A>
  requires requires { typename A::referenced_type; }
struct QuaternionOf<A> : QuaternionOf<typename A::referenced_type> {};
template <class A>
concept QuaternionValue = QuaternionOf<std::remove_cvref_t<A>>::is_quaternion;
template <QuaternionValue A>
using quaternion_component = typename QuaternionOf<std::remove_cvref_t<A>>::component;

template <class A, class F>
auto with_quaternion(const A &a, SourceLocation where, const F &function) {
  const Attributed<quaternion_component<A>> at(where);
  return function(loaded(a, where));
}

// Below this angle, series replace quotients whose derivatives would lose precision.
template <class T>
constexpr double small_angle = std::same_as<typename ComponentOf<T>::Scalar, double> ? 0.005 : 0.1;

}  // namespace lang

template <lang::QuaternionValue A>
auto conjugate(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_quaternion(
      a, where, []<class T>(const Quaternion<T> &q) { return Quaternion<T>(-q.x(), -q.y(), -q.z(), q.w()); });
}
template <lang::QuaternionValue A, lang::QuaternionValue B>
auto dot(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  const lang::Attributed<lang::quaternion_component<A>> at(where);
  const auto &p = lang::loaded(a, where);
  const auto &q = lang::loaded(b, where);
  return p.x() * q.x() + p.y() * q.y() + p.z() * q.z() + p.w() * q.w();
}
template <lang::QuaternionValue A>
auto norm_squared(const A &a, SourceLocation where = std::source_location::current()) {
  return dot(a, a, where);
}
// 0 with a gradient of 0 for the zero quaternion.
template <lang::QuaternionValue A>
auto norm(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_quaternion(
      a, where, [&](const auto &q) { return lang::root_of_squares(q.begin(), std::make_index_sequence<4>(), where); });
}
// The unit quaternion; zero, with a gradient of 0, for the zero quaternion.
template <lang::QuaternionValue A>
auto normalize(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_quaternion(a, where, [&](const auto &q) { return lang::over_length(q, norm(q, where)); });
}
// For any quaternion but zero: conjugate over squared norm.
template <lang::QuaternionValue A>
auto inverse(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_quaternion(a, where, [&](const auto &q) {
    const auto length = norm(q, where);
    return conjugate(q) / length / length;
  });
}

// The vector turned by the unit quaternion.
template <lang::QuaternionValue A, lang::VectorValue B>
auto rotate(const A &a, const B &b, SourceLocation where = std::source_location::current()) {
  static_assert(std::same_as<lang::vector_type_of<B>, Vector<lang::quaternion_component<A>, 3>>,
                "rotate needs a vector of three components, of the quaternion's component type");
  return lang::with_quaternion(a, where, [&]<class T>(const Quaternion<T> &q) {
    const Vector<T, 3> &v = lang::loaded(b, where);
    const Vector<T, 3> u = q.vector();
    const Vector<T, 3> t = cross(u, v) * 2;
    return v + t * q.w() + cross(u, t);
  });
}

// Refused: some expect this rotation, others a product with the vector as a quaternion.
template <lang::QuaternionValue A, lang::VectorValue B>
lang::vector_type_of<B> operator*(const A &, const B &b) {
  static_assert(!lang::QuaternionValue<A>, "a quaternion turns a vector by rotate(q, v)");
  return lang::loaded(b, {});
}
template <lang::VectorValue A, lang::QuaternionValue B>
lang::vector_type_of<A> operator*(const A &a, const B &) {
  static_assert(!lang::QuaternionValue<B>,
                "a quaternion turns a vector by rotate(q, v), or back by rotate(conjugate(q), v)");
  return lang::loaded(a, {});
}

template <lang::QuaternionValue A>
auto to_matrix(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_quaternion(a, where, []<class T>(const Quaternion<T> &q) {
    const T x2 = q.x() + q.x(), y2 = q.y() + q.y(), z2 = q.z() + q.z();
    const T xx = q.x() * x2, yy = q.y() * y2, zz = q.z() * z2, xy = q.x() * y2, xz = q.x() * z2, yz = q.y() * z2;
    const T wx = q.w() * x2, wy = q.w() * y2, wz = q.w() * z2;
    return Matrix<T, 3, 3>(T(1) - (yy + zz), xy - wz, xz + wy, xy + wz, T(1) - (xx + zz), yz - wx, xz - wy, yz + wx,
                           T(1) - (xx + yy));
  });
}

// The axis times the angle, 0 to π; the inverse of from_rotation_vector. Smooth at the identity.
template <lang::QuaternionValue A>
auto rotation_vector(const A &a, SourceLocation where = std::source_location::current()) {
  return lang::with_quaternion(a, where, []<class T>(const Quaternion<T> &p) {
    namespace component = lang::component;
    // q and -q are the same rotation; takes the one that turns by less than half a turn.
    const T sign = component::copysign(T(1), component::stop_gradient(p.w()));
    const Vector<T, 3> u = p.vector() * sign;
    const T w = p.w() * sign, square = norm_squared(u);
    const auto small = square < T(lang::small_angle<T> * lang::small_angle<T>);
    const T sine = component::sqrt(component::select(small, T(1), square));
    // angle / sin(angle / 2) = 2 atan(r) / |u| with r = |u| / w
    const T cosine = component::select(small, w, T(1)), r2 = square / (cosine * cosine);
    const T series = T(2) / cosine * (T(1) - r2 * (T(1) / T(3) - r2 * (T(0.2) - r2 * (T(1) / T(7) - r2 / T(9)))));
    return u * component::select(small, series, T(2) * component::atan2(sine, w) / sine);
  });
}

// From a at t = 0 to b at t = 1 by the shorter arc, at constant angular velocity. Both are unit quaternions; t may be
// outside of 0 to 1. Smooth also if a and b are the same rotation.
template <lang::QuaternionValue A, lang::QuaternionValue B>
auto slerp(const A &a, const B &b, const lang::ComponentOperand<lang::quaternion_component<A>> &t,
           SourceLocation where = std::source_location::current()) {
  return lang::with_quaternion(a, where, [&]<class T>(const Quaternion<T> &p) {
    namespace component = lang::component;
    const Quaternion<T> &far = lang::loaded(b, where);
    const T sign = component::copysign(T(1), component::stop_gradient(dot(p, far)));
    const Quaternion<T> q = far * sign;
    const T angle = T(2) * component::atan2(norm(p - q), norm(p + q));
    const auto small = angle < T(lang::small_angle<T>);
    const T inverse = T(1) / component::sin(component::select(small, T(1), angle)), square = angle * angle;
    // sin(s angle) / sin(angle)
    auto weight = [&](const T &s) {
      const T s2 = s * s;
      const T series = s * (T(1) + square * ((T(1) - s2) / T(6) + square * (T(7) + s2 * (s2 * T(3) - T(10))) / T(360)));
      return component::select(small, series, component::sin(s * angle) * inverse);
    };
    const T s = lang::ComponentOf<T>::from(t);
    return p * weight(T(1) - s) + q * weight(s);
  });
}

template <lang::FloatingComponent T>
Quaternion<T> Quaternion<T>::from_rotation_vector(const Vector<T, 3> &vector, SourceLocation where) {
  namespace component = lang::component;
  const lang::Attributed<T> at(where);
  const T square = norm_squared(vector);
  const auto small = square < T(lang::small_angle<T> * lang::small_angle<T>);
  const T angle = component::sqrt(component::select(small, T(1), square)), half = angle * T(0.5);
  const T sine = T(0.5) - square * (T(1) / T(48) - square / T(3840));
  const T cosine = T(1) - square * (T(0.125) - square / T(384));
  return Quaternion(vector * component::select(small, sine, component::sin(half) / angle),
                    component::select(small, cosine, component::cos(half)));
}

template <lang::FloatingComponent T>
Quaternion<T> Quaternion<T>::from_matrix(const Matrix<T, 3, 3> &m, SourceLocation where) {
  const lang::Attributed<T> at(where);
  const T a = m(0, 0), b = m(1, 1), c = m(2, 2);
  // 4 q[i] q for each i; the one with the largest q[i] loses no digits (Shepperd 1978).
  const Quaternion along_x(T(1) + a - b - c, m(1, 0) + m(0, 1), m(0, 2) + m(2, 0), m(2, 1) - m(1, 2));
  const Quaternion along_y(m(1, 0) + m(0, 1), T(1) - a + b - c, m(2, 1) + m(1, 2), m(0, 2) - m(2, 0));
  const Quaternion along_z(m(0, 2) + m(2, 0), m(2, 1) + m(1, 2), T(1) - a - b + c, m(1, 0) - m(0, 1));
  const Quaternion along_w(m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1), T(1) + a + b + c);
  auto larger = [](const auto &condition, const Quaternion &p, const Quaternion &q) {
    return generate([&](int i) { return lang::component::select(condition, p.begin()[i], q.begin()[i]); });
  };
  const Quaternion xy = larger(along_x.x() > along_y.y(), along_x, along_y);
  const T best_xy = lang::component::max(along_x.x(), along_y.y());
  const Quaternion zw = larger(along_z.z() > along_w.w(), along_z, along_w);
  const T best_zw = lang::component::max(along_z.z(), along_w.w());
  return normalize(larger(best_xy > best_zw, xy, zw));
}

}  // namespace samite
