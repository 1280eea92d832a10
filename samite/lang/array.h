// Array parameters of a kernel.
//
//   Kernel scale{"scale", [](Array<float, 1> y, Array<const float, 1> x, Float a) {
//     Int i = thread_index();
//     y(i) = a * x(i);
//   }};
//
// `Array<T, Rank>` stands for a buffer of Rank dimensions, 1 to 4, with any strides. `Array<const T, Rank>` is
// read-only: a store into it does not compile. Indices are traced or plain integers, counted from 0; in a new buffer
// the last dimension is contiguous. An index outside of the array is undefined in release mode; in debug mode it is an
// error that names array, index, extent and line.
//
// `a.row(i)` is an array with one dimension fewer, `a.slice(0, begin, end)` a part of `a`: views, which C++ functions
// take as arrays. An `Array<T, Rank>` converts to `Array<const T, Rank>`.
#pragma once

#include "samite/lang/traced.h"

#include <array>

namespace samite {

// An index: any traced or plain integer, as Int or Int64.
class Index {
 public:
  template <std::integral T>
    requires(ArithmeticScalar<T>)
  Index(const Traced<T> &value, SourceLocation where = std::source_location::current())
      : where_(where), value_(widen(value.value(where))) {}
  template <class T>
    requires(std::integral<T> && !std::same_as<std::remove_const_t<T>, bool>)
  Index(const Element<T> &element, SourceLocation where = std::source_location::current())
      : where_(where), value_(widen(element.load())) {}
  Index(const Var &variable, SourceLocation where = std::source_location::current())
      : where_(where), value_(lang::record_variable(ScalarType::Int32, variable, where_)) {}
  template <std::integral A>
    requires(!std::same_as<A, bool>)
  Index(A literal, SourceLocation where = std::source_location::current())
      : where_(where), value_(ir::Value::constant(ScalarType::Int64, static_cast<std::int64_t>(literal))) {}
  Index(ir::Value value, SourceLocation where) : where_(where), value_(value) {}

  SourceLocation where() const { return where_; }
  ir::Value value() const { return value_; }  // i32 or i64

 private:
  ir::Value widen(ir::Value value) const;

  SourceLocation where_;
  ir::Value value_;
};

namespace lang {

// Names the error in the compiler's message: the indices are not one integer for each dimension.
struct give_an_integer_for_each_dimension;
template <int Rank, class... Indices>
concept IndicesThatDoNotFit = sizeof...(Indices) != Rank || !(std::convertible_to<const Indices &, Index> && ...);

inline constexpr std::size_t maximum_indices = 8;
using AccessIndices = std::array<ir::Value, maximum_indices>;
AccessIndices no_indices();

// The components of a vector or matrix in row-major order. An access selects one by a single index, or by row and
// column.
struct ComponentsOfValue {
  void *first = nullptr;  // null of any other access
  LocalHandle &(*component)(void *first, int k) = nullptr;
  int count = 0, columns = 1;
};

// One access, as it was written, to an array, a local array (lang/local_array.h), a Func (lang/func.h), or a component
// of a vector or matrix.
struct Access {
  std::uint32_t serial;
  std::uint32_t array;
  AccessIndices indices;
  int rank;
  SourceLocation where;
  bool local = false;
  ComponentsOfValue components = {};

  ir::Value load(ScalarType type) const;
  void store(ir::Value value) const;
  // Returns the previous value. A compare and exchange takes two values, any other operation one.
  ir::Value atomic(ir::Op op, std::initializer_list<ir::Value> values) const;
};

// The present values of the indices: a later assignment to an index variable does not move the element.
AccessIndices index_values_now(std::initializer_list<Index> indices);
// The component that the indices select: one index, or row and column of a matrix. Indices beyond the components read
// zero, and store nothing.
Access component_access(const ComponentsOfValue &components, std::initializer_list<Index> indices);

// The elements of an array parameter that an Array names: all of them, those of a row, a slice.
class ArrayView {
 public:
  // All of the parameter with `rank` dimensions.
  ArrayView(std::uint32_t serial, std::uint32_t parameter, int rank);

  Access access(std::initializer_list<Index> indices) const;
  // The extent of one of the view's `rank` dimensions; UserError if there is no such dimension.
  ir::Value extent(int dimension, int rank, SourceLocation where) const;
  ArrayView fixed(int dimension, const Index &index) const;
  ArrayView slice(int dimension, int rank, const Index &begin, const Index &end) const;
  // The parameter's number. UserError if the view is not all of it, or belongs to another kernel.
  std::uint32_t parameter(SourceLocation where) const;

 private:
  // A dimension of the parameter: fixed at this index and removed from the view, or kept from this index on.
  struct Dimension {
    bool fixed = false;
    ir::Value begin;
    ir::Value extent;  // if it is a slice; else a boolean
  };
  std::size_t place(int dimension) const;  // place of the view's dimension in the parameter's
  void check(SourceLocation where) const;

  std::uint32_t serial_, parameter_;
  int rank_;
  bool whole_ = true;
  std::array<Dimension, 4> dimensions_;
};

}  // namespace lang

// One element of an array: reading it loads, assigning to it stores. It is a reference, so `auto e = a(i)` refers to
// the element; write `Float e = a(i)` for its value now.
template <class T>
class Element : public lang::Operators<std::remove_const_t<T>> {
 public:
  using value_type = std::remove_const_t<T>;

  explicit Element(const lang::Access &access) : access_(access) {}
  Element(const Element &) = default;

  template <class A>
    requires std::convertible_to<const A &, Operand<value_type>>
  const Element &operator=(const A &value) const {
    return store(Operand<value_type>(value, access_.where));
  }
  const Element &operator=(const Element &other) const { return store(Operand<value_type>(other, access_.where)); }
  const Element &operator=(const Element &other) { return store(Operand<value_type>(other, access_.where)); }

  // Refused: C++ would silently lose digits or the sign.
  template <lang::Number A>
    requires(!std::convertible_to<const A &, Operand<value_type>>)
  lang::cast_what_is_assigned operator=(const A &) const = delete;  // it does not promote: cast<Float>(x), …
#define SAMITE_REFUSED(symbol)                                                                       \
  template <lang::Number A>                                                                          \
    requires(std::same_as<value_type, bool> || !std::convertible_to<const A &, Operand<value_type>>) \
  lang::cast_what_is_assigned operator symbol(const A &) const = delete;
  SAMITE_REFUSED(+=)  // it does not promote: cast<Int>(x), cast<Float>(x), …
  SAMITE_REFUSED(-=)  // it does not promote: cast<Int>(x), cast<Float>(x), …
  SAMITE_REFUSED(*=)  // it does not promote: cast<Int>(x), cast<Float>(x), …
  SAMITE_REFUSED(/=)  // it does not promote: cast<Int>(x), cast<Float>(x), …
#undef SAMITE_REFUSED

  // As in C++: `a(i)++` returns the previous value. Not atomic.
  const Element &operator++() const
    requires(ArithmeticScalar<value_type>)
  {
    return *this += Operand<value_type>(1, access_.where);
  }
  const Element &operator--() const
    requires(ArithmeticScalar<value_type>)
  {
    return *this -= Operand<value_type>(1, access_.where);
  }
  Traced<value_type> operator++(int) const
    requires(ArithmeticScalar<value_type>)
  {
    Traced<value_type> before = *this;
    ++*this;
    return before;
  }
  Traced<value_type> operator--(int) const
    requires(ArithmeticScalar<value_type>)
  {
    Traced<value_type> before = *this;
    --*this;
    return before;
  }

  // Load, compute, store; not atomic. If several instances add to one element, use atomic_add (lang/atomic.h).
  const Element &operator+=(const Operand<value_type> &b) const
    requires(!std::same_as<value_type, bool>)
  {
    return update(ir::Op::Add, b);
  }
  const Element &operator-=(const Operand<value_type> &b) const
    requires(!std::same_as<value_type, bool>)
  {
    return update(ir::Op::Sub, b);
  }
  const Element &operator*=(const Operand<value_type> &b) const
    requires(!std::same_as<value_type, bool>)
  {
    return update(ir::Op::Mul, b);
  }
  const Element &operator/=(const Operand<value_type> &b) const
    requires(!std::same_as<value_type, bool>)
  {
    return update(ir::Op::Div, b);
  }
  const Element &operator%=(const Operand<value_type> &b) const
    requires(std::integral<value_type> && !std::same_as<value_type, bool>)
  {
    return update(ir::Op::Rem, b);
  }
  const Element &operator&=(const Operand<value_type> &b) const
    requires std::integral<value_type>
  {
    return update(ir::Op::And, b);
  }
  const Element &operator|=(const Operand<value_type> &b) const
    requires std::integral<value_type>
  {
    return update(ir::Op::Or, b);
  }
  const Element &operator^=(const Operand<value_type> &b) const
    requires std::integral<value_type>
  {
    return update(ir::Op::Xor, b);
  }

  // Exchanges the elements' values: a(i) and b(j) are references.
  friend void swap(const Element &a, const Element &b)  // NOLINT(performance-noexcept-swap): capturing allocates
    requires(!std::is_const_v<T>)
  {
    const Traced<value_type> kept = a;
    a = b;
    b = kept;
  }

  ir::Value load() const { return access_.load(scalar_type_of<T>); }
  const lang::Access &access() const { return access_; }

 private:
  const Element &store(const Operand<value_type> &operand) const {
    static_assert(!std::is_const_v<T>,
                  "this array is read only: its parameter is Array<const T, Rank>; to store into it, declare the "
                  "parameter Array<T, Rank>");
    access_.store(operand.value());
    return *this;
  }
  const Element &update(ir::Op op, const Operand<value_type> &b) const {
    return store(Traced<value_type>::adopt(lang::record(op, scalar_type_of<T>, {load(), b.value()}, b.where())));
  }

  lang::Access access_;
};

namespace lang {

// The element of an Array of a refused type: it accepts anything, so that no further errors follow.
struct NoElement {
  explicit NoElement(const Access &) {}
  template <class A>
  operator A() const;
};

}  // namespace lang

template <class T, int Rank>
class Array {
  using ElementOf = std::conditional_t<Scalar<T>, Element<T>, lang::NoElement>;
  static_assert(Scalar<T> || !std::is_class_v<T>,
                "the members of a struct in an Array are traced: write Float for float, Int for int; it has 1 to 16 "
                "of them, and no base class");
  static_assert(
      Scalar<T> || std::is_class_v<T>,
      "an Array's element type is bool, an 8- to 64-bit integer, f8e4m3, f8e5m2, half, bfloat16, float or double");
  static_assert(Rank >= 1 && Rank <= 4, "an Array has rank 1 to 4");

 public:
  using element_type = T;
  static constexpr int rank = Rank;

  // Made by the capture: the parameter `index` of the kernel.
  Array(std::uint32_t serial, std::uint32_t index) : view_(serial, index, Rank) {}
  // The same array, read-only.
  template <class U>
    requires(std::is_const_v<T> && std::same_as<const U, T>)
  Array(const Array<U, Rank> &other) : view_(other.view()) {}

  ElementOf operator()(Index i) const
    requires(Rank == 1)
  {
    return ElementOf(view_.access({i}));
  }
  ElementOf operator()(Index i, Index j) const
    requires(Rank == 2)
  {
    return ElementOf(view_.access({i, j}));
  }
  ElementOf operator()(Index i, Index j, Index k) const
    requires(Rank == 3)
  {
    return ElementOf(view_.access({i, j, k}));
  }
  ElementOf operator()(Index i, Index j, Index k, Index l) const
    requires(Rank == 4)
  {
    return ElementOf(view_.access({i, j, k, l}));
  }
  template <class... Indices>
    requires lang::IndicesThatDoNotFit<Rank, Indices...>
  lang::give_an_integer_for_each_dimension operator()(const Indices &...) const = delete;  // of a number: cast<Int>(x)

  // Number of elements along `dimension`, 0 to Rank - 1.
  Int extent(int dimension, SourceLocation where = std::source_location::current()) const {
    return Int::adopt(view_.extent(dimension, Rank, where));
  }

  // Views. a.row(i)(j) and a.column(j)(i) are a(i, j); a.template fixed<d>(i) removes any dimension d.
  auto row(const Index &i) const
    requires(Rank >= 2)
  {
    return fixed<0>(i);
  }
  auto column(const Index &j) const
    requires(Rank == 2)
  {
    return fixed<1>(j);
  }
  template <int dimension>
    requires(Rank >= 2 && dimension >= 0 && dimension < Rank)
  auto fixed(const Index &index) const {
    return Array<T, Rank - 1>(view_.fixed(dimension, index));
  }
  // The elements from `begin` to below `end` along the dimension; indices count from 0 again.
  Array slice(int dimension, const Index &begin, const Index &end) const {
    return Array(view_.slice(dimension, Rank, begin, end));
  }

  // For the library: the number of the parameter.
  std::uint32_t index(SourceLocation where) const { return view_.parameter(where); }
  explicit Array(const lang::ArrayView &view) : view_(view) {}
  const lang::ArrayView &view() const { return view_; }

 private:
  lang::ArrayView view_;
};

// An Array that shares no memory with any other argument of a launch; an overlap is a UserError. For kernels that
// overlap would make wrong, such as one that reads neighbours in one array and writes to another.
template <class T, int Rank>
class Distinct : public Array<T, Rank> {
 public:
  using Array<T, Rank>::Array;
};

namespace lang {
Traced<bool> interior(std::initializer_list<ir::Value> extents, std::initializer_list<Index> indices);
}

// Whether every index is at least 1 and at most extent - 2, so that all direct neighbours are inside the array.
template <class T>
Bool interior(const Array<T, 1> &array, Index i) {
  return lang::interior({array.extent(0, i.where()).value(i.where())}, {i});
}
template <class T>
Bool interior(const Array<T, 2> &array, Index i, Index j) {
  return lang::interior({array.extent(0, i.where()).value(i.where()), array.extent(1, i.where()).value(i.where())},
                        {i, j});
}
template <class T>
Bool interior(const Array<T, 3> &array, Index i, Index j, Index k) {
  return lang::interior({array.extent(0, i.where()).value(i.where()), array.extent(1, i.where()).value(i.where()),
                         array.extent(2, i.where()).value(i.where())},
                        {i, j, k});
}

}  // namespace samite

namespace std {
// As for std::vector<bool>'s references. NOLINTBEGIN(bugprone-std-namespace-modification,performance-noexcept-swap)
template <class T>
void swap(samite::Element<T> &a, samite::Element<T> &b) {
  swap(static_cast<const samite::Element<T> &>(a), static_cast<const samite::Element<T> &>(b));
}
// NOLINTEND(bugprone-std-namespace-modification,performance-noexcept-swap)
}  // namespace std
