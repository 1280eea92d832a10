// From a C++ function to a kernel of the IR.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/lang/array.h"

#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace samite::lang {

// What each type of parameter stands for in the IR.
template <class P>
struct ParameterOf;

template <Scalar T>
struct ParameterOf<Traced<T>> {
  static ir::Parameter describe() { return {"", scalar_type_of<T>}; }
  static Traced<T> make(std::uint32_t, std::uint32_t index, SourceLocation where) {
    return Traced<T>::copy(ir::Value::parameter(scalar_type_of<T>, index), where);
  }
};
template <class T, int Rank>
struct ParameterOf<Array<T, Rank>> {
  static ir::Parameter describe() { return {"", scalar_type_of<T>, Rank, std::is_const_v<T>}; }
  static Array<T, Rank> make(std::uint32_t serial, std::uint32_t index, SourceLocation) { return {serial, index}; }
};
template <class T, int Rank>
struct ParameterOf<Distinct<T, Rank>> {
  static ir::Parameter describe() {
    ir::Parameter parameter = ParameterOf<Array<T, Rank>>::describe();
    parameter.distinct = true;
    return parameter;
  }
  static Distinct<T, Rank> make(std::uint32_t serial, std::uint32_t index, SourceLocation) { return {serial, index}; }
};

template <class P>
concept KernelParameter = requires { ParameterOf<std::remove_cvref_t<P>>::describe(); };

// Names the parameters: `names`, or p0, p1, … where it is empty. UserError where the count is wrong, a name is empty,
// not an identifier, or used twice.
std::vector<ir::Parameter> named(std::vector<ir::Parameter> parameters, const std::vector<std::string> &names,
                                 const std::string &kernel, SourceLocation where);

// Runs `function` once, as a trace, and returns what it did in captured form.
ir::Kernel run_capture(std::string name, std::vector<ir::Parameter> parameters,
                       const std::function<void(std::uint32_t serial)> &function, SourceLocation where);

template <class... Ps, class F>
ir::Kernel capture(std::string name, const std::vector<std::string> &names, const F &function, SourceLocation where) {
  auto parameters = named({ParameterOf<Ps>::describe()...}, names, name, where);
  return run_capture(
      std::move(name), std::move(parameters),
      [&](std::uint32_t serial) {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          // Braces, so that parameters are made in order.
          std::tuple<Ps...> arguments{ParameterOf<Ps>::make(serial, static_cast<std::uint32_t>(I), where)...};
          function(std::get<I>(arguments)...);
        }(std::index_sequence_for<Ps...>{});
      },
      where);
}

}  // namespace samite::lang
