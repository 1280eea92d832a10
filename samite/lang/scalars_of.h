// The traced scalars that make up a value: itself, the components of a vector or an array, the parts of a tuple.
#pragma once

#include "samite/lang/traced.h"

#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

namespace samite::lang {

template <class V>
struct IsTraced : std::false_type {};
template <Scalar T>
struct IsTraced<Traced<T>> : std::true_type {};

template <class V>
struct IsTuple : std::false_type {};
template <class... Vs>
struct IsTuple<std::tuple<Vs...>> : std::true_type {};

// Like std::ranges::range, but without <ranges>, which takes a tenth of the compile time of all of samite.h.
template <class V>
concept Iterable = requires(V &value) {
  std::begin(value);
  std::end(value);
};

// Calls `f` on each traced scalar of `value`, in order.
template <class V, class F>
void for_each_scalar(V &value, const F &f) {
  using Plain = std::remove_const_t<V>;
  if constexpr (IsTraced<Plain>::value) {
    f(value);
  } else if constexpr (IsTuple<Plain>::value) {
    std::apply([&](auto &...parts) { (for_each_scalar(parts, f), ...); }, value);
  } else {
    static_assert(Iterable<V>,
                  "expected a traced scalar, a vector, matrix or std::array of them, or a std::tuple of such");
    for (auto &part : value) for_each_scalar(part, f);
  }
}

// Whether all scalars of a V are floating, so that they have gradients.
template <class V>
struct IsFloating : std::false_type {};
template <Scalar T>
struct IsFloating<Traced<T>> : std::is_floating_point<T> {};
template <class... Vs>
struct IsFloating<std::tuple<Vs...>> : std::bool_constant<(IsFloating<Vs>::value && ...)> {};
template <class V>
  requires(Iterable<V> && !IsTraced<V>::value)
struct IsFloating<V> : IsFloating<std::remove_cvref_t<decltype(*std::begin(std::declval<V &>()))>> {};

// A V whose scalars are copies of the given values; `next` gives one for each.
template <class V, class Next>
V value_of_scalars(const Next &next, SourceLocation where) {
  V value = [&] {
    if constexpr (std::constructible_from<V, SourceLocation>)
      return V(where);
    else
      return V{};
  }();
  for_each_scalar(value, [&]<class T>(Traced<T> &scalar) { scalar = Traced<T>::copy(next(scalar_type_of<T>), where); });
  return value;
}

}  // namespace samite::lang
