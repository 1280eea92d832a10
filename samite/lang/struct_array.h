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
//   [](Array<Vec3f, 1> positions, Array<float, 1> masses) {              // a struct of arrays
//     auto particles = zip<Particle>(positions, masses);
//     Particle p = particles(i);
//   }
//
// In memory `Array<S, Rank>` is an array of scalars with one dimension more, whose extent is the number of scalars in S
// (lang/fields.h says in which order): a launch takes Buffer<float> of extents {n, 4} for Array<Particle, 1>. All of
// them are of one type, and Rank is 1 to 3. `zip` is for structs of several types, and for arrays that are apart
// anyway. What a kernel does not use of an element is not loaded.
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

  // `access` has a last index to be replaced by the leaf's number.
  explicit StructElement(const lang::Access &access) : access_(access) {}
  StructElement(const StructElement &) = default;

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

  // The scalar number k of the element.
  Element<Leaf> operator[](lang::ComponentIndex k) const {
    return leaf(static_cast<int>(k.within(leaves, "component")));
  }

 private:
  Element<Leaf> leaf(int k) const {
    lang::Access access = access_;
    access.indices[static_cast<std::size_t>(access.rank - 1)] =
        ir::Value::constant(ScalarType::Int64, static_cast<std::int64_t>(k));
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
  Array(std::uint32_t serial, std::uint32_t index) : serial_(serial), index_(index) {}

  StructElement<S> operator()(Index i) const
    requires(Rank == 1)
  {
    return StructElement<S>(lang::access(serial_, index_, {i, Index(0, i.where())}));
  }
  StructElement<S> operator()(Index i, Index j) const
    requires(Rank == 2)
  {
    return StructElement<S>(lang::access(serial_, index_, {i, j, Index(0, i.where())}));
  }
  StructElement<S> operator()(Index i, Index j, Index k) const
    requires(Rank == 3)
  {
    return StructElement<S>(lang::access(serial_, index_, {i, j, k, Index(0, i.where())}));
  }
  template <class... Indices>
    requires lang::IndicesThatDoNotFit<Rank, Indices...>
  lang::give_an_integer_for_each_dimension operator()(const Indices &...) const = delete;  // of a number: cast<Int>(x)

  // Number of elements along `dimension`, 0 to Rank - 1.
  Int extent(int dimension, SourceLocation where = std::source_location::current()) const {
    return Int::adopt(lang::record_extent(serial_, index_, dimension, Rank, where));
  }

 private:
  std::uint32_t serial_, index_;
};

// Adds to each scalar of the element as one step; the element as a whole may be seen half done.
template <class S>
void atomic_add(const StructElement<S> &element, const std::type_identity_t<std::remove_const_t<S>> &value) {
  int k = 0;
  lang::each_leaf(value, [&](const auto &part) { atomic_add(element[k++], part); });
}

// An element of a struct of arrays: its fields are elsewhere.
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

// Arrays as one array of S, whose fields they hold in order; all are of one rank.
template <lang::UserStruct S, class... Arrays>
auto zip(const Arrays &...arrays) {
  static_assert(sizeof...(Arrays) == lang::field_count<S>(), "zip needs one array for each field of the struct");
  return Zipped<S, Arrays...>(arrays...);
}

}  // namespace samite
