#include "samite/jit/launch.h"

#include "samite/base/error.h"
#include "samite/base/floating_range.h"
#include "samite/base/thread_mode.h"
#include "samite/base/trace.h"
#include "samite/jit/arguments.h"
#include "samite/jit/at_once.h"
#include "samite/jit/cuda_launch.h"
#include "samite/jit/derivative_launch.h"
#include "samite/jit/execute.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/non_finite.h"
#include "samite/jit/out_of_bounds.h"
#include "samite/jit/tangent_launches.h"
#include "samite/jit/tape_access.h"
#include "samite/jit/variant_key.h"
#include "samite/lang/trace.h"
#include "samite/runtime/cuda_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <ostream>

namespace samite {
namespace jit {

void check_stream(const Callee &callee, const Stream &stream, Device device) {
  if (!(stream.device() == device))
    throw UserError(callee.where, std::string(callee.kind) + " '" + callee.name + "': the stream is on " +
                                      stream.device().to_string() + ", the buffers are on " + device.to_string() +
                                      "; use a stream of the buffers' device");
}

// A kernel's function runs once, while it is captured: a launch inside would run then, and not with the kernel.
void refuse_inside_kernel(const Callee &callee) {
  if (const lang::Trace *trace = lang::Trace::running())
    throw UserError(callee.where,
                    std::string(callee.kind) + " '" + callee.name +
                        "': it is launched inside of another kernel's function (" + trace->where().to_string() +
                        "), which runs once, while that kernel is captured; launch it before or after, or call the "
                        "same C++ function in both kernels");
}

void Turn::refuse(const std::string &launch, const char *type, SourceLocation kernel) {
  throw UserError(kernel, launch + " is in use by another thread: one thread uses a " + type +
                              " at a time; give each thread a copy of its own");
}

std::size_t parameter_named(const Callee &callee, std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < callee.parameters.size(); ++i) {
    if (callee.parameters[i].name == name) return i;
    known += (known.empty() ? "" : ", ") + callee.parameters[i].name;
  }
  throw UserError(callee.where, std::string(callee.kind) + " '" + callee.name + "' has no parameter named '" +
                                    std::string(name) + "'; its parameters are " + known);
}

void check_index(const Callee &callee, std::size_t index) {
  if (index >= callee.parameters.size())
    throw UserError(callee.where, std::string(callee.kind) + " '" + callee.name + "' has " +
                                      std::to_string(callee.parameters.size()) +
                                      " parameters; there is none of index " + std::to_string(index));
}

namespace {

// Arrays whose elements or gradients a launch accesses, as bits; an adjoint reads the elements of only some.
std::uint64_t arrays_touched(const VariantKey &key, std::span<const std::uint32_t> values_read) {
  if (key.direction != Direction::adjoint) return ~std::uint64_t{0};
  std::uint64_t arrays = key.derivative.active;
  for (const std::uint32_t array : values_read) arrays |= std::uint64_t{1} << array;
  return arrays;
}

// All checks of a launch, and its variant.
const std::shared_ptr<const Variant> &check(KernelDefinition &definition, const Extents &extents,
                                            const LaunchOptions &options, std::span<const Argument> arguments,
                                            bool in_graph = false) {
  check_extents(definition, extents);
  check_arguments(definition, arguments);
  const auto check_bytes = [&](const char *option, std::int64_t bytes, const char *otherwise) {
    if (bytes < 0)
      throw UserError(definition.where(), "kernel '" + definition.name() + "': LaunchOptions::" + option +
                                              " is a number of bytes, 0 or more; " + std::to_string(bytes) +
                                              " is given; " + otherwise);
  };
  check_bytes("memory_limit", options.memory_limit.value_or(0), "leave it unset for the usual limit");
  check_bytes("cuda.workspace_bytes", options.cuda.workspace_bytes, "0 is the smallest");
  if (options.stream) check_stream(definition, *options.stream, device_of(arguments, options));
  VariantKey key = variant_key(definition, extents, options, arguments, in_graph);
  std::span<const std::uint32_t> values_read;
  if (options.direction == Direction::adjoint) {
    const KernelDefinition::Derived &derived = checked_adjoint(definition, key, arguments);
    add_adjoint_facts(key, definition, derived, extents, arguments);
    values_read = derived.adjoint.values_read;
  }
  if (options.direction == Direction::tangent) check_tangent(definition, key);
  // Debug mode finds these and more, and names the instance.
  if (!key.debug) check_bounds(definition, extents, arguments, arrays_touched(key, values_read));
  if (extents.count() > 1) definition.warn_of_common_writes();
  return definition.variant(key);
}

// A launch that requests no clusters gets smaller ones, or none, if the device has no room for those of its kernel.
// Only kernels that read arrays have any.
template <class Make>
void in_clusters_with_room(const LaunchOptions &options, std::span<const Argument> arguments, const Make &make) {
  for (;;) try {
      return make();
    } catch (const driver::NoRoomForCluster &refused) {
      const CudaMemory *memory = cuda_memory_of(arguments);
      if (options.cuda.cluster || !memory) throw;
      memory->device().had_no_room_for_cluster(static_cast<int>(refused.blocks()));
    }
}

template <class Visit>
void for_each_written(const KernelDefinition &definition, const Variant &variant, std::span<const Argument> arguments,
                      Visit &&visit) {
  const auto own = [&](std::size_t i) { visit(WrittenStorage{arguments[i].buffer->storage().get(), i}); };
  if (variant.key.direction != Direction::adjoint) {
    for (std::uint64_t bits = definition.written(); bits != 0; bits &= bits - 1)
      own(static_cast<std::size_t>(std::countr_zero(bits)));
  }
  for (std::uint32_t array : variant.derivative.written) own(array);
  if (variant.key.direction != Direction::forward) {
    for (std::uint32_t primal : variant.derivative.gradient_of)
      visit(WrittenStorage{arguments[primal].buffer->storage()->gradient_pointer(), primal});
  }
}

// The arguments' memory is about to be used in `stream`, of a CUDA device.
void use_in(const Stream &stream, std::span<const Argument> arguments) {
  for (const Argument &argument : arguments) {
    if (!argument.buffer) continue;
    const Storage *storage = argument.buffer->storage().get(), *elements = argument.elements().storage().get();
    storage->cuda()->used_by(stream.cuda_handle());
    if (elements != storage) elements->cuda()->used_by(stream.cuda_handle());
    if (const Storage *gradient = storage->gradient_pointer()) gradient->cuda()->used_by(stream.cuda_handle());
  }
}

// Whether some memory is not ordered with the standard stream.
bool any_borrowed(std::span<const Argument> arguments) {
  return std::ranges::any_of(arguments, [](const Argument &argument) {
    return argument.buffer && (argument.buffer->storage()->is_borrowed() ||
                               (argument.values && argument.values->storage()->is_borrowed()));
  });
}

// A launch that the driver refuses has written nothing. With several kernels, the first may have run before the second
// is refused.
template <class MarkWritten>
void run_on_cuda(const CudaLaunch &cuda, const std::byte *block, const MarkWritten &mark_written) {
  const bool is_one = cuda.kernel_count() <= 1;
  if (!is_one) mark_written();
  cuda.run(block);
  if (is_one) mark_written();
  cuda.hear();
}

std::string given(const HostScalar &value) {
  return std::visit([](auto v) { return fmt::format("{}", v); }, value);
}

std::string why_it_does_not_fit(ScalarType type) {
  return "which does not fit" +
         (is_floating(type) ? fmt::format(": the largest number is {}", floating_range(type).largest) : "");
}

}  // namespace

void refuse_scalar(ScalarType type, HostScalar number, SourceLocation where) {
  throw UserError(where, "a scalar argument of type " + std::string(cpp_name(type)) + " is expected; " + given(number) +
                             " is given, " + why_it_does_not_fit(type));
}

std::uint64_t scalar_bits(const Callee &callee, std::size_t index, HostScalar value) {
  const ir::Parameter &parameter = callee.parameters[index];
  auto refuse = [&](const std::string &why) {
    throw UserError(callee.where, std::string(callee.kind) + " '" + callee.name +
                                      "': " + describe(callee.parameters, index) + " expects " +
                                      (parameter.is_array() ? "a buffer of " : "a scalar of type ") +
                                      std::string(name(parameter.type)) + "; " + why);
  };
  if (parameter.is_array()) refuse("the number " + given(value) + " is given");
  bool is_bool = std::holds_alternative<bool>(value), is_double = std::holds_alternative<double>(value);
  if (is_bool != (parameter.type == ScalarType::Bool))
    refuse(is_bool ? "a bool is given" : "the number " + given(value) + " is given");
  if (is_double && !is_floating(parameter.type))
    refuse("the floating number " + given(value) + " is given: round it to an integer first");

  std::uint64_t bits = 0;
  std::visit(
      [&](auto v) {
        auto store = [&](auto converted) { std::memcpy(&bits, &converted, sizeof converted); };
        if (is_floating(parameter.type) && is_too_large(parameter.type, static_cast<double>(v)))
          refuse(given(value) + " is given, " + why_it_does_not_fit(parameter.type));
        if (parameter.type == ScalarType::Float8E4M3) return store(f8e4m3(v));
        if (parameter.type == ScalarType::Float8E5M2) return store(f8e5m2(v));
        if (parameter.type == ScalarType::Float16) return store(half(v));
        if (parameter.type == ScalarType::BFloat16) return store(bfloat16(v));
        if (parameter.type == ScalarType::Float32) return store(static_cast<float>(v));
        if (parameter.type == ScalarType::Float64) return store(static_cast<double>(v));
        ir::Value constant = ir::Value::constant(parameter.type, static_cast<std::int64_t>(v));
        bool negative = v < decltype(v){};
        bool fits = constant.as_int() == static_cast<std::int64_t>(v) &&
                    (negative ? class_of(parameter.type) == ScalarClass::Signed : true) &&
                    !(class_of(parameter.type) == ScalarClass::Signed && !negative && constant.as_int() < 0);
        if (!fits) refuse(given(value) + " is given, " + why_it_does_not_fit(parameter.type));
        bits = constant.bits();
      },
      value);
  return bits;
}

std::vector<Argument> views(const std::vector<OwnedArgument> &arguments) {
  std::vector<Argument> views;
  views.reserve(arguments.size());
  for (const OwnedArgument &argument : arguments) views.push_back(argument.view());
  return views;
}

Launch record(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
              const LaunchOptions &options, std::vector<OwnedArgument> arguments) {
  return at_call("recorded", extents.where(),
                 [&] { return Launch(definition, extents, options, std::move(arguments)); });
}

LaunchWithAdjoint record_with_adjoint(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                                      const LaunchOptions &options, const std::vector<OwnedArgument> &arguments) {
  std::optional<Launch> forward, adjoint;
  const auto record = [&](std::optional<Launch> &launch, Direction direction) {
    return [&, direction] {
      LaunchOptions own = options;
      own.direction = direction;
      launch.emplace(definition, extents, own, arguments);
    };
  };
  at_call("recorded", extents.where(),
          [&] { at_once({record(forward, Direction::forward), record(adjoint, Direction::adjoint)}); });
  return {std::move(*forward), std::move(*adjoint)};
}

void compile_for(KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                 std::span<const Argument> arguments) {
  check(definition, extents, options, arguments);
}

void launch_now(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                const LaunchOptions &options, std::span<const Argument> arguments) {
  if (!is_in_any_mode()) return run_now(*definition, extents, options, arguments);
  refuse_inside_kernel(*definition);
  if (GraphCapture *capture = GraphCapture::current()) {
    std::vector<OwnedArgument> owned;
    for (const Argument &argument : arguments)
      owned.push_back(argument.buffer ? OwnedArgument{*argument.buffer, 0} : OwnedArgument{{}, argument.scalar});
    return capture->add(Launch(definition, extents, options, std::move(owned)));
  }
  if (TangentLaunches::current() || TapeAccess::recording()) {
    check(*definition, extents, options, arguments);
    return launch_for_derivatives(definition, extents, options, arguments,
                                  [&] { run_now(*definition, extents, options, arguments); });
  }
  run_now(*definition, extents, options, arguments);
}

void launch_once(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                 const LaunchOptions &options, std::span<const Argument> arguments) {
  at_call("launched", extents.where(), [&] { launch_now(definition, extents, options, arguments); });
}

namespace {

void run_checked(KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                 std::span<const Argument> arguments) {
  const std::shared_ptr<const Variant> &variant = check(definition, extents, options, arguments);
  constexpr std::size_t usual_bytes = 1024;
  alignas(8) std::byte on_stack[usual_bytes];
  std::vector<std::byte> on_heap(variant->layout.bytes > usual_bytes ? variant->layout.bytes : 0);
  std::byte *block = on_heap.empty() ? on_stack : on_heap.data();
  fill_arguments(*variant, arguments, block);
  // Marks written arrays even if the launch ends with an error of debug mode.
  const auto mark_written = [&] {
    for_each_written(definition, *variant, arguments, [&](const WrittenStorage &written) {
      written.storage->mark_written(*arguments[written.argument].buffer);
    });
  };
  const Device device = device_of(arguments, options);
  auto run = [&] {
    if (device.kind() == DeviceKind::cpu) {
      mark_written();
      return execute(*variant, definition.name(), block, extents, partition(*variant, extents));
    }
    const Stream stream = stream_of(arguments, options);
    // The standard stream is ordered with all memory that is not borrowed.
    if (options.stream || any_borrowed(arguments)) use_in(stream, arguments);
    if (is_single_kernel(*variant) && !is_tracing()) {
      run_single_kernel(definition, *variant, extents, options, *stream.cuda(), block);
      return mark_written();
    }
    run_on_cuda(CudaLaunch(definition, variant, extents, options, stream, block), block, mark_written);
  };
  if (options.check_finite && options.direction == Direction::adjoint)
    run_checking_finite(definition, variant->key, extents, arguments, run);
  else
    run();
}

}  // namespace

void run_now(KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
             std::span<const Argument> arguments) {
  in_clusters_with_room(options, arguments, [&] { run_checked(definition, extents, options, arguments); });
}

}  // namespace jit

Launch::Launch(std::shared_ptr<jit::KernelDefinition> definition, const Extents &extents, const LaunchOptions &options,
               std::vector<jit::OwnedArgument> arguments)
    : definition_(std::move(definition), "Launch"),
      arguments_(std::move(arguments)),
      extents_(extents),
      options_(options),
      stream_(Stream::standard(Device::cpu())) {
  options_.debug = options.debug ? *options.debug : debug_mode();
  prepare();
}

void Launch::prepare() {
  const auto arguments = views();
  jit::in_clusters_with_room(options_, arguments, [&] { prepare(arguments); });
}

void Launch::prepare(std::span<const jit::Argument> arguments) {
  auto variant = jit::check(*definition_, extents_, options_, arguments, in_graph_);
  Stream stream = jit::stream_of(arguments, options_);
  std::vector<std::byte> block(variant->layout.bytes);
  jit::fill_arguments(*variant, arguments, block.data());
  std::shared_ptr<const jit::CudaLaunch> cuda;
  shipped::Partition partition{};
  if (stream.cuda()) {
    jit::use_in(stream, arguments);
    cuda = std::make_shared<const jit::CudaLaunch>(*definition_, variant, extents_, options_, stream, block.data());
  } else {
    partition = jit::partition(*variant, extents_);
  }
  std::vector<jit::WrittenStorage> written;
  jit::for_each_written(*definition_, *variant, arguments,
                        [&](const jit::WrittenStorage &one) { written.push_back(one); });

  // Assigned together: an exception before this leaves the launch unchanged.
  variant_ = std::move(variant);
  stream_ = stream;
  block_ = std::move(block);
  cuda_ = std::move(cuda);
  partition_ = partition;
  written_ = std::move(written);
}

Launch Launch::in_graph() const {
  Launch copy = *this;
  if (!variant_->key.races || !cuda_) return copy;
  copy.in_graph_ = true;
  copy.prepare();
  return copy;
}

Launch Launch::in_place_of(const Launch &before) const {
  Launch copy = in_graph();
  if (!cuda_ || !before.cuda_) return copy;
  if (copy.variant_->parts() != before.variant_->parts() && !options_.cuda.sum_parts &&
      !copy.variant_->key.plan.parts) {
    copy.options_.cuda.sum_parts = before.variant_->parts();
    copy.prepare();
  }
  // One reduces parts in clusters, and the other by another kernel, which cannot be added.
  if (copy.cuda_->kernel_count() != before.cuda_->kernel_count()) {
    if (before.variant_->gpu.step_parts > 1) copy.options_.cuda.sum_parts = 1;
    if (copy.variant_->gpu.step_parts > 1) copy.options_.cuda.cluster = 1;
    copy.prepare();
  }
  const std::vector<unsigned> kept = before.cuda_->clusters();
  if (copy.cuda_->kernel_count() == before.cuda_->kernel_count() && copy.cuda_->clusters() != kept &&
      !copy.variant_->key.plan.cluster_blocks) {
    copy.options_.cuda.cluster = std::max(static_cast<int>(std::ranges::max(kept)), 1);
    copy.prepare();
  }
  copy.options_.cuda.sum_parts = options_.cuda.sum_parts;
  copy.options_.cuda.cluster = options_.cuda.cluster;
  return copy;
}

void Launch::launch(SourceLocation where) {
  at_call("launched", where, [&] { launch_with(cuda_.get(), block_.data(), where); });
}

void Launch::mark_written() const {
  for (const jit::WrittenStorage &written : written_)
    written.storage->mark_written(arguments_[written.argument].buffer);
}

void Launch::for_each_written(FunctionRef<void(Storage &, const AnyBuffer &)> f) const {
  for (const jit::WrittenStorage &written : written_) f(*written.storage, arguments_[written.argument].buffer);
}

void Launch::launch_with(const jit::CudaLaunch *cuda, const std::byte *block, SourceLocation where) {
  const bool plain = !is_in_any_mode();
  if (!plain) jit::refuse_inside_kernel(*definition_);
  const jit::Turn turn(in_use_, *this, "Launch", definition_->where());
  if (plain) return run(cuda, block);
  if (auto *capture = jit::GraphCapture::current()) return capture->add(*this);
  if (jit::TangentLaunches::current() || jit::TapeAccess::recording())
    return jit::launch_for_derivatives(definition_.share(), {extents_, where}, options_, views(),
                                       [&] { run(cuda, block); });
  run(cuda, block);
}

void Launch::run(const jit::CudaLaunch *cuda, const std::byte *block) const {
  if (cuda && cuda->is_plain()) {
    cuda->run(block);
    return mark_written();
  }
  const auto as_it_is = [&] {
    if (cuda) return jit::run_on_cuda(*cuda, block, [&] { mark_written(); });
    mark_written();
    jit::execute(*variant_, definition_->name(), block, extents_, partition_);
  };
  if (options_.check_finite && options_.direction == Direction::adjoint)
    jit::run_checking_finite(*definition_, variant_->key, extents_, views(), as_it_is);
  else
    as_it_is();
}

void Launch::launch(const Stream &stream, SourceLocation where) {
  at_call("launched", where, [&] {
    jit::check_stream(*definition_, stream, device());
    if (!cuda_ || stream == stream_) return launch_with(cuda_.get(), block_.data(), where);
    jit::use_in(stream, views());
    std::vector<std::byte> block = block_;
    const jit::CudaLaunch there(*definition_, variant_, extents_, options_, stream, block.data());
    launch_with(&there, block.data(), where);
  });
}

std::size_t Launch::index_of(std::string_view name, SourceLocation where) const {
  return at_call("set", where, [&] { return jit::parameter_named(*definition_, name); });
}

void Launch::set(std::size_t index, const AnyBuffer &buffer, SourceLocation where) {
  at_call("set", where, [&] {
    jit::check_index(*definition_, index);
    jit::check_buffer(*definition_, index, buffer);
    const jit::Turn turn(in_use_, *this, "Launch", definition_->where());
    jit::OwnedArgument before = std::exchange(arguments_[index], {buffer, 0});
    try {
      prepare();
    } catch (...) {
      arguments_[index] = std::move(before);
      throw;
    }
  });
}

void Launch::set_scalar(std::size_t index, jit::HostScalar value, SourceLocation where) {
  at_call("set", where, [&] {
    jit::check_index(*definition_, index);
    set_bits(index, jit::scalar_bits(*definition_, index, value));
  });
}

void Launch::set_bits(std::size_t index, std::uint64_t bits) {
  const jit::Turn turn(in_use_, *this, "Launch", definition_->where());
  const std::uint64_t before = std::exchange(arguments_[index].scalar, bits);
  const bool changes_memory = cuda_ && variant_->gpu.tile_memory.depends_on(static_cast<std::uint32_t>(index));
  try {
    if (changes_memory) return prepare();
    if (!variant_->key.debug && jit::bounds_depend_on(*definition_, index))
      jit::check_bounds(*definition_, extents_, views(),
                        jit::arrays_touched(variant_->key, variant_->derivative.values_read));
    jit::fill_argument(*variant_, index, arguments_[index].view(), block_.data());
  } catch (...) {
    arguments_[index].scalar = before;
    throw;
  }
}

void Launch::exchange(const Extents &extents, std::vector<jit::OwnedArgument> arguments) {
  const jit::Turn turn(in_use_, *this, "Launch", definition_->where());
  const Extents extents_before = std::exchange(extents_, extents);
  std::swap(arguments_, arguments);
  try {
    prepare();
  } catch (...) {
    extents_ = extents_before;
    arguments_ = std::move(arguments);
    throw;
  }
}

void Launch::set_dim(const LaunchExtents &extents) {
  at_call("set", extents.where(), [&] {
    jit::check_extents(*definition_, extents);
    const jit::Turn turn(in_use_, *this, "Launch", definition_->where());
    Extents before = std::exchange(extents_, extents);
    try {
      prepare();
    } catch (...) {
      extents_ = before;
      throw;
    }
  });
}

void Launch::set_dim(int dimension, std::int64_t extent, SourceLocation where) {
  at_call("set", where, [&] {
    if (dimension < 0 || dimension >= extents_.rank())
      throw UserError(definition_->where(), "kernel '" + definition_->name() + "' is launched over " +
                                                extents_.to_string() + "; there is no dimension " +
                                                std::to_string(dimension));
    std::array<std::int64_t, maximum_rank> values{};
    for (int d = 0; d < extents_.rank(); ++d) values[static_cast<std::size_t>(d)] = extents_[d];
    values[static_cast<std::size_t>(dimension)] = extent;
    set_dim({Extents(std::span(values.data(), static_cast<std::size_t>(extents_.rank()))), where});
  });
}

const std::string &Launch::kernel_name() const { return definition_->name(); }

autodiff::AdjointReport Launch::adjoint_report() const {
  if (options_.direction != Direction::adjoint)
    throw UserError(definition_->where(), to_string() + " has no adjoint report; record it with Direction::adjoint");
  const jit::VariantKey &key = variant().key;
  return autodiff::report(
      definition_->structured(),
      definition_->adjoint(key.derivative.active, key.derivative.may_alias, key.derivative.memory_limit));
}

std::string Launch::to_string() const {
  return "Launch of '" + definition_->name() + "' (" + std::string(name(options_.direction)) + ") over " +
         extents_.to_string() + " on " + device().to_string();
}

std::ostream &operator<<(std::ostream &stream, const Launch &launch) { return stream << launch.to_string(); }

}  // namespace samite
