// Components of vectors and matrices: a traced scalar in a kernel, a number on the host.
//
// The templates of this folder are written once for both. `component::sqrt(x)`, `component::select(c, a, b)` and so on
// are the functions of lang/math.h for traced scalars and those of <cmath> for numbers.
#pragma once

#include "samite/base/error.h"
#include "samite/lang/attributed.h"
#include "samite/lang/math.h"

#include <utility>

namespace samite {
namespace lang {

// A number on the host, converted to the component type of the vector it is combined with.
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
concept FloatingComponent = Component<T> && FloatingScalar<typename ComponentOf<T>::Scalar>;

// A value that converts to a component, with the line where it was written; and Bool or bool.
template <class T>
using ComponentOperand = typename ComponentOf<T>::Operand;
template <class T>
using TruthOf = typename ComponentOf<T>::Truth;

// The index of a component, known when the kernel is captured.
class ComponentIndex {
 public:
  template <class A>
    requires(!TracedValue<A>)
  ComponentIndex(const A &index, SourceLocation where = std::source_location::current()) : where_(where) {
    static_assert(std::integral<A>, "a component is chosen by an integer");
    if constexpr (std::integral<A>) value_ = std::in_range<int>(index) ? static_cast<int>(index) : -1;
  }
  // UserError unless 0 ≤ index < size; `what` is "component", "row" or "column".
  std::size_t within(int size, const char *what) const {
    if (value_ < 0 || value_ >= size) fail(size, what);
    return static_cast<std::size_t>(value_);
  }
  operator Index() const { return Index(value_, where_); }

 private:
  [[noreturn]] void fail(int size, const char *what) const;

  int value_ = 0;
  SourceLocation where_;
};

// An index that the kernel computes, with the line where it was written. Made by implicit conversion only.
class TracedIndex : public Index {
 public:
  template <TracedValue A>
    requires std::convertible_to<const A &, Index>
  TracedIndex(const A &index, SourceLocation where = std::source_location::current()) : Index(index, where) {}
};

// The component that the index selects among `count`, starting at `first`. An index outside reads zero and stores
// nothing.
template <Component T>
auto chosen_component(const T *, int, const Index &) {
  static_assert(!Scalar<T>, "a component of a value on the host is chosen by a C++ integer, not by a traced one");
}
template <Scalar T>
Element<T> chosen_component(Traced<T> *first, int count, const Index &index) {
  return Element<T>(component_access(
      {first, [](void *components, int k) -> LocalHandle & { return static_cast<Traced<T> *>(components)[k].local(); },
       count},
      {index}));
}
template <Scalar T>
Element<const T> chosen_component(const Traced<T> *first, int count, const Index &index) {
  return Element<const T>(chosen_component(const_cast<Traced<T> *>(first), count, index).access());
}
// UserError if a C++ index is outside of the matrix.
void check_matrix_index(const Index &index, int size, const char *what);
template <Component T>
auto chosen_component(const T *, int, int, const Index &, const Index &) {
  static_assert(!Scalar<T>, "a component of a value on the host is chosen by C++ integers, not by traced ones");
}
template <Scalar T>
Element<T> chosen_component(Traced<T> *first, int rows, int columns, const Index &row, const Index &column) {
  check_matrix_index(row, rows, "row");
  check_matrix_index(column, columns, "column");
  return Element<T>(component_access(
      {first, [](void *components, int k) -> LocalHandle & { return static_cast<Traced<T> *>(components)[k].local(); },
       rows * columns, columns},
      {row, column}));
}
template <Scalar T>
Element<const T> chosen_component(const Traced<T> *first, int rows, int columns, const Index &row,
                                  const Index &column) {
  return Element<const T>(chosen_component(const_cast<Traced<T> *>(first), rows, columns, row, column).access());
}

// Runs `body` `count` times: as a loop of the kernel, or on the host.
template <class T, class F>
void repeat(int count, SourceLocation where, const F &body) {
  if constexpr (Scalar<T>) {
    for (int i = 0; i < count; ++i) body();
  } else {
    for ([[maybe_unused]] Int i : range(count, where)) body();
  }
}

// Runs one of two functions: as a branch of the kernel, or on the host.
template <class F, class G>
void either(const Bool &condition, SourceLocation where, const F &then, const G &otherwise) {
  if_(Operand<bool>(condition, where), then, otherwise);
}
template <class F, class G>
void either(bool condition, SourceLocation, const F &then, const G &otherwise) {
  if (condition)
    then();
  else
    otherwise();
}

// Numbers within these bounds are squared and divided by unscaled; larger and smaller ones are scaled by powers of two.
template <class T, class Scalar = typename ComponentOf<T>::Scalar>
struct SafeSizes {
  static constexpr bool wide = std::same_as<Scalar, double>, small = sizeof(Scalar) <= 2;
  // 16-bit numbers are not scaled.
  static constexpr double largest = wide ? 0x1p500 : small ? 0x1p15 : 0x1p60, shrink = wide ? 0x1p-600 : 0x1p-80;
  static constexpr double smallest = wide ? 0x1p-480 : small ? 0 : 0x1p-50, grow = wide ? 0x1p600 : 0x1p90;
};
// The power of two that scales numbers of this size into the bounds.
template <class T>
T power_for(const T &size);

namespace component {

using samite::abs;
using samite::acos;
using samite::asin;
using samite::atan2;
using samite::cbrt;
using samite::copysign;
using samite::cos;
using samite::exp2;
using samite::floor;
using samite::log;
using samite::log2;
using samite::max;
using samite::min;
using samite::select;
using samite::sin;
using samite::sqrt;
using samite::stop_gradient;

// Declared here, because including <cmath> takes as long to compile as all vectors and matrices together.
inline float acos(float a) { return __builtin_acosf(a); }
inline double acos(double a) { return __builtin_acos(a); }
inline float asin(float a) { return __builtin_asinf(a); }
inline double asin(double a) { return __builtin_asin(a); }
inline float cbrt(float a) { return __builtin_cbrtf(a); }
inline double cbrt(double a) { return __builtin_cbrt(a); }
inline float cos(float a) { return __builtin_cosf(a); }
inline double cos(double a) { return __builtin_cos(a); }
inline float exp2(float a) { return __builtin_exp2f(a); }
inline double exp2(double a) { return __builtin_exp2(a); }
inline float floor(float a) { return __builtin_floorf(a); }
inline double floor(double a) { return __builtin_floor(a); }
inline float log(float a) { return __builtin_logf(a); }
inline double log(double a) { return __builtin_log(a); }
inline float log2(float a) { return __builtin_log2f(a); }
inline double log2(double a) { return __builtin_log2(a); }
inline float sin(float a) { return __builtin_sinf(a); }
inline double sin(double a) { return __builtin_sin(a); }
inline float sqrt(float a) { return __builtin_sqrtf(a); }
inline double sqrt(double a) { return __builtin_sqrt(a); }
inline float atan2(float a, float b) { return __builtin_atan2f(a, b); }
inline double atan2(double a, double b) { return __builtin_atan2(a, b); }
inline float copysign(float a, float b) { return __builtin_copysignf(a, b); }
inline double copysign(double a, double b) { return __builtin_copysign(a, b); }
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
  // If one operand is NaN, returns the other one, as in kernels.
  return b < a || a != a ? b : a;
}
template <Scalar T>
T max(T a, T b) {
  return a < b || a != a ? b : a;
}
template <Scalar T>
T select(bool condition, T a, T b) {
  return condition ? a : b;
}

}  // namespace component

template <class T>
T power_for(const T &size) {
  using Sizes = SafeSizes<T>;
  if constexpr (Sizes::small)
    return T(1);
  else
    return component::select(size > T(Sizes::largest), T(Sizes::shrink),
                             component::select(size < T(Sizes::smallest), T(Sizes::grow), T(1)));
}

// The root of the sum of squares; no square overflows or loses digits.
template <class T, std::size_t... I>
T root_of_squares(const T *v, std::index_sequence<I...>, SourceLocation where) {
  if constexpr (Scalar<T>) {
    T most = 0, sum = 0;
    for (std::size_t i = 0; i < sizeof...(I); ++i) most = component::max(most, component::abs(v[i]));
    const T power = power_for(most);
    for (std::size_t i = 0; i < sizeof...(I); ++i) sum += (v[i] * power) * (v[i] * power);
    return component::sqrt(sum) / power;
  } else {
    return T::adopt(
        record(ir::Op::Norm, scalar_type_of<typename ComponentOf<T>::Scalar>, {v[I].value(where)...}, where));
  }
}

}  // namespace lang
}  // namespace samite
