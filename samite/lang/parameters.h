// The parameters of a kernel's function: each one's type in the IR, and the argument that the function is called with.
#pragma once

#include "samite/base/function_ref.h"
#include "samite/ir/parameter.h"
#include "samite/lang/array.h"
#include "samite/lang/struct_array.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace samite::lang {

// The IR parameters for each type of parameter: one, or for a struct one for each scalar in it.
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
  static ir::Parameter describe() {
    // Otherwise the Array reports the error.
    if constexpr (Scalar<T>) return {"", scalar_type_of<T>, Rank, std::is_const_v<T>};
    return {};
  }
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

template <class S, int Rank>
  requires StructValue<std::remove_const_t<S>>
struct ParameterOf<Array<S, Rank>> {
  static ir::Parameter describe() {
    using Value = std::remove_const_t<S>;
    ir::Parameter parameter{"", scalar_type_of<leaf_type<Value>>, Rank + 1, std::is_const_v<S>};
    parameter.last_extent = static_cast<std::int64_t>(leaf_count<Value>);
    return parameter;
  }
  static Array<S, Rank> make(std::uint32_t serial, std::uint32_t index, SourceLocation) { return {serial, index}; }
};
template <StructValue S>
struct ParameterOf<S> {
  static std::vector<ir::Parameter> describe() { return describe(static_cast<leaves_of<S> *>(nullptr)); }
  static S make(std::uint32_t, std::uint32_t index, SourceLocation where) {
    const AttributedCapture at(where);
    S value{};
    std::uint32_t k = 0;
    each_leaf(value, [&]<Scalar T>(Traced<T> &leaf) {
      leaf = Traced<T>::copy(ir::Value::parameter(scalar_type_of<T>, index + k++), where);
    });
    return value;
  }

 private:
  template <class... Ts>
  static std::vector<ir::Parameter> describe(std::tuple<Ts...> *) {
    return {ir::Parameter{"", scalar_type_of<value_type_of<Ts>>}...};
  }
};

template <class P>
concept KernelParameter = requires { ParameterOf<std::remove_cvref_t<P>>::describe(); };

template <class Fields>
struct FieldTypes;
template <class... Fs>
struct FieldTypes<std::tuple<Fs &...>> {
  using type = std::tuple<Fs...>;
  static constexpr bool are_parameters = (KernelParameter<Fs> && ...);
};
// The fields of an aggregate, as a std::tuple.
template <AggregateOfFields S>
using field_types = typename FieldTypes<decltype(fields(std::declval<S &>()))>::type;

// A user's struct with arrays: each field is a parameter.
template <class S>
concept ParameterStruct =
    AggregateOfFields<S> && !StructValue<S> && FieldTypes<decltype(fields(std::declval<S &>()))>::are_parameters;

// The number of IR parameters for one of the kernel's.
template <class P>
inline constexpr std::size_t parameter_count = 1;
template <StructValue S>
inline constexpr std::size_t parameter_count<S> = leaf_count<S>;
template <class... Fs>
inline constexpr std::size_t parameter_count<std::tuple<Fs...>> = (std::size_t{0} + ... + parameter_count<Fs>);
template <ParameterStruct S>
inline constexpr std::size_t parameter_count<S> = parameter_count<field_types<S>>;

template <class P>
std::vector<ir::Parameter> described();

void append(std::vector<ir::Parameter> &parameters, const std::vector<ir::Parameter> &further);

template <ParameterStruct S>
struct ParameterOf<S> {
  static std::vector<ir::Parameter> describe() { return describe(static_cast<field_types<S> *>(nullptr)); }
  static S make(std::uint32_t serial, std::uint32_t index, SourceLocation where) {
    return make(serial, index, where, static_cast<field_types<S> *>(nullptr));
  }

 private:
  template <class... Fs>
  static std::vector<ir::Parameter> describe(std::tuple<Fs...> *) {
    std::vector<ir::Parameter> parameters;
    (append(parameters, described<Fs>()), ...);
    return parameters;
  }
  template <class... Fs>
  static S make(std::uint32_t serial, std::uint32_t index, SourceLocation where, std::tuple<Fs...> *) {
    // Braces, so that fields are made in order.
    auto next = [&](std::size_t count) { return std::exchange(index, index + static_cast<std::uint32_t>(count)); };
    return S{ParameterOf<Fs>::make(serial, next(parameter_count<Fs>), where)...};
  }
};

// Letters, digits and _, no digit first.
bool is_identifier(const std::string &name);

// The parameters, one group for each of the kernel's, with their names: `names`, or p0, p1, … if it is empty; the
// scalars of a struct named n are n_0, n_1, …. UserError if the count is wrong, or a name is empty, not an identifier,
// or used twice.
std::vector<ir::Parameter> named(const std::vector<std::vector<ir::Parameter>> &parameters,
                                 const std::vector<std::string> &names, const std::string &kernel,
                                 SourceLocation where);

template <class P>
std::vector<ir::Parameter> described() {
  if constexpr (StructValue<P> || ParameterStruct<P>)
    return ParameterOf<P>::describe();
  else
    return {ParameterOf<P>::describe()};
}

// Calls `function` with its parameters, those of the running capture.
template <class... Ps, class F>
void call_with_parameters(std::uint32_t serial, const F &function, SourceLocation where) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    // Braces, so that parameters are made in order.
    std::uint32_t next = 0;
    [[maybe_unused]] auto index = [&](std::size_t count) {
      return (next += static_cast<std::uint32_t>(count)) - count;
    };
    std::tuple<Ps...> arguments{
        ParameterOf<Ps>::make(serial, static_cast<std::uint32_t>(index(parameter_count<Ps>)), where)...};
    function(std::get<I>(arguments)...);
  }(std::index_sequence_for<Ps...>{});
}

}  // namespace samite::lang
