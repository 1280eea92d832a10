// Records launches concurrently, so that their kernels compile in parallel.
//
//   auto [forward, adjoint, product] = prepare([&] { return step.record({n}, y, x); },
//                                              [&] { return step.record({n}, {.direction = Direction::adjoint}, y, x);
//                                              },
//                                              [&] { return layer.record(a, b, c); });
//
// Each function returns a launch, of a kernel, an operation or a pipeline; functions run on at most as many threads as
// the machine has, including this one. If functions throw, the exception of the first of them is rethrown when all have
// ended. SAMITE_PROGRESS reports long compiles (jit/progress.h).
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
