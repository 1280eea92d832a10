#include "samite/jit/pipeline_launch.h"

#include "samite/base/error.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/pipeline_definition.h"
#include "samite/jit/pipeline_derivative.h"
#include "samite/jit/recorded_program.h"
#include "samite/jit/stream_order.h"
#include "samite/jit/tangent_launches.h"
#include "samite/lang/capture.h"
#include "samite/runtime/cuda_device.h"

#include <ostream>

namespace samite {
namespace jit {
namespace {

LaunchOptions options_of_kernels(const PipelineOptions &options) {
  LaunchOptions own;
  own.stream = options.stream;
  own.debug = options.debug ? *options.debug : debug_mode();
  own.deterministic = options.deterministic;
  if (options.cuda.cluster || options.cuda.sum_parts || options.cuda.plan != TilePlan())
    throw UserError(
        "PipelineOptions::cuda: cluster, sum_parts and plan are for single kernels; leave them unset for a "
        "pipeline, whose kernels differ");
  own.cuda = options.cuda;
  return own;
}

// Hessian products need tangents of every operation that gradients pass through.
void refuse_in_hessian_product(const PipelineDefinition &definition, std::span<const Argument> arguments) {
  if (!TangentLaunches::current()) return;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].buffer && arguments[i].buffer->tracks_gradient())
      throw UserError(definition.where(), "pipeline '" + definition.name() +
                                              "' has no tangent, which a Hessian-vector product needs, and " +
                                              describe(definition.parameters(), i) +
                                              " tracks its gradient; write the step as a Kernel or TileKernel");
}

// The facts of a launch whose arguments are checked.
struct Checked {
  std::string schedule;
  std::shared_ptr<const ScheduledProgram> program;
};

Checked check(PipelineDefinition &definition, const PipelineOptions &options, std::span<const Argument> arguments) {
  const Callee callee = definition.callee();
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (definition.parameters()[i].is_array()) check_buffer(callee, i, *arguments[i].buffer);
  check_devices(callee, arguments);
  check_distinct(callee, arguments);
  const Device device = device_of(arguments, options_of_kernels(options));
  if (options.stream) check_stream(callee, *options.stream, device);
  Checked checked;
  checked.schedule = definition.schedule_for(device.kind(), options.schedule);
  PipelineDefinition::Target target = target_of(device);
  target.checks_promises = *options_of_kernels(options).debug && definition.has_promises();
  target.rolled = device.kind() == DeviceKind::cpu && options.debug.value_or(debug_mode());
  checked.program = definition.program(target, checked.schedule);
  const Callee writes = definition.callee(checked.program->written());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (writes.written >> i & 1) check_buffer(writes, i, *arguments[i].buffer);
  check_apart(writes, arguments, definition.read_elsewhere());
  return checked;
}

// Launches each kernel immediately.
class AtOnce : public ScheduledProgram::Visitor {
 public:
  AtOnce(const ScheduledProgram &program, const LaunchOptions &options, std::span<const Argument> arguments,
         Temporaries &temporaries, SourceLocation where)
      : program_(program), options_(options), arguments_(arguments), temporaries_(temporaries), where_(where) {}

  void allocate(const schedules::Temporary &temporary, const Extents &extents) override {
    temporaries_.allocate(temporary, extents);
  }
  void launch(std::size_t kernel, const schedules::KernelLaunch &launch, const Extents &extents,
              const HostValues &values) override {
    try {
      launch_now(program_.kernels()[kernel], {extents, where_}, options_,
                 arguments_of(launch, arguments_, temporaries_, values));
    } catch (const OutsideOfArray &error) {
      program_.rethrow(error, launch, arguments_);
    }
  }

 private:
  const ScheduledProgram &program_;
  const LaunchOptions &options_;
  std::span<const Argument> arguments_;
  Temporaries &temporaries_;
  SourceLocation where_;
};

}  // namespace

PipelineDefinition::Target target_of(Device device) {
  if (device.kind() == DeviceKind::cpu) return {};
  return {device.kind(), CudaDevice::of(device.index())->context().limits().compute_capability};
}

void launch_pipeline(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                     std::span<const Argument> arguments, SourceLocation where) {
  at_call("launched", where, [&] {
    refuse_inside_kernel(definition->callee());
    if (options.direction != Direction::forward) {
      const DerivedPipeline derived = derived_pipeline(definition, options, arguments);
      return launch_pipeline(derived.definition, derived.options, views(derived.arguments), where);
    }
    const Checked checked = check(*definition, options, arguments);
    refuse_in_hessian_product(*definition, arguments);
    if (belongs_on_tape(arguments))
      return launch_on_tape(
          definition, options, arguments, checked.program->written(),
          [&] { launch_pipeline(definition, options, arguments, where); }, where);
    const ScheduledProgram &program = *checked.program;
    const LaunchOptions own = options_of_kernels(options);
    const Device device = device_of(arguments, own);
    if (GraphCapture::current() && device.kind() == DeviceKind::cuda && program.program().temporary_count != 0)
      throw UserError(definition->where(),
                      "pipeline '" + definition->name() +
                          "' has arrays between its kernels, which cannot be allocated while a graph is captured: "
                          "record the launch before the capture, and launch that");
    Temporaries temporaries(program.program(), device, false);
    compile_first_launches(program, own, arguments, temporaries);
    AtOnce run(program, own, arguments, temporaries, where);
    program.run(arguments, run);
  });
}

std::shared_ptr<PipelineDefinition> define_pipeline(std::string name, std::vector<ir::Parameter> parameters,
                                                    FunctionRef<void(std::uint32_t serial)> function,
                                                    SourceLocation where) {
  return std::make_shared<PipelineDefinition>(
      lang::run_pipeline_capture(std::move(name), std::move(parameters), function, where));
}

const std::string &name_of(const PipelineDefinition &definition) { return definition.name(); }

PipelineLaunch record_pipeline(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                               std::vector<OwnedArgument> arguments, SourceLocation where) {
  return at_call("recorded", where, [&] {
    if (options.direction == Direction::forward) return PipelineLaunch(definition, options, std::move(arguments));
    DerivedPipeline derived = derived_pipeline(definition, options, views(arguments));
    return PipelineLaunch(derived.definition, derived.options, std::move(derived.arguments));
  });
}

}  // namespace jit

namespace {

jit::RecordedProgram recorded(jit::PipelineDefinition &definition, const PipelineOptions &options,
                              std::vector<jit::OwnedArgument> arguments,
                              std::vector<std::shared_ptr<Storage>> storages = {}) {
  jit::Checked checked = jit::check(definition, options, jit::views(arguments));
  return {std::move(checked.program), jit::options_of_kernels(options), std::move(arguments), std::move(storages)};
}

}  // namespace

PipelineLaunch::PipelineLaunch(std::shared_ptr<jit::PipelineDefinition> definition, const PipelineOptions &options,
                               std::vector<jit::OwnedArgument> arguments)
    : definition_(std::move(definition), "PipelineLaunch"),
      options_(options),
      stream_(Stream::standard(Device::cpu())),
      recorded_(std::make_unique<jit::RecordedProgram>(recorded(*definition_, options_, std::move(arguments)))) {
  options_.debug = options.debug ? *options.debug : debug_mode();
  const std::vector<jit::Argument> given = jit::views(recorded_->arguments());
  stream_ = jit::stream_of(given, jit::options_of_kernels(options_));
  schedule_ = definition_->schedule_for(device().kind(), options_.schedule);
}

PipelineLaunch::PipelineLaunch(const PipelineLaunch &other)
    : PipelineLaunch(other.definition_.share(), other.options_,
                     other.recorded_ ? other.recorded_->arguments() : std::vector<jit::OwnedArgument>()) {}

PipelineLaunch::PipelineLaunch(PipelineLaunch &&) noexcept = default;
PipelineLaunch &PipelineLaunch::operator=(PipelineLaunch &&) noexcept = default;
PipelineLaunch::~PipelineLaunch() = default;

PipelineLaunch &PipelineLaunch::operator=(const PipelineLaunch &other) {
  if (this != &other) *this = PipelineLaunch(other);
  return *this;
}

void PipelineLaunch::launch(SourceLocation where) {
  at_call("launched", where, [&] { launch_on(nullptr, where); });
}

void PipelineLaunch::launch(const Stream &stream, SourceLocation where) {
  at_call("launched", where, [&] {
    jit::check_stream(definition_->callee(), stream, device());
    launch_on(stream == stream_ ? nullptr : &stream, where);
  });
}

void PipelineLaunch::launch_on(const Stream *other, SourceLocation where) {
  jit::refuse_inside_kernel(definition_->callee());
  const jit::Turn turn(in_use_, *this, "PipelineLaunch", definition_->where());
  const std::vector<jit::Argument> arguments = jit::views(recorded_->arguments());
  jit::refuse_in_hessian_product(*definition_, arguments);
  if (jit::belongs_on_tape(arguments))
    return jit::launch_on_tape(
        definition_.share(), options_, arguments, recorded_->program().written(), [&] { run_on(other, where); }, where);
  run_on(other, where);
}

void PipelineLaunch::run_on(const Stream *other, SourceLocation where) {
  // The arrays between the kernels are used in one stream after the other.
  const bool elsewhere = other && stream_.cuda() && !jit::GraphCapture::current();
  if (elsewhere) jit::order(stream_, *other);
  recorded_->launch(other, where);
  if (elsewhere) jit::order_or_wait(*other, stream_);
}

std::size_t PipelineLaunch::index_of(std::string_view name, SourceLocation where) const {
  return at_call("set", where, [&] { return jit::parameter_named(definition_->callee(), name); });
}

void PipelineLaunch::exchange(std::vector<jit::OwnedArgument> arguments) {
  *recorded_ = recorded(*definition_, options_, std::move(arguments), recorded_->storages());
  stream_ = jit::stream_of(jit::views(recorded_->arguments()), jit::options_of_kernels(options_));
}

void PipelineLaunch::set(std::size_t index, const AnyBuffer &buffer, SourceLocation where) {
  at_call("set", where, [&] {
    jit::check_index(definition_->callee(), index);
    jit::check_buffer(definition_->callee(), index, buffer);
    const jit::Turn turn(in_use_, *this, "PipelineLaunch", definition_->where());
    std::vector<jit::OwnedArgument> arguments = recorded_->arguments();
    arguments[index] = {buffer, 0};
    exchange(std::move(arguments));
  });
}

void PipelineLaunch::set_scalar(std::size_t index, jit::HostScalar value, SourceLocation where) {
  at_call("set", where, [&] {
    jit::check_index(definition_->callee(), index);
    set_bits(index, jit::scalar_bits(definition_->callee(), index, value));
  });
}

void PipelineLaunch::set_bits(std::size_t index, std::uint64_t bits) {
  const jit::Turn turn(in_use_, *this, "PipelineLaunch", definition_->where());
  if (!(recorded_->program().read_by_host() >> index & 1)) return recorded_->set_bits(index, bits);
  std::vector<jit::OwnedArgument> arguments = recorded_->arguments();
  arguments[index].scalar = bits;
  exchange(std::move(arguments));
}

const std::string &PipelineLaunch::pipeline_name() const { return definition_->name(); }

std::size_t PipelineLaunch::kernel_launches() const {
  definition_.share();
  return recorded_->launch_count();
}

std::string PipelineLaunch::to_string() const {
  const std::size_t kernels = kernel_launches();
  return "Launch of pipeline '" + pipeline_name() + "' (" +
         (schedule_.empty() ? "" : "schedule '" + schedule_ + "', ") + std::to_string(kernels) +
         (kernels == 1 ? " kernel" : " kernels") + ") on " + device().to_string();
}

std::ostream &operator<<(std::ostream &stream, const PipelineLaunch &launch) { return stream << launch.to_string(); }

}  // namespace samite
