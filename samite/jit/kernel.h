// A kernel: a C++ function of traced values, to be launched over many indices.
//
//   Kernel axpy{"axpy", {"y", "x", "a"}, [](Array<float, 1> y, Array<const float, 1> x, Float a) {
//     Int i = thread_index();
//     y(i) += a * x(i);
//   }};
//   axpy.launch({n}, y, x, 2.0f);
//   Launch adjoint = axpy.record({n}, {.direction = Direction::adjoint}, y, x, 2.0f);
//
// The function runs once, when the Kernel is constructed; nothing is compiled then. The first launch or record of a
// direction compiles that direction, for the arguments at hand: an array with gaps between its elements, or another set
// of arrays that track gradients, is another variant. Names of parameters are for `Launch::set` and messages; without
// them the parameters are p0, p1, ….
//
// Arguments are a Buffer<T> for each Array<T, R> or Array<const T, R>, and a number for each scalar; their types are
// checked when the program compiles, everything else when it runs (UserError, see jit/arguments.h).
//
// Thread-safe after construction. Copies share what is compiled.
#pragma once

#include "samite/jit/launch.h"
#include "samite/lang/capture.h"
#include "samite/runtime/buffer.h"

#include <cstring>
#include <initializer_list>

namespace samite {
namespace jit {

// What a launch takes for each parameter.
template <class P>
struct ArgumentFor;

template <class T, int Rank>
struct ArgumentFor<Array<T, Rank>> {
  ArgumentFor(const Buffer<std::remove_const_t<T>> &buffer) : buffer(&buffer) {}
  const AnyBuffer *buffer;

  Argument view() const { return {buffer, 0}; }
  OwnedArgument own() const { return {*buffer, 0}; }
};

template <Scalar T>
struct ArgumentFor<Traced<T>> {
  template <LiteralFor<T> A>
  ArgumentFor(A number) : value(static_cast<T>(number)) {}
  T value;

  Argument view() const { return {nullptr, bits()}; }
  OwnedArgument own() const { return {{}, bits()}; }
  std::uint64_t bits() const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
};

template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
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

}  // namespace jit

template <class Signature>
class Kernel;

template <lang::KernelParameter... Ps>
class Kernel<void(Ps...)> {
 public:
  template <class F>
  Kernel(std::string name, const F &function, SourceLocation where = std::source_location::current())
      : Kernel(std::move(name), {}, function, where) {}
  template <class F>
  Kernel(std::string name, std::initializer_list<std::string> parameter_names, const F &function,
         SourceLocation where = std::source_location::current())
      : definition_(std::make_shared<jit::KernelDefinition>(
            lang::capture<Ps...>(std::move(name), parameter_names, function, where))) {}

  // Runs the kernel for each index of `extents`, 0 to extent - 1 in each dimension.
  void launch(const Extents &extents, jit::ArgumentFor<Ps>... arguments) const {
    launch(extents, LaunchOptions{}, arguments...);
  }
  void launch(const Extents &extents, const LaunchOptions &options, jit::ArgumentFor<Ps>... arguments) const {
    const std::array<jit::Argument, sizeof...(Ps)> views{arguments.view()...};
    jit::launch_once(definition_, extents, options, views);
  }

  // The same as an object, checked and compiled now, to be launched many times.
  Launch record(const Extents &extents, jit::ArgumentFor<Ps>... arguments) const {
    return record(extents, LaunchOptions{}, arguments...);
  }
  Launch record(const Extents &extents, const LaunchOptions &options, jit::ArgumentFor<Ps>... arguments) const {
    return Launch(definition_, extents, options, {arguments.own()...});
  }

  const std::string &name() const { return definition_->name(); }

  // The variants compiled so far.
  std::vector<std::shared_ptr<const jit::Variant>> variants() const { return definition_->variants(); }

  // The kernel in structured form; print it with operator<<.
  const ir::Kernel &ir() const { return definition_->structured(); }

 private:
  std::shared_ptr<jit::KernelDefinition> definition_;
};

template <class F, class Signature = typename jit::SignatureOf<F>::type>
Kernel(std::string, F) -> Kernel<Signature>;
template <class F, class Signature = typename jit::SignatureOf<F>::type>
Kernel(std::string, std::initializer_list<std::string>, F) -> Kernel<Signature>;

}  // namespace samite
