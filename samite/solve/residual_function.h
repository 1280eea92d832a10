// A type-erased function of residuals, which kernels inline.
#pragma once

#include "samite/lang/custom_adjoint.h"
#include "samite/lang/fields.h"

#include <functional>
#include <tuple>
#include <vector>

namespace samite::solvers::detail {

struct ResidualFunction {
  std::vector<std::vector<ScalarType>> parameters;  // the scalars of each parameter, in order
  std::vector<ScalarType> results;
  // The scalars of the result, from those of all parameters. Only during a capture.
  std::function<lang::Values(const lang::Values &arguments, SourceLocation where)> call;
};

template <class P>
concept ResidualValue = lang::TracedValue<P> || lang::StructValue<P>;

template <class P>
std::vector<ScalarType> scalars_of() {
  return []<class... Ts>(std::tuple<Ts...> *) {
    return std::vector<ScalarType>{scalar_type_of<typename Ts::value_type>...};
  }(static_cast<lang::leaves_of<P> *>(nullptr));
}

template <class P>
P value_of(const lang::ValueReader &next, SourceLocation where) {
  const lang::AttributedCapture at(where);
  if constexpr (lang::TracedValue<P>) {
    return P::copy(next(scalar_type_of<typename P::value_type>), where);
  } else {
    P value{};
    lang::each_leaf(value, [&]<Scalar T>(Traced<T> &leaf) { leaf = Traced<T>::copy(next(scalar_type_of<T>), where); });
    return value;
  }
}

template <class F, class R, class... Ps>
ResidualFunction residual_function_of(const F &function, std::tuple<Ps...> *) {
  static_assert((ResidualValue<Ps> && ...) && ResidualValue<R>,
                "a function of residuals takes and returns traced numbers, vectors or structs of them: Double, Vec3d");
  ResidualFunction result;
  result.parameters = {scalars_of<Ps>()...};
  result.results = scalars_of<R>();
  result.call = [function](const lang::Values &arguments, SourceLocation where) {
    const lang::ValueReader next(arguments);
    // Braces, so that the arguments are read in order.
    const std::tuple<Ps...> values{value_of<Ps>(next, where)...};
    R residuals = std::apply([&](const Ps &...each) { return R(function(each...)); }, values);
    lang::Values scalars;
    lang::each_leaf(residuals, [&](const auto &scalar) { scalars.push_back(scalar.value(where)); });
    return scalars;
  };
  return result;
}

template <class F>
ResidualFunction residual_function(const F &function) {
  using Types = lang::FunctionOf<F>;
  return residual_function_of<F, typename Types::Result>(function, static_cast<typename Types::Parameters *>(nullptr));
}

}  // namespace samite::solvers::detail
