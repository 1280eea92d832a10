// The fields of structs, and the scalars in them: how a struct of traced values is taken apart.
//
//   struct Particle { Vec3f position; Float mass; };
//
// A struct is an aggregate of at most 16 fields, without base classes and C arrays. Its leaves are the scalars in it,
// in order: of vectors, matrices (row by row), quaternions (x, y, z, w), transforms (translation, rotation), std::array
// and structs inside. Particle has four. Nothing needs to be declared for a struct.
#pragma once

#include "samite/lang/algebra/transform.h"

#include <tuple>

namespace samite::lang {

inline constexpr std::size_t maximum_fields = 16;

// Stands for a field of any type while fields are counted; never evaluated.
struct AnyField {
  template <class U>
  operator U() const;
};

template <class S, std::size_t... I>
consteval bool takes_fields(std::index_sequence<I...>) {
  return requires { S{(static_cast<void>(I), AnyField{})...}; };
}
// maximum_fields + 1 stands for any larger number.
template <class S, std::size_t N = maximum_fields + 1>
consteval std::size_t field_count() {
  if constexpr (N == 0 || takes_fields<S>(std::make_index_sequence<N>()))
    return N;
  else
    return field_count<S, N - 1>();
}

// References to the fields of `s`.
template <class S>
auto fields(S &s) {
  constexpr std::size_t n = field_count<std::remove_const_t<S>>();
  static_assert(n >= 1 && n <= maximum_fields, "a struct of traced values has 1 to 16 fields");
#define SAMITE_FIELDS(count, ...) \
  if constexpr (n == count) {     \
    auto &[__VA_ARGS__] = s;      \
    return std::tie(__VA_ARGS__); \
  }
  SAMITE_FIELDS(1, a)
  SAMITE_FIELDS(2, a, b)
  SAMITE_FIELDS(3, a, b, c)
  SAMITE_FIELDS(4, a, b, c, d)
  SAMITE_FIELDS(5, a, b, c, d, e)
  SAMITE_FIELDS(6, a, b, c, d, e, f)
  SAMITE_FIELDS(7, a, b, c, d, e, f, g)
  SAMITE_FIELDS(8, a, b, c, d, e, f, g, h)
  SAMITE_FIELDS(9, a, b, c, d, e, f, g, h, i)
  SAMITE_FIELDS(10, a, b, c, d, e, f, g, h, i, j)
  SAMITE_FIELDS(11, a, b, c, d, e, f, g, h, i, j, k)
  SAMITE_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  SAMITE_FIELDS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  SAMITE_FIELDS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, o)
  SAMITE_FIELDS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p)
  SAMITE_FIELDS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q)
#undef SAMITE_FIELDS
}

// The types of the leaves of V, as a std::tuple.
template <class V>
struct LeavesOf;

template <class V>
concept HasLeaves = requires { typename LeavesOf<std::remove_const_t<V>>::type; };
template <HasLeaves V>
using leaves_of = typename LeavesOf<std::remove_const_t<V>>::type;
template <HasLeaves V>
inline constexpr std::size_t leaf_count = std::tuple_size_v<leaves_of<V>>;

template <class Leaves, std::size_t... I>
auto repeat_leaves(std::index_sequence<I...>) -> decltype(std::tuple_cat(std::declval<Repeated<I, Leaves>>()...));
template <class Leaves, std::size_t N>
using repeated_leaves = decltype(repeat_leaves<Leaves>(std::make_index_sequence<N>()));

template <Component T>
struct LeavesOf<T> {
  using type = std::tuple<T>;
};
template <Component T, int N>
struct LeavesOf<Vector<T, N>> {
  using type = repeated_leaves<std::tuple<T>, N>;
};
template <Component T, int R, int C>
struct LeavesOf<Matrix<T, R, C>> {
  using type = repeated_leaves<std::tuple<T>, static_cast<std::size_t>(R) * C>;
};
template <class T>
struct LeavesOf<Quaternion<T>> {
  using type = repeated_leaves<std::tuple<T>, 4>;
};
template <class T>
struct LeavesOf<Transform<T>> {
  using type = repeated_leaves<std::tuple<T>, 7>;
};
template <HasLeaves V, std::size_t N>
struct LeavesOf<std::array<V, N>> {
  using type = repeated_leaves<leaves_of<V>, N>;
};

template <class Fields>
struct LeavesOfFields;
template <HasLeaves... Vs>
struct LeavesOfFields<std::tuple<Vs &...>> {
  using type = decltype(std::tuple_cat(std::declval<leaves_of<Vs>>()...));
};

template <class S>
concept AggregateOfFields = std::is_class_v<S> && std::is_aggregate_v<S> && (field_count<S>() >= 1);
template <AggregateOfFields S>
  requires requires { typename LeavesOfFields<decltype(fields(std::declval<S &>()))>::type; }
struct LeavesOf<S> {
  using type = typename LeavesOfFields<decltype(fields(std::declval<S &>()))>::type;
};

template <class>
inline constexpr bool all_traced = false;
template <class... Ts>
inline constexpr bool all_traced<std::tuple<Ts...>> = (... && TracedValue<Ts>);
template <class>
inline constexpr bool all_alike = false;
template <class T, class... Ts>
inline constexpr bool all_alike<std::tuple<T, Ts...>> = (... && std::same_as<T, Ts>);

// A vector, matrix, quaternion, transform or user's struct of traced values, but no scalar.
template <class S>
concept StructValue = !TracedValue<S> && HasLeaves<S> && all_traced<leaves_of<S>>;
// A user's struct.
template <class S>
concept UserStruct = StructValue<S> && std::is_aggregate_v<S>;

// function(leaf) for each leaf of `value`, in order.
template <class V, class F>
void each_leaf(V &value, const F &function) {
  if constexpr (Component<std::remove_const_t<V>>) {
    function(value);
  } else if constexpr (requires { value.begin(); }) {
    for (auto &part : value) each_leaf(part, function);
  } else if constexpr (std::is_aggregate_v<V>) {
    std::apply([&](auto &...parts) { (each_leaf(parts, function), ...); }, fields(value));
  } else {
    each_leaf(value.translation, function);
    each_leaf(value.rotation, function);
  }
}

// A V whose leaf k is leaf(k).
template <StructValue V, class F>
V from_leaves(const F &leaf) {
  V value{};
  int k = 0;
  each_leaf(value, [&]<class T>(T &part) { part = T(leaf(k++)); });
  return value;
}

}  // namespace samite::lang
