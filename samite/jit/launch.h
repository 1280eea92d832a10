// A recorded launch: code, direction, extents, arguments, device and stream in one object.
//
//   Launch step = diffuse.record({512, 512}, b, a, 0.2f);
//   step.launch();                      // no look-up, no checks, no allocation
//   step.set("rate", 0.1f);             // or by index; a buffer too
//
// Everything is checked and compiled when it is recorded or edited; launch() only runs. The launch keeps its buffers
// alive. Editing a scalar, or replacing a buffer by a similar one, changes a few bytes; a buffer of another layout
// (stride, tracking of gradients) may need another variant of the kernel, which is then compiled.
//
// On the CPU a launch has completed when it returns; on CUDA it is queued in its stream. One thread may use a Launch at
// a time, and a concurrent use is refused; copies are independent.
#pragma once

#include "samite/autodiff/adjoint_report.h"
#include "samite/base/floating_range.h"
#include "samite/base/function_ref.h"
#include "samite/jit/argument.h"
#include "samite/jit/moved_from.h"
#include "samite/jit/options.h"
#include "samite/shipped/partition.h"

#include <atomic>
#include <concepts>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace samite {

namespace jit {

struct Callee;
class CudaLaunch;
class KernelDefinition;
struct LaunchAccess;
struct Variant;

// Written by a launch: an argument's storage, or its gradient's.
struct WrittenStorage {
  Storage *storage;
  std::size_t argument;  // the elements
};

// Whether a thread is using an object that one thread may use at a time. Copies are not in use.
//
// Plain loads and stores, since it is on the path of every launch: it is not a lock, and only detects overlaps that
// last about as long as a launch.
class InUse {
 public:
  InUse() = default;
  InUse(const InUse &) noexcept {}
  InUse &operator=(const InUse &) noexcept { return *this; }

  bool begin() noexcept {
    if (used_.load(std::memory_order_relaxed)) return false;
    used_.store(true, std::memory_order_relaxed);
    return true;
  }
  void end() noexcept { used_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<bool> used_{false};
};

// A thread's exclusive use of a launch, during its lifetime. UserError if another thread uses it; `type` is the
// launch's.
class Turn {
 public:
  template <class AnyLaunch>
  Turn(InUse &in_use, const AnyLaunch &launch, const char *type, SourceLocation kernel) : in_use_(in_use) {
    if (!in_use_.begin()) refuse(launch.to_string(), type, kernel);
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  ~Turn() { in_use_.end(); }

 private:
  [[noreturn]] static void refuse(const std::string &launch, const char *type, SourceLocation kernel);

  InUse &in_use_;
};

using HostScalar = std::variant<bool, std::int64_t, std::uint64_t, double>;

template <class A>
HostScalar host_scalar(A value) {
  if constexpr (std::same_as<A, bool>)
    return value;
  else if constexpr (FloatingScalar<A>)
    return static_cast<double>(value);
  else if constexpr (std::is_unsigned_v<A>)
    return static_cast<std::uint64_t>(value);
  else
    return static_cast<std::int64_t>(value);
}

// Whether a host number keeps its value as a kernel's scalar, up to rounding.
template <Scalar T, class A>
bool fits_scalar(T scalar, A number) {
  if constexpr (std::same_as<T, bool>)
    return true;
  else if constexpr (FloatingScalar<T>)
    return !is_too_large(scalar_type_of<T>, static_cast<double>(number));
  else
    return static_cast<A>(scalar) == number && (scalar < T{0}) == (number < A{0});
}
// Throws the UserError for a number that does not fit.
[[noreturn]] void refuse_scalar(ScalarType type, HostScalar number, SourceLocation where);

}  // namespace jit

// The extents of a launch, and the user's line of the launch.
class LaunchExtents {
 public:
  LaunchExtents(std::initializer_list<Extent> extents, SourceLocation where = std::source_location::current())
      : extents_(extents, where), where_(where) {}
  LaunchExtents(const Extents &extents, SourceLocation where = std::source_location::current())
      : extents_(extents), where_(where) {}
  template <std::integral N>
  LaunchExtents(N) = delete;  // extents are in braces: launch({n}, …), or launch({n, m}, …)

  operator const Extents &() const { return extents_; }
  SourceLocation where() const { return where_; }

 private:
  Extents extents_;
  SourceLocation where_;
};

class Launch {
 public:
  // Kernel::record makes these.
  Launch(std::shared_ptr<jit::KernelDefinition> definition, const Extents &extents, const LaunchOptions &options,
         std::vector<jit::OwnedArgument> arguments);

  void launch(SourceLocation where = std::source_location::current());
  // On another stream of the same device, once.
  void launch(const Stream &stream, SourceLocation where = std::source_location::current());

  // Replaces one argument, by its index or by its name. UserError if there is no such index or name, if the value does
  // not have the parameter's type or does not fit it, or as in Kernel::record; the launch is then unchanged.
  void set(std::size_t index, const AnyBuffer &buffer, SourceLocation where = std::source_location::current());
  void set(std::string_view name, const AnyBuffer &buffer, SourceLocation where = std::source_location::current()) {
    set(index_of(name, where), buffer, where);
  }
  template <class A>
    requires std::is_arithmetic_v<A> || FloatingScalar<A>
  void set(std::size_t index, A value, SourceLocation where = std::source_location::current()) {
    set_scalar(index, jit::host_scalar(value), where);
  }
  template <class A>
    requires std::is_arithmetic_v<A> || FloatingScalar<A>
  void set(std::string_view name, A value, SourceLocation where = std::source_location::current()) {
    set_scalar(index_of(name, where), jit::host_scalar(value), where);
  }

  // Changes the extents of the launch, all or one of them.
  void set_dim(const LaunchExtents &extents);
  void set_dim(int dimension, std::int64_t extent, SourceLocation where = std::source_location::current());

  Direction direction() const { return options_.direction; }
  const LaunchOptions &options() const { return options_; }
  const Extents &extents() const { return extents_; }
  Device device() const { return stream_.device(); }
  const Stream &stream() const { return stream_; }
  const std::string &kernel_name() const;

  // The variant that launch() runs: its source, the milliseconds of each step, its facts (include
  // "samite/jit/variant.h" to read them).
  const jit::Variant &variant() const {
    definition_.share();
    return *variant_;
  }

  // For an adjoint launch: the values that it stores and recomputes.
  autodiff::AdjointReport adjoint_report() const;

  std::string to_string() const;  // "Launch of 'diffuse' (forward) over (512, 512) on cpu"

 private:
  friend struct jit::LaunchAccess;

  void mark_written() const;
  void for_each_written(FunctionRef<void(Storage &, const AnyBuffer &)> f) const;
  void exchange(const Extents &extents, std::vector<jit::OwnedArgument> arguments);
  void set_bits(std::size_t index, std::uint64_t bits);
  Launch in_graph() const;
  Launch in_place_of(const Launch &before) const;

  std::size_t index_of(std::string_view name, SourceLocation where) const;
  void set_scalar(std::size_t index, jit::HostScalar value, SourceLocation where);
  std::vector<jit::Argument> views() const { return jit::views(arguments_); }
  // Gets the variant for the arguments and lays them out.
  void prepare();
  void prepare(std::span<const jit::Argument> arguments);
  // `block` as completed by `cuda`.
  void launch_with(const jit::CudaLaunch *cuda, const std::byte *block, SourceLocation where);
  void run(const jit::CudaLaunch *cuda, const std::byte *block) const;

  // The members that a launch on CUDA reads come first, in few cache lines, because the driver's calls evict them.
  jit::Held<jit::KernelDefinition> definition_;
  std::shared_ptr<const jit::CudaLaunch> cuda_;  // null on the CPU
  std::vector<std::byte> block_;
  std::vector<jit::WrittenStorage> written_;  // buffers that arguments_ keeps alive
  jit::InUse in_use_;
  bool in_graph_ = false;
  std::vector<jit::OwnedArgument> arguments_;
  Extents extents_;
  LaunchOptions options_;
  Stream stream_;
  std::shared_ptr<const jit::Variant> variant_;
  shipped::Partition partition_;  // on the CPU
};

std::ostream &operator<<(std::ostream &stream, const Launch &launch);

// A launch and its adjoint, with the same arguments.
struct LaunchWithAdjoint {
  Launch forward, adjoint;
};

namespace jit {

// Compiles both concurrently; ignores options.direction.
LaunchWithAdjoint record_with_adjoint(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                                      const LaunchOptions &options, const std::vector<OwnedArgument> &arguments);

// Checks and runs a launch that is not recorded.
void launch_once(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                 const LaunchOptions &options, std::span<const Argument> arguments);

Launch record(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
              const LaunchOptions &options, std::vector<OwnedArgument> arguments);

// launch_once without adding the user's line to errors.
void launch_now(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                const LaunchOptions &options, std::span<const Argument> arguments);

// Checks a launch, and compiles its variants.
void compile_for(KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                 std::span<const Argument> arguments);

// The same for the library's own launches, which tapes do not record.
void run_now(KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
             std::span<const Argument> arguments);

// The bits of `value` as a scalar of the parameter's type; UserError if it does not fit.
std::uint64_t scalar_bits(const Callee &callee, std::size_t index, HostScalar value);

// The index of the parameter with this name, or with this number as name; UserError if there is none.
std::size_t parameter_named(const Callee &callee, std::string_view name);
void check_index(const Callee &callee, std::size_t index);

// UserError inside a kernel's function, or if the stream is of another device.
void refuse_inside_kernel(const Callee &callee);
void check_stream(const Callee &callee, const Stream &stream, Device device);

}  // namespace jit
}  // namespace samite
