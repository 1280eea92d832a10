#include "tests/schedule/program_on_host.h"

#include "samite/codegen/cuda_launch_shape.h"
#include "samite/jit/pipeline_definition.h"
#include "samite/jit/recorded_program.h"
#include "samite/passes/analysis/architecture.h"
#include "tests/codegen/cuda_on_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace samite::test {
namespace {

codegen::EmitOptions options_of(const ir::Kernel &kernel) {
  codegen::EmitOptions options;
  options.comments = false;
  options.arrays.assign(kernel.parameters.size(), {.unit_stride = true});
  options.cuda.tile_threads = kernel.block_threads;
  return options;
}

Argument laid_out(const jit::Argument &argument) {
  if (!argument.buffer) return scalar(argument.scalar);
  std::vector<long long> extents, strides;
  for (int d = 0; d < argument.buffer->extents().rank(); ++d) {
    extents.push_back(argument.buffer->extents()[d]);
    strides.push_back(argument.buffer->strides()[static_cast<std::size_t>(d)]);
  }
  return strided(argument.buffer->data(), extents, strides);
}

std::int64_t shared_bytes(const passes::TileMemoryPlan &plan, const std::vector<jit::Argument> &arguments) {
  if (!plan.sized_at_launch()) return plan.bytes;
  return plan.in_launch([&](std::uint32_t parameter) { return static_cast<std::int32_t>(arguments[parameter].scalar); })
      .bytes;
}

class OnHost : public jit::ScheduledProgram::Visitor {
 public:
  OnHost(const jit::ScheduledProgram &program, const std::vector<jit::Argument> &arguments, const HostBlocks &blocks)
      : arguments_(arguments),
        blocks_(blocks),
        temporaries_(program.program(), Device::cpu(), false),
        kernels_(program.kernels().size()) {}

  void allocate(const schedules::Temporary &temporary, const Extents &extents) override {
    temporaries_.allocate(temporary, extents);
  }
  void launch(std::size_t number, const schedules::KernelLaunch &launch, const Extents &extents,
              const jit::HostValues &values) override {
    std::optional<CudaOnHost> &kernel = kernels_[number];
    if (!kernel) {
      codegen::EmitOptions options = options_of(launch.kernel);
      options.cuda.grid_stride = blocks_.grid == HostBlocks::Grid::few;
      options.cuda.grid_axes = blocks_.grid == HostBlocks::Grid::axes && codegen::fits_grid_axes(extents);
      kernel.emplace(launch.kernel, options, false, 0, ir::Form::lowered);
      kernel->order = blocks_.order;
    }
    const std::vector<jit::Argument> arguments = jit::arguments_of(launch, arguments_, temporaries_, values);
    if (shared_bytes(kernel->source().tile_memory, arguments) > passes::gpu_architecture(90).shared_bytes)
      throw NoRoomInBlock();
    std::vector<Argument> given;
    for (const jit::Argument &argument : arguments) given.push_back(laid_out(argument));
    const CudaResult result = kernel->run(std::vector<long long>(extents.begin(), extents.end()), given);
    if (result.failure.state != 0)
      throw std::runtime_error(fmt::format("kernel {} has reported a failure", launch.kernel.name));
  }

 private:
  const std::vector<jit::Argument> &arguments_;
  const HostBlocks blocks_;
  jit::Temporaries temporaries_;
  std::vector<std::optional<CudaOnHost>> kernels_;
};

}  // namespace

std::shared_ptr<const jit::ScheduledProgram> cuda_program(jit::PipelineDefinition &definition,
                                                          const std::string &schedule) {
  return definition.program({DeviceKind::cuda, 90}, definition.schedule_for(DeviceKind::cuda, schedule));
}

void run_on_host(const jit::ScheduledProgram &program, const std::vector<jit::Argument> &arguments,
                 const HostBlocks &blocks) {
  OnHost run(program, arguments, blocks);
  program.run(arguments, run);
}

Filled filled_by(const std::shared_ptr<jit::PipelineDefinition> &definition,
                 const std::vector<jit::Argument> &arguments) {
  const AnyBuffer &out = *arguments[0].buffer;
  const auto run = [&](const std::function<void()> &launch) {
    float *const elements = static_cast<float *>(const_cast<void *>(out.data()));
    std::fill_n(elements, out.extents().count(), -1.0f);
    launch();
    return std::vector<float>(elements, elements + out.extents().count());
  };
  return {.by_default = run([&] { jit::launch_pipeline(definition, {}, arguments, {}); }),
          .on_cpu = run([&] { jit::launch_pipeline(definition, {.schedule = "cuda"}, arguments, {}); }),
          .as_on_cuda = run([&] { run_on_host(*cuda_program(*definition), arguments); })};
}

std::vector<codegen::EmittedSource> emitted_for_cuda(const jit::ScheduledProgram &program) {
  std::vector<codegen::EmittedSource> emitted;
  for (const auto &kernel : program.kernels())
    emitted.push_back(emit_for_cuda(kernel->forward(), options_of(kernel->forward()), false,
                                    kernel->forward().scheduled ? ir::Form::lowered : ir::Form::structured,
                                    /*two_blocks=*/false));
  return emitted;
}

}  // namespace samite::test
