// Arrays whose elements are vectors, matrices, quaternions, transforms or the user's structs.
//
//   struct Particle { Vec3f position; Float mass; };
//
//   [](Array<Particle, 1> particles, Array<const Vec3f, 1> forces) {     // arrays of structs
//     Int i = thread_index();
//     Particle p = particles(i);                                          // loads its four scalars
//     p.position += forces(i) / p.mass;
//     particles(i) = p;                                                   // stores them
//     particles(i)[3] *= 2;                                               // leaf 3 alone: the mass
//   }
//   [](Array<Vec3f, 1> positions, Array<Mat3f, 1> strains) {
//     Int i = thread_index();
//     positions(i).x() += strains(i)(0, 1);                               // components alone
//   }
//   [](Array<Vec3f, 1> positions, Array<float, 1> masses) {              // a struct of arrays
//     auto particles = zip<Particle>(positions, masses);
//     Particle p = particles(i);
//   }
//
// In memory `Array<S, Rank>` is an array of scalars with one more dimension, whose extent is the number of scalars in S
// (lang/fields.h gives their order): a launch takes Buffer<float> of extents {n, 4} for Array<Particle, 1>. All of the
// scalars have one type, and Rank is 1 to 3. `zip` is for structs with several types, and for separate arrays. A kernel
// loads only the parts of an element that it uses.
#pragma once

#include "samite/lang/atomic.h"
#include "samite/lang/fields.h"

namespace samite {
namespace lang {

// Operators of references to a V.
template <class V>
struct ReferenceOperators {};
template <class T, int N>
struct ReferenceOperators<Vector<T, N>> : VectorOperators<T, N> {};
template <class T, int R, int C>
struct ReferenceOperators<Matrix<T, R, C>> : MatrixOperators<T, R, C> {};
template <class T>
struct ReferenceOperators<Quaternion<T>> : QuaternionOperators<T> {};
template <class T>
struct ReferenceOperators<Transform<T>> : TransformOperators<T> {};

template <StructValue S>
using leaf_type = value_type_of<std::tuple_element_t<0, leaves_of<S>>>;

// How many of x, y, z, w a V has.
template <class V>
inline constexpr int named_components = 0;
template <class T, int N>
inline constexpr int named_components<Vector<T, N>> = N;
template <class T>
inline constexpr int named_components<Quaternion<T>> = 4;

// The last index of an access to a matrix in an array, row by row.
Access matrix_element_access(Access matrix, const Index &row, const Index &column, int rows, int columns);
template <class Leaf>
Element<Leaf> matrix_element(const Access &matrix, const Index &row, const Index &column, int rows, int columns) {
  return Element<Leaf>(matrix_element_access(matrix, row, column, rows, columns));
}

}  // namespace lang

// One element of an Array<S, Rank>: reading it loads, assigning to it stores. It is a reference, so `auto e = a(i)`
// refers to the element; write `S e = a(i)` for its value now.
template <class S>
class StructElement : public lang::ReferenceOperators<std::remove_const_t<S>> {
  using Value = std::remove_const_t<S>;
  using Scalar = lang::leaf_type<Value>;
  using Leaf = std::conditional_t<std::is_const_v<S>, const Scalar, Scalar>;
  static constexpr int leaves = static_cast<int>(lang::leaf_count<Value>);

 public:
  using referenced_type = Value;

  // The last index of `access` is replaced by the leaf's number.
  explicit StructElement(const lang::Access &access) : access_(access) {}
  StructElement(const StructElement &) = default;

  SourceLocation where() const { return access_.where; }
  Value load(SourceLocation where) const {
    const lang::AttributedCapture at(where);
    return lang::from_leaves<Value>([&](int k) { return leaf(k); });
  }
  operator Value() const
    requires lang::UserStruct<Value>
  {
    return load(access_.where);
  }

  const StructElement &operator=(const Value &value) const {
    int k = 0;
    lang::each_leaf(value, [&](const auto &part) { leaf(k++) = part; });
    return *this;
  }
  const StructElement &operator=(const StructElement &other) const { return *this = other.load(access_.where); }
  const StructElement &operator=(const StructElement &other) { return std::as_const(*this) = other; }

  // Load, compute, store; not atomic.
  template <class A>
    requires requires(const StructElement &element, const A &a) { Value(element + a); }
  const StructElement &operator+=(const A &a) const {
    return *this = Value(*this + a);
  }
  template <class A>
    requires requires(const StructElement &element, const A &a) { Value(element - a); }
  const StructElement &operator-=(const A &a) const {
    return *this = Value(*this - a);
  }
  template <class A>
    requires requires(const StructElement &element, const A &a) { Value(element * a); }
  const StructElement &operator*=(const A &a) const {
    return *this = Value(*this * a);
  }
  template <class A>
    requires requires(const StructElement &element, const A &a) { Value(element / a); }
  const StructElement &operator/=(const A &a) const {
    return *this = Value(*this / a);
  }

  // Scalar number k of the element. A traced index indexes memory, like any other array index.
  Element<Leaf> operator[](const Index &k) const { return component(k, leaves, "component"); }
  // An element of a matrix.
  Element<Leaf> operator()(const Index &row, const Index &column) const
    requires lang::MatrixValue<Value>
  {
    return lang::matrix_element<Leaf>(access_, row, column, lang::rows_of<Value>, lang::columns_of<Value>);
  }
  Element<Leaf> x() const
    requires(lang::named_components<Value> >= 1)
  {
    return leaf(0);
  }
  Element<Leaf> y() const
    requires(lang::named_components<Value> >= 2)
  {
    return leaf(1);
  }
  Element<Leaf> z() const
    requires(lang::named_components<Value> >= 3)
  {
    return leaf(2);
  }
  Element<Leaf> w() const
    requires(lang::named_components<Value> >= 4)
  {
    return leaf(3);
  }

  // Exchanges the elements' values: a(i) and b(j) are references.
  friend void swap(const StructElement &a, const StructElement &b)  // NOLINT(performance-noexcept-swap)
    requires(!std::is_const_v<S>)
  {
    const Value kept = a.load(a.access_.where);
    a = b;
    b = kept;
  }

 private:
  Element<Leaf> leaf(int k) const { return component(Index(k, access_.where), leaves, "component"); }
  Element<Leaf> component(const Index &k, int size, const char *what) const {
    lang::check_matrix_index(k, size, what);
    lang::Access access = access_;
    access.indices[static_cast<std::size_t>(access.rank - 1)] = lang::index_values_now({k})[0];
    return Element<Leaf>(access);
  }

  lang::Access access_;
};

template <class S, int Rank>
  requires lang::StructValue<std::remove_const_t<S>>
class Array<S, Rank> {
  using Value = std::remove_const_t<S>;
  static_assert(lang::all_alike<lang::leaves_of<Value>>,
                "the scalars of a struct in an Array are of one type, that of its buffer; for structs of several "
                "types, declare an array for each field and use zip<S>(arrays…)");
  static_assert(Rank >= 1 && Rank <= 3, "an Array of structs has rank 1 to 3");

 public:
  using element_type = S;
  static constexpr int rank = Rank;

  // Made by the capture: the parameter `index` of the kernel.
  Array(std::uint32_t serial, std::uint32_t index) : view_(serial, index, Rank + 1) {}
  // The same array, read-only.
  template <class U>
    requires(std::is_const_v<S> && std::same_as<const U, S>)
  Array(const Array<U, Rank> &other) : view_(other.view()) {}

  StructElement<S> operator()(Index i) const
    requires(Rank == 1)
  {
    return StructElement<S>(view_.access({i, Index(0, i.where())}));
  }
  StructElement<S> operator()(Index i, Index j) const
    requires(Rank == 2)
  {
    return StructElement<S>(view_.access({i, j, Index(0, i.where())}));
  }
  StructElement<S> operator()(Index i, Index j, Index k) const
    requires(Rank == 3)
  {
    return StructElement<S>(view_.access({i, j, k, Index(0, i.where())}));
  }
  template <class... Indices>
    requires lang::IndicesThatDoNotFit<Rank, Indices...>
  lang::give_an_integer_for_each_dimension operator()(const Indices &...) const = delete;  // of a number: cast<Int>(x)

  // Number of elements along `dimension`, 0 to Rank - 1.
  Int extent(int dimension, SourceLocation where = std::source_location::current()) const {
    return Int::adopt(view_.extent(dimension, Rank, where));
  }

  // Views, like those of other arrays (lang/array.h).
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
    return Array<S, Rank - 1>(view_.fixed(dimension, index));
  }
  Array slice(int dimension, const Index &begin, const Index &end) const {
    return Array(view_.slice(dimension, Rank, begin, end));
  }

  // For the library.
  std::uint32_t index(SourceLocation where) const { return view_.parameter(where); }
  explicit Array(const lang::ArrayView &view) : view_(view) {}
  const lang::ArrayView &view() const { return view_; }

 private:
  lang::ArrayView view_;
};

// Each scalar of the element is updated in a separate step: another instance may see a partly updated element.
#define SAMITE_ATOMIC(name)                                                                               \
  template <class S>                                                                                      \
  void name(const StructElement<S> &element, const std::type_identity_t<std::remove_const_t<S>> &value) { \
    int k = 0;                                                                                            \
    lang::each_leaf(value, [&](const auto &part) { name(element[Index(k++, element.where())], part); });  \
  }
SAMITE_ATOMIC(atomic_add)
SAMITE_ATOMIC(atomic_sub)
SAMITE_ATOMIC(atomic_min)
SAMITE_ATOMIC(atomic_max)
#undef SAMITE_ATOMIC

// An element of a struct of arrays; each field is in an array of its own.
template <class S, class... Elements>
class ZippedElement {
 public:
  using referenced_type = S;

  explicit ZippedElement(SourceLocation where, Elements... elements) : where_(where), elements_(elements...) {}
  ZippedElement(const ZippedElement &) = default;

  S load(SourceLocation where) const {
    const lang::AttributedCapture at(where);
    return std::apply([](const Elements &...elements) { return S{elements...}; }, elements_);
  }
  operator S() const { return load(where_); }

  const ZippedElement &operator=(const S &value) const {
    store(lang::fields(value), std::index_sequence_for<Elements...>());
    return *this;
  }
  const ZippedElement &operator=(const ZippedElement &other) const { return *this = other.load(where_); }
  const ZippedElement &operator=(const ZippedElement &other) { return std::as_const(*this) = other; }

 private:
  template <class Fields, std::size_t... I>
  void store(const Fields &fields, std::index_sequence<I...>) const {
    ((std::get<I>(elements_) = std::get<I>(fields)), ...);
  }

  SourceLocation where_;
  std::tuple<Elements...> elements_;
};

template <class S, class... Arrays>
class Zipped {
 public:
  explicit Zipped(const Arrays &...arrays) : arrays_(arrays...) {}

  auto operator()(Index i) const { return at(i.where(), i); }
  auto operator()(Index i, Index j) const { return at(i.where(), i, j); }
  auto operator()(Index i, Index j, Index k) const { return at(i.where(), i, j, k); }

 private:
  template <class... Is>
  auto at(SourceLocation where, const Is &...indices) const {
    return std::apply(
        [&](const Arrays &...arrays) {
          return ZippedElement<S, decltype(arrays(indices...))...>(where, arrays(indices...)...);
        },
        arrays_);
  }

  std::tuple<Arrays...> arrays_;
};

// Combines arrays that hold the fields of S, in order, into one array of S; all have one rank.
template <lang::UserStruct S, class... Arrays>
auto zip(const Arrays &...arrays) {
  static_assert(sizeof...(Arrays) == lang::field_count<S>(), "zip needs one array for each field of the struct");
  return Zipped<S, Arrays...>(arrays...);
}

}  // namespace samite

namespace std {
// As for samite::Element. NOLINTBEGIN(bugprone-std-namespace-modification,performance-noexcept-swap)
template <class S>
void swap(samite::StructElement<S> &a, samite::StructElement<S> &b) {
  swap(static_cast<const samite::StructElement<S> &>(a), static_cast<const samite::StructElement<S> &>(b));
}
// NOLINTEND(bugprone-std-namespace-modification,performance-noexcept-swap)
}  // namespace std
