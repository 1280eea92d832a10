// Funcs define what a pipeline computes, as functions on grids of integers. A schedule says separately how they are
// computed (lang/schedule.h).
//
//   [](Array<const float, 2> input, Array<float, 2> result) {
//     Var y{"y"}, x{"x"};
//     Func rows{"rows"}, output{"output", result};      // `output` fills the array `result`
//     rows(y, x) = (input(y, x) + input(y, x + 1)) * 0.5f;
//     output(y, x) = (rows(y, x) + rows(y + 1, x)) * 0.5f;
//     schedule_cpu([&] { output.parallel(y).vectorize(x, 8); });
//   }
//
// The first definition gives a value for all indices, which are different variables. Each further definition is an
// update: it changes some elements, in order, for each point of the Reductions whose variables it names. Dimensions
// over which it does not reduce keep a variable as index.
//
//   Func<std::int32_t> histogram{"histogram"};
//   Reduction k{"k", 0, input.extent(0)};
//   histogram(x) = 0;
//   histogram(cast<Int>(input(k))) += 1;
//
//   Func<float> sums{"sums"};
//   sums(x) = undefined<float>();                        // updates define all elements
//   sums(0) = input(0);
//
//   begins_at(result, y0, x0);                             // result's first element is output(y0, x0)
//   values(x) = table(promise_clamped(place(x), 0, 255));  // place(x) is at least 0 and at most 255
//
//   Func<float, std::int32_t> best{"best"};              // has two values
//   best(x) = values(0.0f, 0);
//   auto [value, place] = best(x);
//
// `Func f{"f"}` has values of type float. A call f(y, x + 1) takes 0 to 8 indices, and is an element like those of an
// Array: its value is the result of all definitions. Names may repeat: a later Func is called f_1. Copies of a Func are
// the same Func; plain C++ functions take and return Funcs.
//
// Elements are defined outside of traced control flow, which only computes values; otherwise UserError. Definitions
// that leave elements undefined are a UserError too: those with variables that are not indices, and first definitions
// that read the Func. A Func whose first definition is f(…) += … or f(…) -= … begins with zeros, and with ones if it is
// f(…) *= ….
#pragma once

#include "samite/lang/fields.h"
#include "samite/lang/schedule.h"

namespace samite {
namespace lang {

// A Func's name and source line. Made by implicit conversion only.
struct FuncName {
  FuncName(const char *name, SourceLocation where = std::source_location::current())
      : name(Name(name, where).text()), where(where) {}
  FuncName(std::string name, SourceLocation where = std::source_location::current())
      : name(std::move(name)), where(where) {}

  std::string name;
  SourceLocation where;
};

// Declares a Func. If it fills arrays, they are consecutive parameters of the pipeline, one for each value. UserError
// outside of a pipeline's function.
Stage::Handle declare_func(const FuncName &name, std::initializer_list<ScalarType> types,
                           std::initializer_list<std::uint32_t> outputs = {}, int rank = -1);
// An element of the first value. The first call fixes the rank of the Func.
Access func_access(const Stage::Handle &func, std::initializer_list<Index> indices, SourceLocation where);
// Defines the elements of all values.
void define_func(const Access &element, std::initializer_list<ir::Value> values);

void set_origin(std::uint32_t array, std::initializer_list<ir::Value> indices, SourceLocation where);

// A value for each of a Func's values.
template <class... Vs>
struct FuncValues {
  std::tuple<Vs...> values;
};
template <class A>
struct ValueOf {
  using type = A;
};
template <TracedValue A>
struct ValueOf<A> {
  using type = Traced<value_type_of<A>>;
};

struct give_as_many_values;

// A call of a Func with several values.
template <Scalar... Ts>
class Elements {
 public:
  explicit Elements(const Access &access) : access_(access) {}
  Elements(const Elements &) = default;

  // The `i`-th value at this point of the program.
  template <std::size_t i>
  auto get() const {
    using T = std::tuple_element_t<i, std::tuple<Ts...>>;
    Access access = access_;
    access.array += static_cast<std::uint32_t>(i);
    return Traced<T>::adopt(access.load(scalar_type_of<T>));
  }

  template <class... Vs>
    requires(sizeof...(Vs) == sizeof...(Ts) && (std::convertible_to<const Vs &, Operand<Ts>> && ...))
  const Elements &operator=(const FuncValues<Vs...> &values) const {
    std::apply([&](const Vs &...value) { store({Operand<Ts>(value, access_.where).value()...}); }, values.values);
    return *this;
  }
  template <class... Vs>
    requires(sizeof...(Vs) != sizeof...(Ts) || !(std::convertible_to<const Vs &, Operand<Ts>> && ...))
  lang::give_as_many_values operator=(const FuncValues<Vs...> &) const = delete;  // in types that promote: cast<Int>(x)
  const Elements &operator=(const Elements &other) const {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      *this = FuncValues<Traced<Ts>...>{{other.get<i>()...}};
    }(std::index_sequence_for<Ts...>());
    return *this;
  }
  const Elements &operator=(const Elements &other) { return std::as_const(*this) = other; }

 private:
  void store(std::initializer_list<ir::Value> values) const { define_func(access_, values); }

  Access access_;
};

template <class... Ts>
struct CalledAs {
  using type = Elements<Ts...>;
};
template <class T>
struct CalledAs<T> {
  using type = Element<T>;
};

struct give_integers_as_indices;
struct give_an_index_for_each_dimension;
template <class... Indices>
concept FuncIndices = (std::convertible_to<const Indices &, Index> && ...);

}  // namespace lang

template <class... Ts>
class Func : public Stage {
  static_assert(sizeof...(Ts) >= 1 && (Scalar<Ts> && ...),
                "a Func's values are scalars: bool, 8- to 64-bit integers, f8e4m3, f8e5m2, half, bfloat16, float and "
                "double");
  static_assert(!(std::is_const_v<Ts> || ...),
                "an array that is filled is no Array<const T, Rank>; to fill it, declare the parameter Array<T, Rank>");

 public:
  using Call = typename lang::CalledAs<Ts...>::type;

  Func(const lang::FuncName &name) : Stage(lang::declare_func(name, {scalar_type_of<Ts>...})) {}
  // Fills the arrays; their indices are those of the Func.
  template <int Rank>
  Func(const lang::FuncName &name, const Array<Ts, Rank> &...arrays)
      : Stage(lang::declare_func(name, {scalar_type_of<Ts>...}, {arrays.index(name.where)...}, Rank)) {}
  template <class... As, int Rank>
    requires(sizeof...(Ts) >= 1 && !std::same_as<std::tuple<As...>, std::tuple<Ts...>>)
  Func(const lang::FuncName &, const Array<As, Rank> &...) = delete;  // a Func has the types of the arrays that it
                                                                      // fills: write Func f{"f", array}
  // For the library.
  explicit Func(const Handle &handle) : Stage(handle) {}

  Call operator()(SourceLocation where = std::source_location::current()) const { return at({}, where); }
  template <class... Others>
    requires(lang::FuncIndices<Others...> && sizeof...(Others) < lang::maximum_indices)
  Call operator()(Index first, const Others &...others) const {
    return at({first, Index(others, first.where())...}, first.where());
  }
  template <class... Indices>
    requires(!lang::FuncIndices<Indices...> || sizeof...(Indices) > lang::maximum_indices)
  lang::give_integers_as_indices operator()(const Indices &...) const = delete;  // at most 8; of a number: cast<Int>(x)

 private:
  Call at(std::initializer_list<Index> indices, SourceLocation where) const {
    return Call(lang::func_access(handle(), indices, where));
  }
};

Func(const lang::FuncName &) -> Func<float>;

// The value of a first definition if updates define all elements that are read: nothing is stored. UserError in any
// other place.
template <Scalar T>
Traced<T> undefined(SourceLocation where = std::source_location::current()) {
  return Traced<T>::adopt(lang::record(ir::Op::Unavailable, scalar_type_of<T>, {}, where));
}

// Sets the indices of the array's first element, one for each dimension; zeros by default. The Func that fills the
// array is computed from there on, and reads and boundary conditions of the array use these indices, as messages do.
// They are numbers, or integers made of the pipeline's parameters. Call it before a boundary condition of the array;
// for a Func of several values, call it for its first array. UserError otherwise.
template <class T, int Rank, std::convertible_to<Operand<std::int32_t>>... Others>
  requires(sizeof...(Others) + 1 == Rank && !lang::StructValue<std::remove_const_t<T>>)
void begins_at(const Array<T, Rank> &array, const Operand<std::int32_t> &first, const Others &...others) {
  lang::set_origin(array.index(first.where()), {first.value(), Operand<std::int32_t>(others, first.where()).value()...},
                   first.where());
}
template <class S, int Rank, std::convertible_to<Operand<std::int32_t>>... Others>
  requires(sizeof...(Others) + 1 == Rank && lang::StructValue<std::remove_const_t<S>>)
void begins_at(const Array<S, Rank> &array, const Operand<std::int32_t> &first, const Others &...others) {
  // The last dimension has the scalars of a struct.
  lang::set_origin(array.index(first.where()),
                   {first.value(), Operand<std::int32_t>(others, first.where()).value()...,
                    Operand<std::int32_t>(0, first.where()).value()},
                   first.where());
}
template <class T, int Rank, class... Indices>
  requires(sizeof...(Indices) != Rank)
lang::give_an_index_for_each_dimension begins_at(const Array<T, Rank> &, const Indices &...) = delete;

// Returns `index`; you promise that low <= index <= high. A Func that is called there is computed for these indices,
// and nothing is clamped. A broken promise reads memory outside of the Func; debug mode checks it, and throws a
// UserError with the index and the limits. UserError outside of a pipeline's function, where no bounds are inferred.
Int promise_clamped(const Operand<std::int32_t> &index, const Operand<std::int32_t> &low,
                    const Operand<std::int32_t> &high);

// Defines a Func of several values: one argument for each.
template <lang::Number... As>
auto values(const As &...as) {
  return lang::FuncValues<typename lang::ValueOf<As>::type...>{{as...}};
}

}  // namespace samite

template <class... Ts>
// Structured bindings want it. NOLINTNEXTLINE(bugprone-std-namespace-modification)
struct std::tuple_size<samite::lang::Elements<Ts...>> : std::integral_constant<std::size_t, sizeof...(Ts)> {};
template <std::size_t i, class... Ts>
// Structured bindings want it. NOLINTNEXTLINE(bugprone-std-namespace-modification)
struct std::tuple_element<i, samite::lang::Elements<Ts...>> {
  using type = samite::Traced<std::tuple_element_t<i, std::tuple<Ts...>>>;
};
