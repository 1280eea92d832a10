// Functions with a derivative that the user defines.
//
//   auto safe_sqrt = custom_adjoint([](Float x) { return sqrt(x); },
//                                   [](Float x, Float root, Float cotangent) { return cotangent / max(2 * root, 1e-3f);
//                                   });
//   y(i) = safe_sqrt(x(i));             // in a kernel, like the function itself
//
// The adjoint takes the function's parameters, its result and the result's cotangent, d(objective) / d(result), and
// returns d(objective) / d(parameter) for each floating parameter: one value, or a std::tuple of several. It may do
// anything with the cotangent: clip it, write to arrays, add to the gradients of arrays (`add_to_gradient`). The
// forward kernel runs the function alone.
//
// An optional third function, the replay, runs in the adjoint instead of the first if the adjoint needs the result
// again. It is for functions that must not run twice, such as one that takes a number from a counter and stores it in
// an array, from which the replay reads it back. Replay and adjoint see arrays as the kernel has left them.
//
// Parameters and result are traced scalars, vectors, matrices or std::arrays of them, or std::tuples of such; the
// result is floating. The functions may use arrays and values of the surrounding kernel; a value that carries a
// gradient must be a parameter. They may not assign outer locals, leave an outer loop or function, or use outer local
// arrays: UserError. The tangent of such a function is the transpose of its adjoint; an adjoint that is not linear in
// the cotangent, writes to arrays, or reads arrays that the kernel writes, has no tangent and is refused with its line.
//
// `adjoint_of(f)(arguments…, cotangent)` calls the derivative that Samite derives from `f`, inside a kernel: it returns
// the gradients of the floating parameters, like an adjoint above, for one run of `f` that stores nothing. For a
// custom_adjoint it calls the given adjoint.
#pragma once

#include "samite/base/function_ref.h"
#include "samite/lang/array.h"
#include "samite/lang/scalars_of.h"

#include <optional>
#include <vector>

namespace samite {
namespace lang {

template <class F>
struct FunctionOf : FunctionOf<decltype(&F::operator())> {};
template <class R, class... Ps>
struct FunctionOf<R (*)(Ps...)> {
  using Result = std::remove_cvref_t<R>;
  using Parameters = std::tuple<std::remove_cvref_t<Ps>...>;
};
template <class C, class R, class... Ps>
struct FunctionOf<R (C::*)(Ps...) const> : FunctionOf<R (*)(Ps...)> {};
template <class C, class R, class... Ps>
struct FunctionOf<R (C::*)(Ps...)> : FunctionOf<R (*)(Ps...)> {};

// The gradients of the floating parameters, in order.
template <class P>
using GradientPart = std::conditional_t<IsFloating<P>::value, std::tuple<P>, std::tuple<>>;
template <class Tuple>
struct Unpacked {
  using type = Tuple;
};
template <class P>
struct Unpacked<std::tuple<P>> {
  using type = P;
};
template <class Parameters>
struct GradientsOf;
template <class... Ps>
struct GradientsOf<std::tuple<Ps...>> {
  using Tuple = decltype(std::tuple_cat(std::declval<GradientPart<Ps>>()...));
  using type = typename Unpacked<Tuple>::type;  // what an adjoint returns
};

// The locals of a V's scalars.
template <class V>
std::vector<ir::Value> scalar_values(const V &value, SourceLocation where) {
  std::vector<ir::Value> values;
  for_each_scalar(value, [&](const auto &scalar) { values.push_back(scalar.value(where)); });
  return values;
}

template <class V>
V copy_of(const V &value, SourceLocation where) {
  std::vector<ir::Value> values = scalar_values(value, where);
  std::size_t next = 0;
  return value_of_scalars<V>([&](ScalarType) { return values[next++]; }, where);
}

// One captured call of a function with an adjoint. The functions take the operands under new names, and return the
// values of results and gradients.
using Values = std::vector<ir::Value>;
struct CustomCall {
  FunctionRef<Values(const Values &inputs)> primal;
  std::optional<FunctionRef<Values(const Values &inputs)>> replay;
  FunctionRef<Values(const Values &inputs, const Values &results, const Values &cotangents)> adjoint;
  Values operands;  // the floating ones
};
// The values of the results.
Values capture_custom(const CustomCall &call, SourceLocation where);

// One call of an adjoint: the gradients of the floating `inputs`, which are passed to `function` under new names.
Values capture_adjoint_call(FunctionRef<Values(const Values &inputs)> function, const Values &inputs,
                            const Values &cotangents, SourceLocation where);

// Gives the values of a list one after another.
class ValueReader {
 public:
  explicit ValueReader(const Values &values) : values_(values) {}
  ir::Value operator()(ScalarType) const { return values_[next_++]; }

 private:
  const Values &values_;
  mutable std::size_t next_ = 0;
};

// Appends the values of a parameter that has a gradient.
template <class P>
void append_floating(Values &inputs, const P &argument, SourceLocation where) {
  if constexpr (IsFloating<P>::value)
    for (ir::Value value : scalar_values(argument, where)) inputs.push_back(value);
}

// A parameter that has a gradient is read from `inputs`; any other is passed on unchanged.
template <class P>
P input_or_argument(const P &argument, const ValueReader &inputs, SourceLocation where) {
  if constexpr (IsFloating<P>::value)
    return value_of_scalars<P>(inputs, where);
  else
    return argument;
}

void add_to_gradient(const Access &access, ir::Value value);

}  // namespace lang

template <class F, class A, class Replay, class Parameters = typename lang::FunctionOf<F>::Parameters>
class CustomAdjoint;

template <class F, class A, class Replay, class... Ps>
class CustomAdjoint<F, A, Replay, std::tuple<Ps...>> {
 public:
  using Function = F;
  using Result = typename lang::FunctionOf<F>::Result;
  using Gradients = typename lang::GradientsOf<std::tuple<Ps...>>::type;
  static constexpr bool replays = !std::same_as<Replay, std::nullptr_t>;

  static_assert(lang::IsFloating<Result>::value, "the result of a custom_adjoint is floating");
  static_assert(std::invocable<const A &, Ps..., Result, Result>,
                "the adjoint takes the function's parameters, its result and the result's cotangent");
  static_assert(std::convertible_to<std::invoke_result_t<const A &, Ps..., Result, Result>, Gradients>,
                "the adjoint returns a gradient for each floating parameter: one as it is, several as a std::tuple");

  CustomAdjoint(F function, A adjoint, Replay replay)
      : function_(std::move(function)), adjoint_(std::move(adjoint)), replay_(std::move(replay)) {}

  Result operator()(const Ps &...arguments, SourceLocation where = std::source_location::current()) const {
    // Under new names, which are never assigned.
    const std::tuple<Ps...> copies{lang::copy_of(arguments, where)...};
    auto run = [&](const auto &function, const lang::Values &inputs) {
      return lang::scalar_values(std::apply([&](const Ps &...values) { return Result(function(values...)); },
                                            parameters(copies, inputs, where)),
                                 where);
    };
    const auto primal = [&](const lang::Values &inputs) { return run(function_, inputs); };
    const auto adjoint = [&](const lang::Values &inputs, const lang::Values &results, const lang::Values &cotangents) {
      const Result result = lang::value_of_scalars<Result>(lang::ValueReader(results), where);
      const Result cotangent = lang::value_of_scalars<Result>(lang::ValueReader(cotangents), where);
      auto gradients = [&](const Ps &...values) { return Gradients(adjoint_(values..., result, cotangent)); };
      return lang::scalar_values(std::apply(gradients, parameters(copies, inputs, where)), where);
    };
    lang::CustomCall call{primal, {}, adjoint, {}};
    const auto replay = [&]([[maybe_unused]] const lang::Values &inputs) {
      if constexpr (replays)
        return run(replay_, inputs);
      else
        return lang::Values();
    };
    if constexpr (replays) call.replay = replay;
    std::apply([&](const Ps &...values) { (lang::append_floating(call.operands, values, where), ...); }, copies);
    const lang::Values results = lang::capture_custom(call, where);
    return lang::value_of_scalars<Result>(lang::ValueReader(results), where);
  }

 private:
  // Floating ones under the new names, the others unchanged.
  static std::tuple<Ps...> parameters(const std::tuple<Ps...> &arguments, const lang::Values &inputs,
                                      SourceLocation where) {
    const lang::ValueReader reader(inputs);
    return std::apply(
        [&](const Ps &...values) {
          // Braces, so that the inputs are read in order.
          return std::tuple<Ps...>{lang::input_or_argument(values, reader, where)...};
        },
        arguments);
  }

  F function_;
  A adjoint_;
  Replay replay_;
};

template <class F, class A>
auto custom_adjoint(F function, A adjoint) {
  return CustomAdjoint<F, A, std::nullptr_t>(std::move(function), std::move(adjoint), nullptr);
}
template <class F, class A, class Replay>
auto custom_adjoint(F function, A adjoint, Replay replay) {
  static_assert(std::same_as<typename lang::FunctionOf<Replay>::Parameters, typename lang::FunctionOf<F>::Parameters>,
                "the replay takes the parameters of the function");
  static_assert(std::same_as<typename lang::FunctionOf<Replay>::Result, typename lang::FunctionOf<F>::Result>,
                "the replay returns what the function returns");
  return CustomAdjoint<F, A, Replay>(std::move(function), std::move(adjoint), std::move(replay));
}

// Only in the adjoint of a custom_adjoint: adds to the gradient of an array's element, atomically. No effect if the
// array tracks no gradient.
template <class T>
  requires std::floating_point<T>
void add_to_gradient(const Element<T> &element, const Operand<std::remove_const_t<T>> &value) {
  lang::add_to_gradient(element.access(), value.value());
}

namespace lang {

template <class F>
struct FunctionCalled : FunctionOf<F> {};
template <class F, class A, class Replay, class... Ps>
struct FunctionCalled<samite::CustomAdjoint<F, A, Replay, std::tuple<Ps...>>> : FunctionOf<F> {};

}  // namespace lang

template <class F, class Parameters = typename lang::FunctionCalled<F>::Parameters>
class AdjointOf;

template <class F, class... Ps>
class AdjointOf<F, std::tuple<Ps...>> {
 public:
  using Result = typename lang::FunctionCalled<F>::Result;
  using Gradients = typename lang::GradientsOf<std::tuple<Ps...>>::type;
  static_assert(lang::IsFloating<Result>::value, "the result of a function whose adjoint is called is floating");

  explicit AdjointOf(F function) : function_(std::move(function)) {}

  Gradients operator()(const Ps &...arguments, const Result &cotangent,
                       SourceLocation where = std::source_location::current()) const {
    lang::Values inputs;
    (lang::append_floating(inputs, arguments, where), ...);
    auto function = [&](const lang::Values &inner) {
      const lang::ValueReader reader(inner);
      // Braces, so that the inputs are read in order.
      const std::tuple<Ps...> values{lang::input_or_argument(arguments, reader, where)...};
      return lang::scalar_values(std::apply([&](const Ps &...value) { return Result(function_(value...)); }, values),
                                 where);
    };
    const lang::Values gradients =
        lang::capture_adjoint_call(function, inputs, lang::scalar_values(cotangent, where), where);
    return lang::value_of_scalars<Gradients>(lang::ValueReader(gradients), where);
  }

 private:
  F function_;
};

template <class F>
auto adjoint_of(F function) {
  return AdjointOf<F>(std::move(function));
}

}  // namespace samite
