#include "samite/jit/pipeline_page.h"

#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "samite/codegen/emit.h"
#include "samite/ir/visit.h"
#include "samite/jit/at_once.h"
#include "samite/jit/pipeline.h"
#include "samite/jit/pipeline_launch.h"
#include "samite/jit/pipeline_report.h"
#include "samite/jit/target.h"
#include "samite/runtime/cuda_device.h"
#include "samite/toolchain/host_target.h"

#include <algorithm>
#include <system_error>

namespace samite::jit {
namespace {

constexpr int usual_capability = 90;  // of an assumed GPU

std::shared_ptr<const ScheduledProgram> program_for(PipelineDefinition &definition, Device device,
                                                    const std::string &schedule, int &capability) {
  if (device.kind() == DeviceKind::cuda && device.index() >= CudaDevice::count()) {
    capability = usual_capability;
    return std::make_shared<const ScheduledProgram>(definition.lower({device.kind(), capability}, schedule));
  }
  const PipelineDefinition::Target target = target_of(device);
  capability = target.compute_capability;
  return definition.program(target, schedule);
}

// For contiguous arrays that share no memory.
VariantKey usual_key(const KernelDefinition &kernel, int capability) {
  VariantKey key;
  key.cuda = capability;
  for (std::size_t i = 0; i < kernel.parameters().size(); ++i)
    if (kernel.parameters()[i].is_array()) key.arrays.unit_stride |= std::uint64_t{1} << i;
  if (Target::of(capability).is_gpu()) key.arrays.unaliased = key.arrays.aligned = key.arrays.unit_stride;
  return key;
}

// The kernel from which its variant's text is emitted.
ir::Kernel planned(const KernelDefinition &kernel, const VariantKey &key) {
  passes::FactsOfArrays arrays;
  for (std::size_t i = 0; i < kernel.parameters().size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    arrays.push_back({.unit_stride = (key.arrays.unit_stride & bit) != 0,
                      .wide_index = (key.arrays.wide_index & bit) != 0,
                      .unaliased = (key.arrays.unaliased & bit) != 0,
                      .aligned_rows = (key.arrays.aligned & bit) != 0});
  }
  ir::Kernel lowered = lower(kernel.forward(), {.cuda = key.cuda}).kernel;
  return plan(std::move(lowered), {Target::of(key.cuda).architecture(), arrays});
}

// The variant that was launched last, or a newly compiled one.
std::shared_ptr<const Variant> variant_of(KernelDefinition &kernel, int capability) {
  std::shared_ptr<const Variant> last;
  for (const auto &variant : kernel.variants())
    if (variant->key.cuda == capability && !variant->key.debug) last = variant;
  return last ? last : kernel.variant(usual_key(kernel, capability));
}

PageKernel kernel_of(KernelDefinition &definition, const schedules::KernelLaunch &launch, int capability) {
  PageKernel kernel;
  kernel.name = definition.name();
  if (Target::of(capability).is_gpu()) kernel.threads = definition.forward().block_threads;
  VariantKey key = usual_key(definition, capability);
  try {
    const std::shared_ptr<const Variant> variant = variant_of(definition, capability);
    key = variant->key;
    kernel.text = variant->text.source;
    kernel.text_lines = variant->text.lines;
    kernel.figures = report(*variant, definition.parameters());
  } catch (const DeviceError &error) {
    kernel.problem = error.what();
  }
  kernel.memory = schedules::memory_of(planned(definition, key), launch, Target::of(capability).is_gpu());
  for (const schedules::KernelLaunch::Kept &kept : launch.kept) {
    if (kernel.arrays.size() <= kept.array) kernel.arrays.resize(kept.array + 1);
    kernel.arrays[kept.array] = kept.func;
  }
  return kernel;
}

// Launches of the program's text in order, and the program's arrays that each accesses.
class Timeline {
 public:
  explicit Timeline(const schedules::Steps &steps) { walk(steps); }

  std::vector<const schedules::KernelLaunch *> launches;
  std::vector<PageTemporary> temporaries;

 private:
  void walk(const schedules::Steps &steps) {
    for (const schedules::Step &step : steps) {
      if (const auto *own = std::get_if<schedules::Temporary>(&step.kind)) add(*own);
      if (const auto *launch = std::get_if<schedules::KernelLaunch>(&step.kind)) add(*launch);
      if (const auto *branch = std::get_if<schedules::HostBranch>(&step.kind)) {
        walk(branch->then_steps);
        walk(branch->else_steps);
      }
      if (const auto *loop = std::get_if<schedules::HostLoop>(&step.kind)) {
        const int before = static_cast<int>(launches.size());
        const std::size_t outside = temporaries.size();
        walk(loop->body);
        // Contents from before the loop stay live until its last iteration has ended.
        for (std::size_t t = 0; t < outside; ++t)
          if (temporaries[t].last > before) temporaries[t].last = static_cast<int>(launches.size());
      }
    }
  }

  void add(const schedules::Temporary &own) {
    std::optional<std::int64_t> bytes = static_cast<std::int64_t>(size_of(own.type));
    for (const ir::Value &extent : own.extents)
      bytes = bytes && extent.is_constant() ? std::optional(*bytes * extent.as_int()) : std::nullopt;
    const int next = static_cast<int>(launches.size()) + 1;
    numbers_.push_back(own.number);
    temporaries.push_back({own.name, std::string(name(own.type)), bytes, next, next});
  }

  void add(const schedules::KernelLaunch &launch) {
    launches.push_back(&launch);
    for (const schedules::KernelArgument &argument : launch.arguments)
      if (const auto *own = std::get_if<schedules::TemporaryArgument>(&argument))
        for (std::size_t t = 0; t < numbers_.size(); ++t)
          if (numbers_[t] == own->number) temporaries[t].last = static_cast<int>(launches.size());
  }

  std::vector<std::uint32_t> numbers_;
};

}  // namespace

Page page_of(PipelineDefinition &definition, Device device, const std::string &schedule) {
  Page page;
  page.pipeline = definition.name();
  page.schedule = definition.schedule_for(device.kind(), schedule);
  int capability = 0;
  const std::shared_ptr<const ScheduledProgram> program = program_for(definition, device, page.schedule, capability);
  page.target = Target::of(capability).name();
  if (definition.captured()) page.functions = schedules::text_of(*definition.captured(), page.schedule);
  page.nest = program->program().nest;
  Timeline timeline(program->program().steps);
  page.temporaries = std::move(timeline.temporaries);
  page.kernels.resize(timeline.launches.size());
  std::vector<std::function<void()>> tasks;
  for (std::size_t k = 0; k < page.kernels.size(); ++k)
    tasks.emplace_back(
        [&, k] { page.kernels[k] = kernel_of(*program->kernels()[k], *timeline.launches[k], capability); });
  at_once(tasks);
  return page;
}

void write_page(PipelineDefinition &definition, const std::string &file, Device device, const std::string &schedule) {
  const std::string text = to_html(page_of(definition, device, schedule));
  try {
    write_file_atomically(file, text);
  } catch (const std::system_error &error) {
    throw UserError(definition.where(), "the page of pipeline '" + definition.name() +
                                            "' cannot be written: " + error.what() +
                                            "; name a file in a folder that is there and may be written to");
  }
}

}  // namespace samite::jit
