// What vectors and matrices are made of: a traced scalar in a kernel, a number on the host.
//
// The templates of this folder are written once for both. `component::sqrt(x)`, `component::select(c, a, b)` and so on
// are the functions of lang/math.h for traced scalars and those of <cmath> for numbers.
#pragma once

#include "samite/base/error.h"
#include "samite/lang/attributed.h"
#include "samite/lang/math.h"

#include <cmath>

namespace samite {
namespace lang {

// A number on the host, of the type of the vector that it meets.
template <Scalar T>
class HostOperand {
 public:
  template <LiteralFor<T> A>
  HostOperand(A value) : value_(static_cast<T>(value)) {}
  SourceLocation where() const { return {}; }
  T value() const { return value_; }

 private:
  T value_;
};

template <class T>
struct ComponentOf;
template <Scalar T>
  requires(!std::is_const_v<T>)
struct ComponentOf<T> {
  using Scalar = T;
  using Truth = bool;
  using Operand = HostOperand<T>;
  static T from(const Operand &operand) { return operand.value(); }
};
template <Scalar T>
struct ComponentOf<Traced<T>> {
  using Scalar = T;
  using Truth = Bool;
  using Operand = samite::Operand<T>;
  static Traced<T> from(const Operand &operand) { return Traced<T>::copy(operand.value(), operand.where()); }
};

// A traced scalar or a host's number.
template <class T>
concept Component = requires { typename ComponentOf<T>::Scalar; };
template <class T>
concept FloatingComponent = Component<T> && std::floating_point<typename ComponentOf<T>::Scalar>;

// What converts to a component, with the line where it was written; and Bool or bool.
template <class T>
using ComponentOperand = typename ComponentOf<T>::Operand;
template <class T>
using TruthOf = typename ComponentOf<T>::Truth;

// The index of a component, known when the kernel is captured.
class ComponentIndex {
 public:
  template <class A>
  ComponentIndex(const A &index, SourceLocation where = std::source_location::current()) : where_(where) {
    static_assert(!TracedValue<A>,
                  "a component of a vector or matrix is chosen by a C++ integer, not by a traced one; a LocalArray has "
                  "an index that the kernel computes");
    static_assert(TracedValue<A> || std::integral<A>, "a component is chosen by an integer");
    if constexpr (std::integral<A>) value_ = static_cast<int>(index);
  }
  // UserError unless 0 ≤ index < size; `what` is "component", "row" or "column".
  std::size_t within(int size, const char *what) const {
    if (value_ < 0 || value_ >= size) fail(size, what);
    return static_cast<std::size_t>(value_);
  }

 private:
  [[noreturn]] void fail(int size, const char *what) const;

  int value_ = 0;
  SourceLocation where_;
};

namespace component {

using samite::abs;
using samite::acos;
using samite::atan2;
using samite::copysign;
using samite::cos;
using samite::floor;
using samite::log;
using samite::max;
using samite::min;
using samite::select;
using samite::sin;
using samite::sqrt;
using samite::stop_gradient;

template <std::floating_point T>
T acos(T a) {
  return std::acos(a);
}
template <std::floating_point T>
T atan2(T a, T b) {
  return std::atan2(a, b);
}
template <std::floating_point T>
T copysign(T a, T b) {
  return std::copysign(a, b);
}
template <std::floating_point T>
T cos(T a) {
  return std::cos(a);
}
template <std::floating_point T>
T floor(T a) {
  return std::floor(a);
}
template <std::floating_point T>
T log(T a) {
  return std::log(a);
}
template <std::floating_point T>
T sin(T a) {
  return std::sin(a);
}
template <std::floating_point T>
T sqrt(T a) {
  return std::sqrt(a);
}
template <std::floating_point T>
T stop_gradient(T a) {
  return a;
}
template <Scalar T>
T abs(T a) {
  return static_cast<T>(a < T{0} ? -a : a);
}
template <Scalar T>
T min(T a, T b) {
  if constexpr (std::floating_point<T>) return std::fmin(a, b);
  return b < a ? b : a;
}
template <Scalar T>
T max(T a, T b) {
  if constexpr (std::floating_point<T>) return std::fmax(a, b);
  return a < b ? b : a;
}
template <Scalar T>
T select(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace component
}  // namespace lang
}  // namespace samite
