// Launches that are recorded at the same time, so that their kernels are compiled side by side.
//
//   auto [forward, adjoint, product] = prepare([&] { return step.record({n}, y, x); },
//                                              [&] { return step.record({n}, {.direction = Direction::adjoint}, y, x);
//                                              },
//                                              [&] { return layer.record(a, b, c); });
//
// Each function gives a launch, of a kernel, an operation or a pipeline; it runs on a thread of its own, or on this
// one, on at most as many as the machine has. Where functions throw, the exception of the first of them is thrown when
// all have ended. SAMITE_PROGRESS tells which compiles take long (jit/progress.h).
#pragma once

#include "samite/jit/at_once.h"

#include <concepts>
#include <optional>
#include <tuple>
#include <utility>

namespace samite {

template <std::invocable... Records>
std::tuple<std::invoke_result_t<const Records &>...> prepare(const Records &...records) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    std::tuple<std::optional<std::invoke_result_t<const Records &>>...> made;
    jit::at_once({[&] { std::get<I>(made).emplace(records()); }...});
    return std::tuple<std::invoke_result_t<const Records &>...>(*std::move(std::get<I>(made))...);
  }(std::index_sequence_for<Records...>{});
}

}  // namespace samite
