// A kernel: a C++ function of traced values, to be launched over many indices.
//
//   Kernel axpy{"axpy", {"y", "x", "a"}, [](Array<float, 1> y, Array<const float, 1> x, Float a) {
//     Int i = thread_index();
//     y(i) += a * x(i);
//   }};
//   axpy.launch({n}, y, x, 2.0f);
//   Launch adjoint = axpy.record({n}, {.direction = Direction::adjoint}, y, x, 2.0f);
//   auto [there, back] = axpy.record_with_adjoint({n}, y, x, 2.0f);
//
// The function runs once, when the Kernel is constructed; nothing is compiled then. The first launch or record of a
// direction compiles that direction, for the given arguments: an array with gaps between its elements, or another set
// of arrays that track gradients, needs another variant. Names of parameters are for `Launch::set` and messages; the
// default names are p0, p1, ….
//
// Arguments are a Buffer<T> for each Array<T, R> or Array<const T, R>, and a number for each scalar; their types are
// checked at compile time, everything else at run time (UserError, see jit/arguments.h).
//
// A kernel as a member, or in a container, has the type of its function: Kernel<void(Array<float, 1>, Float)>; an
// AnyKernel (jit/any_kernel.h) holds any. A default-constructed one can only be assigned to; any other use is a
// UserError.
//
// A user's struct is one parameter. If it has array fields, pass a host struct with a Buffer in place of each:
//
//   struct Cloth { Array<float, 2> places; Array<const float, 1> masses; Float stiffness; };
//   struct HostCloth { Buffer<float> places, masses; float stiffness; };
//
// Thread-safe after construction. Copies share compiled variants.
#pragma once

#include "samite/base/name.h"
#include "samite/jit/launch.h"
#include "samite/lang/parameters.h"
#include "samite/runtime/buffer.h"

#include <cstring>
#include <initializer_list>

namespace samite {
namespace ir {
struct Kernel;
}
namespace jit {

// The following is out of line, so that programs with kernels do not compile a definition's members (jit/definition.h).

// Captures `function`, which traces the kernel's function on the parameters of the running capture.
std::shared_ptr<KernelDefinition> define_kernel(std::string name, std::vector<ir::Parameter> parameters,
                                                FunctionRef<void(std::uint32_t serial)> function, SourceLocation where);

// For a captured kernel.
std::shared_ptr<KernelDefinition> defined(ir::Kernel captured, SourceLocation where);

const std::string &name_of(const KernelDefinition &definition);
const ir::Kernel &structured(const KernelDefinition &definition);
std::vector<std::shared_ptr<const Variant>> variants_of(const KernelDefinition &definition);

using Derive = std::shared_ptr<KernelDefinition>(KernelDefinition &definition, std::uint64_t active);
Derive adjoint_kernel, tangent_kernel;  // KernelDefinition::adjoint_kernel and ::tangent_kernel
autodiff::AdjointReport adjoint_report(KernelDefinition &definition, std::uint64_t active,
                                       std::optional<std::int64_t> memory_limit);

// The argument type of each parameter.
template <class P>
struct ArgumentFor;

template <class T, int Rank>
struct ArgumentFor<Array<T, Rank>> {
  ArgumentFor(const Buffer<std::remove_const_t<T>> &buffer) : buffer(&buffer) {}
  const AnyBuffer *buffer;

  Argument view() const { return {buffer, 0}; }
  OwnedArgument own() const { return {*buffer, 0}; }
};

template <class T, int Rank>
struct ArgumentFor<Distinct<T, Rank>> : ArgumentFor<Array<T, Rank>> {
  using ArgumentFor<Array<T, Rank>>::ArgumentFor;
};

template <Scalar T>
struct ArgumentFor<Traced<T>> {
  // UserError if the number does not fit, as in Launch::set.
  template <LiteralFor<T> A>
  ArgumentFor(A number, SourceLocation where = std::source_location::current()) : value(static_cast<T>(number)) {
    if constexpr (!std::same_as<A, T>)
      if (!fits_scalar(value, number)) refuse_scalar(scalar_type_of<T>, host_scalar(number), where);
  }
  T value;

  Argument view() const { return {nullptr, bits()}; }
  OwnedArgument own() const { return {{}, bits()}; }
  std::uint64_t bits() const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
};

template <class S, int Rank>
  requires lang::StructValue<std::remove_const_t<S>>
struct ArgumentFor<Array<S, Rank>> {
  using Scalar = lang::leaf_type<std::remove_const_t<S>>;
  ArgumentFor(const Buffer<Scalar> &buffer) : buffer(&buffer) {}
  const AnyBuffer *buffer;

  Argument view() const { return {buffer, 0}; }
  OwnedArgument own() const { return {*buffer, 0}; }
};

// For a struct of traced scalars: a host struct with corresponding numbers, such as Vector<float, 3> or
// std::array<float, 3> for Vec3f.
template <lang::StructValue S>
struct ArgumentFor<S> {
  static constexpr std::size_t count = lang::leaf_count<S>;

  template <class H>
    requires(!lang::TracedValue<H> && !std::is_base_of_v<AnyBuffer, H>)
  ArgumentFor(const H &host) {
    static_assert(corresponds<H>(),
                  "a struct parameter is given a struct of the host with the same scalars in the same order: float for "
                  "Float, Vector<float, 3> or std::array<float, 3> for Vec3f, a struct for a struct");
    if constexpr (corresponds<H>()) {
      std::size_t k = 0;
      lang::each_leaf(host, [&](const auto &number) { std::memcpy(&bits[k++], &number, sizeof number); });
    }
  }
  std::array<std::uint64_t, count> bits{};

  std::array<Argument, count> view() const { return each<Argument>(std::make_index_sequence<count>()); }
  std::array<OwnedArgument, count> own() const { return each<OwnedArgument>(std::make_index_sequence<count>()); }

 private:
  template <class H>
  static consteval bool corresponds() {
    if constexpr (lang::HasLeaves<H>)
      return same(static_cast<lang::leaves_of<S> *>(nullptr), static_cast<lang::leaves_of<H> *>(nullptr));
    else
      return false;
  }
  template <class... Ts, class... Hs>
  static consteval bool same(std::tuple<Ts...> *, std::tuple<Hs...> *) {
    return std::same_as<std::tuple<lang::value_type_of<Ts>...>, std::tuple<Hs...>>;
  }
  template <class A, std::size_t... I>
  std::array<A, count> each(std::index_sequence<I...>) const {
    return {A{{}, bits[I]}...};
  }
};

// For a struct with arrays: a host struct with as many fields, each the argument for its field.
template <lang::ParameterStruct S>
struct ArgumentFor<S> {
  template <class>
  struct OfFields;
  template <class... Fs>
  struct OfFields<std::tuple<Fs...>> {
    using type = std::tuple<ArgumentFor<Fs>...>;
    template <class... Hs>
    static consteval bool take(std::tuple<Hs &...> *) {
      if constexpr (sizeof...(Hs) == sizeof...(Fs))
        return (std::convertible_to<Hs &, ArgumentFor<Fs>> && ...);
      else
        return false;
    }
  };
  using Fields = OfFields<lang::field_types<S>>;
  static constexpr std::size_t count = lang::parameter_count<S>;

  template <class H>
    requires(!lang::TracedValue<H> && !std::is_base_of_v<AnyBuffer, H>)
  ArgumentFor(const H &host) : fields(of(host)) {}
  typename Fields::type fields;

  std::array<Argument, count> view() const {
    return std::apply([](const auto &...field) { return joined<Argument>({}, field.view()...); }, fields);
  }
  std::array<OwnedArgument, count> own() const {
    return std::apply([](const auto &...field) { return joined<OwnedArgument>({}, field.own()...); }, fields);
  }

 private:
  template <class H>
  static consteval bool corresponds() {
    if constexpr (lang::AggregateOfFields<H>)
      return Fields::take(static_cast<decltype(lang::fields(std::declval<const H &>())) *>(nullptr));
    else
      return false;
  }
  template <class H>
  static typename Fields::type of(const H &host) {
    static_assert(corresponds<H>(),
                  "a struct parameter with arrays is given a struct of the host that has a field for each: a Buffer "
                  "for an Array, float for Float, a struct for a struct");
    return std::apply([](const auto &...field) { return typename Fields::type{field...}; }, lang::fields(host));
  }
  template <class A, class... Parts>
  static std::array<A, count> joined(std::array<A, count> all, Parts &&...parts) {
    std::size_t next = 0;
    auto put = [&]<class Part>(Part &part) {
      if constexpr (std::same_as<Part, A>)
        all[next++] = std::move(part);
      else
        for (A &each : part) all[next++] = std::move(each);
    };
    (put(parts), ...);
    return all;
  }
};

// The arguments of a launch, one for each parameter of the IR.
template <class... Ps>
inline constexpr std::size_t argument_count = (std::size_t{0} + ... + lang::parameter_count<Ps>);
// The index of the first argument for parameter `Index`.
template <std::size_t Index, class... Ps>
consteval std::size_t argument_place() {
  const std::array<std::size_t, sizeof...(Ps) + 1> counts{lang::parameter_count<Ps>...};
  std::size_t place = 0;
  for (std::size_t i = 0; i < Index; ++i) place += counts[i];
  return place;
}
template <class... Ps>
std::array<Argument, argument_count<Ps...>> views_of(const ArgumentFor<Ps> &...arguments) {
  std::array<Argument, argument_count<Ps...>> views;
  Argument *at = views.data();
  [[maybe_unused]] auto put = [&](const auto &view) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(view)>, Argument>)
      *at++ = view;
    else
      for (const Argument &each : view) *at++ = each;
  };
  (put(arguments.view()), ...);
  return views;
}
std::vector<OwnedArgument> moved_from(std::span<OwnedArgument> arguments);
template <class... Ps>
std::vector<OwnedArgument> owned(const ArgumentFor<Ps> &...arguments) {
  std::array<OwnedArgument, argument_count<Ps...>> owned;
  OwnedArgument *at = owned.data();
  [[maybe_unused]] auto put = [&](auto own) {
    if constexpr (std::same_as<decltype(own), OwnedArgument>)
      *at++ = std::move(own);
    else
      for (OwnedArgument &each : own) *at++ = std::move(each);
  };
  (put(arguments.own()), ...);
  return moved_from(owned);
}

template <class F>
struct SignatureOf {};
template <class F>
  requires requires { &F::operator(); }
struct SignatureOf<F> : SignatureOf<decltype(&F::operator())> {};
template <class C, class... Ps>
struct SignatureOf<void (C::*)(Ps...) const> {
  using type = void(std::remove_cvref_t<Ps>...);
};
template <class C, class... Ps>
struct SignatureOf<void (C::*)(Ps...)> {
  using type = void(std::remove_cvref_t<Ps>...);
};
template <class... Ps>
struct SignatureOf<void (*)(Ps...)> {
  using type = void(std::remove_cvref_t<Ps>...);
};

// The error of a function that cannot be a kernel's, if its type shows it.
template <class F>
struct NoKernelFunction {};
struct NoKernelName {};
template <class... Ps>
struct NoKernelParameter {};
// void(Ps...) of a kernel's function.
template <class F>
struct KernelSignature {
  using type = NoKernelFunction<F>;
};
template <class F>
  requires requires { typename SignatureOf<F>::type; }
struct KernelSignature<F> {
  template <class>
  struct Checked;
  template <class... Ps>
  struct Checked<void(Ps...)> {
    using type = std::conditional_t<(lang::KernelParameter<Ps> && ...), void(Ps...), NoKernelParameter<Ps...>>;
  };
  using type = typename Checked<typename SignatureOf<F>::type>::type;
};

// The array of gradients or tangents for a parameter, if it can have one; several for a struct.
template <class P>
struct DerivativeArray {
  using type = std::tuple<>;
  static constexpr std::uint64_t active = 0;
};
template <class T, int Rank>
  requires Differentiable<std::remove_const_t<T>>
struct DerivativeArray<Array<T, Rank>> {
  using type = std::tuple<Array<std::remove_const_t<T>, Rank>>;
  static constexpr std::uint64_t active = 1;
};
template <class S, int Rank>
  requires lang::StructValue<std::remove_const_t<S>> && Differentiable<lang::leaf_type<std::remove_const_t<S>>>
struct DerivativeArray<Array<S, Rank>> {
  using type = std::tuple<Array<std::remove_const_t<S>, Rank>>;
  static constexpr std::uint64_t active = 1;
};
template <class T, int Rank>
struct DerivativeArray<Distinct<T, Rank>> : DerivativeArray<Array<T, Rank>> {};
// Those of the arrays in a struct, and their IR parameters, as bits.
template <class Fields>
struct DerivativeArrays;
template <class... Fs>
struct DerivativeArrays<std::tuple<Fs...>> {
  using type = decltype(std::tuple_cat(std::declval<typename DerivativeArray<Fs>::type>()...));
  static constexpr std::uint64_t active = [] {
    std::uint64_t bits = 0;
    std::size_t place = 0;
    ((bits |= DerivativeArray<Fs>::active << place, place += lang::parameter_count<Fs>), ...);
    return bits;
  }();
};
template <lang::ParameterStruct S>
struct DerivativeArray<S> : DerivativeArrays<lang::field_types<S>> {};

// The parameters of a derivative with respect to those that `Wanted` names by index; all if it is empty.
template <class Wanted, class Indices, class... Ps>
struct DerivativeOf;
template <std::size_t... Wanted, std::size_t... I, class... Ps>
struct DerivativeOf<std::index_sequence<Wanted...>, std::index_sequence<I...>, Ps...> {
  template <std::size_t Index>
  static constexpr bool wanted = sizeof...(Wanted) == 0 || ((Wanted == Index) || ...);
  template <std::size_t Index, class P>
  using Gradients = std::conditional_t<wanted<Index>, typename DerivativeArray<P>::type, std::tuple<>>;

  template <class>
  struct Signature;
  template <class... Gs>
  struct Signature<std::tuple<Gs...>> {
    using type = void(Ps..., Gs...);
  };
  using type = typename Signature<decltype(std::tuple_cat(std::declval<Gradients<I, Ps>>()...))>::type;

  static constexpr std::uint64_t active =
      (std::uint64_t{0} | ... |
       (wanted<I> ? DerivativeArray<Ps>::active << argument_place<I, Ps...>() : std::uint64_t{0}));
  template <std::size_t Index>
  static constexpr bool has = (... || (I == Index && DerivativeArray<Ps>::active != 0));
  static constexpr bool fits = (... && has<Wanted>);
};

}  // namespace jit

template <class Signature>
class Kernel;  // the type of a member is written out: Kernel<void(Array<float, 1>, Float)>

template <class... Ps>
class Kernel<void(Ps...)> {
  static_assert(
      (lang::KernelParameter<Ps> && ...),
      "a kernel's parameters are traced scalars and arrays: write Float for float, Int for int (or Traced<T>), "
      "and Array<T, Rank> for a buffer");

 public:
  template <class F>
  Kernel(Name name, const F &function, SourceLocation where = std::source_location::current())
      : Kernel(std::move(name), {}, function, where) {}
  template <class F>
  Kernel(Name name, const Names &parameter_names, const F &function,
         SourceLocation where = std::source_location::current())
      : definition_(defined(std::move(name).text(), parameter_names.texts(), function, where), "Kernel") {}
  // Empty: assign a kernel before any other use.
  Kernel() : definition_(nullptr, "Kernel") {}

  // Runs the kernel for each index of `extents`, 0 to extent - 1 in each dimension.
  void launch(const LaunchExtents &extents, jit::ArgumentFor<Ps>... arguments) const {
    launch(extents, LaunchOptions{}, arguments...);
  }
  void launch(const LaunchExtents &extents, const LaunchOptions &options, jit::ArgumentFor<Ps>... arguments) const {
    jit::launch_once(definition_.share(extents.where()), extents, options, jit::views_of<Ps...>(arguments...));
  }

  // Checks and compiles a launch now, and returns it as an object that can be launched many times.
  Launch record(const LaunchExtents &extents, jit::ArgumentFor<Ps>... arguments) const {
    return record(extents, LaunchOptions{}, arguments...);
  }
  Launch record(const LaunchExtents &extents, const LaunchOptions &options, jit::ArgumentFor<Ps>... arguments) const {
    return jit::record(definition_.share(extents.where()), extents, options, jit::owned<Ps...>(arguments...));
  }

  // Records the forward and adjoint launches, which are compiled concurrently.
  //
  //   auto [forward, adjoint] = step.record_with_adjoint({n}, y, x);
  LaunchWithAdjoint record_with_adjoint(const LaunchExtents &extents, jit::ArgumentFor<Ps>... arguments) const {
    return record_with_adjoint(extents, LaunchOptions{}, arguments...);
  }
  LaunchWithAdjoint record_with_adjoint(const LaunchExtents &extents, const LaunchOptions &options,
                                        jit::ArgumentFor<Ps>... arguments) const {
    return jit::record_with_adjoint(definition_.share(extents.where()), extents, options,
                                    jit::owned<Ps...>(arguments...));
  }

  // The derivative as a separate kernel, which is launched, recorded on tapes and differentiated like any other: second
  // derivatives are derivatives of these kernels. With respect to the parameters of the given indices, or to every
  // floating array.
  //
  //   auto adjoint = kernel.adjoint<0, 1>();            // of (Array<float, 1> y, Array<const float, 1> x, Float a)
  //   adjoint.launch({n}, y, x, 2.0f, y_bar, x_bar);    // what an adjoint launch does, on gradients that are arrays
  //
  // Its parameters are the kernel's, then one array for each of those, in order. The adjoint reads the kernel's arrays
  // as they were before the kernel ran, and writes to none of them; it consumes the gradients of overwritten arrays and
  // adds to the others. The tangent computes the kernel's results along with their tangents. UserError as for an
  // adjoint or a tangent launch, with the same locations.
  template <std::size_t... Parameters>
  auto adjoint(SourceLocation where = std::source_location::current()) const {
    return derivative<Parameters...>("adjoint()", jit::adjoint_kernel, where);
  }
  template <std::size_t... Parameters>
  auto tangent(SourceLocation where = std::source_location::current()) const {
    return derivative<Parameters...>("tangent()", jit::tangent_kernel, where);
  }

  // The values that the adjoint stores and recomputes, with respect to the parameters of the given indices, or to every
  // floating array; see LaunchOptions::memory_limit. Print it with operator<<. UserError as for an adjoint launch.
  template <std::size_t... Parameters>
  autodiff::AdjointReport adjoint_report(std::optional<std::int64_t> memory_limit = {},
                                         SourceLocation where = std::source_location::current()) const {
    using Derivative = jit::DerivativeOf<std::index_sequence<Parameters...>, std::index_sequence_for<Ps...>, Ps...>;
    static_assert(Derivative::fits, "a derivative is with respect to floating arrays: name their parameters' indices");
    return at_call("adjoint_report()", where,
                   [&] { return jit::adjoint_report(*definition_, Derivative::active, memory_limit); });
  }

  const std::string &name() const { return jit::name_of(*definition_); }

  // The variants compiled so far; include "samite/jit/variant.h" to read them.
  std::vector<std::shared_ptr<const jit::Variant>> variants() const { return jit::variants_of(*definition_); }

  // The kernel in structured form; print it with operator<<.
  const ir::Kernel &ir() const { return jit::structured(*definition_); }

  // For the library.
  explicit Kernel(std::shared_ptr<jit::KernelDefinition> definition) : definition_(std::move(definition), "Kernel") {}
  const std::shared_ptr<jit::KernelDefinition> &definition() const { return definition_.share(); }

 private:
  template <class F>
  static std::shared_ptr<jit::KernelDefinition> defined(std::string name, const std::vector<std::string> &names,
                                                        const F &function, SourceLocation where) {
    auto parameters = lang::named({lang::described<Ps>()...}, names, name, where);
    return jit::define_kernel(
        std::move(name), std::move(parameters),
        [&](std::uint32_t serial) { lang::call_with_parameters<Ps...>(serial, function, where); }, where);
  }

  template <std::size_t... Parameters>
  auto derivative(const char *call, jit::Derive &derive, SourceLocation where) const {
    using Derivative = jit::DerivativeOf<std::index_sequence<Parameters...>, std::index_sequence_for<Ps...>, Ps...>;
    static_assert(Derivative::fits, "a derivative is with respect to floating arrays: name their parameters' indices");
    return at_call(call, where,
                   [&] { return Kernel<typename Derivative::type>(derive(*definition_, Derivative::active)); });
  }

  jit::Held<jit::KernelDefinition> definition_;
};

// A function that is refused with a single message.
template <class F>
class Kernel<jit::NoKernelFunction<F>> {
  static_assert(
      !std::is_class_v<F> || requires { &F::operator(); },
      "the parameters of a kernel have types that are written out: Array<float, 1> or Float, not auto");
  static_assert(
      std::is_class_v<F> && !requires { &F::operator(); },
      "a kernel's function returns nothing: what it computes it stores in its arrays");

 public:
  template <class... As>
  Kernel(As &&...) {}
};
template <class... Ps>
class Kernel<jit::NoKernelParameter<Ps...>> {
  static_assert(
      (lang::KernelParameter<Ps> && ...),
      "a kernel's parameters are traced scalars and arrays: write Float for float, Int for int (or Traced<T>), "
      "and Array<T, Rank> for a buffer");

 public:
  template <class... As>
  Kernel(As &&...) {}
};

template <>
class Kernel<jit::NoKernelName> {
 public:
  template <class F>
  Kernel(const F &) {
    static_assert(std::is_void_v<F>,
                  "a kernel has a name, which comes first: Kernel scale{\"scale\", [](Array<float, 1> a) { … }}");
  }
};

template <class F, class Signature = typename jit::KernelSignature<F>::type>
Kernel(Name, F) -> Kernel<Signature>;
template <class F>
  requires requires { typename jit::SignatureOf<F>::type; }
Kernel(F) -> Kernel<jit::NoKernelName>;
template <class F, class Signature = typename jit::KernelSignature<F>::type>
Kernel(Name, Names, F) -> Kernel<Signature>;

}  // namespace samite
