// A kernel whose type does not show its parameters: for a member or a result without Kernel<void(Array<float, 1>,
// Float)>.
//
//   class Solver {
//     AnyKernel step_;                                  // empty
//    public:
//     Solver() { step_ = Kernel{"step", {"x", "rate"}, [](Array<float, 1> x, Float rate) { … }}; }
//     void run(const Buffer<float> &x) { step_.launch({x.extent(0)}, x, 0.5f); }
//   };
//
// It is constructed from any Kernel or TileKernel, or with the same arguments, and shares compiled variants with it.
// Its arguments are a buffer for each array and a number for each scalar, those of a struct one after another. They are
// checked at run time: UserError names the parameter, what it expects and what is given. A recorded launch is the same
// as a Kernel's.
//
// An empty one can be asked whether it is empty, and assigned to; any other use is a UserError. Thread-safe after
// construction.
#pragma once

#include "samite/jit/kernel.h"

#include <array>
#include <optional>

namespace samite {

// A buffer, or a number. Made by implicit conversion only; the buffer must outlive the call.
class KernelArgument {
 public:
  KernelArgument(const AnyBuffer &buffer) : buffer_(&buffer) {}
  template <class A>
    requires std::is_arithmetic_v<A> || FloatingScalar<A>
  KernelArgument(A number) : number_(jit::host_scalar(number)) {}

  const AnyBuffer *buffer() const { return buffer_; }  // null for a number
  jit::HostScalar number() const { return number_; }

 private:
  const AnyBuffer *buffer_ = nullptr;
  jit::HostScalar number_ = false;
};

class AnyKernel {
 public:
  AnyKernel() : definition_(nullptr, "AnyKernel") {}
  template <class... Ps>
  AnyKernel(const Kernel<void(Ps...)> &kernel) : definition_(kernel.definition(), "AnyKernel") {}
  template <class F>
  AnyKernel(Name name, const F &function, SourceLocation where = std::source_location::current())
      : AnyKernel(typed(Kernel<typename jit::KernelSignature<F>::type>(std::move(name), function, where))) {}
  template <class F>
  AnyKernel(Name name, const Names &parameter_names, const F &function,
            SourceLocation where = std::source_location::current())
      : AnyKernel(
            typed(Kernel<typename jit::KernelSignature<F>::type>(std::move(name), parameter_names, function, where))) {}

  bool empty() const noexcept { return definition_.is_empty(); }
  explicit operator bool() const noexcept { return !empty(); }

  // Like those of Kernel. UserError for another number of arguments, for a buffer in place of a number or the other way
  // round, and as for Kernel.
  template <std::convertible_to<KernelArgument>... As>
  void launch(const LaunchExtents &extents, const As &...arguments) const {
    launch(extents, LaunchOptions{}, arguments...);
  }
  template <std::convertible_to<KernelArgument>... As>
  void launch(const LaunchExtents &extents, const LaunchOptions &options, const As &...arguments) const {
    launch_with(extents, options, std::array<KernelArgument, sizeof...(As)>{KernelArgument(arguments)...});
  }
  template <std::convertible_to<KernelArgument>... As>
  Launch record(const LaunchExtents &extents, const As &...arguments) const {
    return record(extents, LaunchOptions{}, arguments...);
  }
  template <std::convertible_to<KernelArgument>... As>
  Launch record(const LaunchExtents &extents, const LaunchOptions &options, const As &...arguments) const {
    return record_with(extents, options, std::array<KernelArgument, sizeof...(As)>{KernelArgument(arguments)...});
  }
  template <std::convertible_to<KernelArgument>... As>
  LaunchWithAdjoint record_with_adjoint(const LaunchExtents &extents, const As &...arguments) const {
    return record_with_adjoint(extents, LaunchOptions{}, arguments...);
  }
  template <std::convertible_to<KernelArgument>... As>
  LaunchWithAdjoint record_with_adjoint(const LaunchExtents &extents, const LaunchOptions &options,
                                        const As &...arguments) const {
    return record_with_adjoint_with(extents, options,
                                    std::array<KernelArgument, sizeof...(As)>{KernelArgument(arguments)...});
  }

  // The kernel with its type back: as<void(Array<float, 1>, Float)>(). UserError, with both lists of parameters, if
  // this is not its type.
  template <class Signature>
  Kernel<Signature> as(SourceLocation where = std::source_location::current()) const {
    check_parameters(Parameters<Signature>::describe(), where);
    return Kernel<Signature>(definition_.share(where));
  }

  const std::string &name() const { return jit::name_of(*definition_); }
  // Like those of Kernel.
  std::vector<std::shared_ptr<const jit::Variant>> variants() const { return jit::variants_of(*definition_); }
  const ir::Kernel &ir() const { return jit::structured(*definition_); }

 private:
  template <class... Ps>
  static Kernel<void(Ps...)> typed(Kernel<void(Ps...)> kernel) {
    return kernel;
  }
  template <class>
  struct Parameters;
  template <class... Ps>
  struct Parameters<void(Ps...)> {
    static std::vector<ir::Parameter> describe() {
      std::vector<ir::Parameter> all;
      (lang::append(all, lang::described<Ps>()), ...);
      return all;
    }
  };

  void launch_with(const LaunchExtents &extents, const LaunchOptions &options,
                   std::span<const KernelArgument> arguments) const;
  Launch record_with(const LaunchExtents &extents, const LaunchOptions &options,
                     std::span<const KernelArgument> arguments) const;
  LaunchWithAdjoint record_with_adjoint_with(const LaunchExtents &extents, const LaunchOptions &options,
                                             std::span<const KernelArgument> arguments) const;
  void check_parameters(const std::vector<ir::Parameter> &asked, SourceLocation where) const;

  jit::Held<jit::KernelDefinition> definition_;
};

}  // namespace samite
