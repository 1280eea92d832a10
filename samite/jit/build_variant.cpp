#include "samite/jit/build_variant.h"

#include "samite/base/trace.h"
#include "samite/codegen/parameter_space.h"
#include "samite/jit/array_copies.h"
#include "samite/jit/at_once.h"
#include "samite/jit/compile_kernel.h"
#include "samite/jit/definition.h"
#include "samite/jit/pipeline.h"
#include "samite/jit/progress.h"
#include "samite/jit/target.h"
#include "samite/jit/variant_facts.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/tiles/factor_copies.h"
#include "samite/toolchain/archives.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>

namespace samite::jit {
namespace {

void add(StepTimes &times, const StepTimes &more) {
  times.derive += more.derive;
  times.lower += more.lower;
  times.emit += more.emit;
  times.compile += more.compile;
}

// Kernels of one launch, which are compiled concurrently.
class Compiles {
 public:
  explicit Compiles(const Making &making) : making_(making) {}

  void add(ir::Kernel kernel, Variant &variant, std::optional<ir::Kernel> planned = std::nullopt) {
    tasks_.emplace_back([this, kernel = std::move(kernel), &variant, planned = std::move(planned)]() mutable {
      compile_kernel(kernel, variant, making_, std::move(planned));
    });
  }
  // A kernel to run before or after a launch's kernel, with the same arguments. Null if it is empty.
  std::shared_ptr<Variant> add_beside(const Variant &gather, ir::Kernel kernel,
                                      std::vector<passes::CotangentCopy> copies = {},
                                      std::vector<ArrayCopy> factor_copies = {}) {
    if (kernel.body.empty()) return nullptr;
    auto variant = std::make_shared<Variant>();
    variant->key = gather.key;
    variant->key.arrays.summed = 0;
    variant->derivative.gradient_of = gather.derivative.gradient_of;
    variant->arrays.copies = std::move(copies);
    variant->arrays.sums = gather.arrays.sums;
    variant->arrays.factor_copies = std::move(factor_copies);
    add(std::move(kernel), *variant);
    return variant;
  }
  void run() const { at_once(tasks_); }

 private:
  const Making &making_;
  std::vector<std::function<void()>> tasks_;
};

// The copies of factors that let products of these kernels, which have the same arguments, use bulk copies. Each kernel
// has its own parameters, gradients, and the variant's copies of casts.
std::vector<passes::FactorCopy> factor_copies(std::span<const ir::Kernel *const> kernels, Variant &variant) {
  const VariantKey &key = variant.key;
  if ((key.arrays.worth_padding | key.arrays.worth_swapping) == 0) return {};
  const passes::Architecture &architecture = Target::of(key.cuda).architecture();
  Variant trial;
  trial.key = key;
  trial.arrays.copies = variant.arrays.copies;
  trial.arrays.sums = variant.arrays.sums;
  const std::vector<ir::Parameter> &parameters = kernels[0]->parameters;
  trial.parameters = without_launch_arrays(parameters, trial);
  std::vector<passes::FactorCopy> copies;
  for (const ir::Kernel *kernel : kernels)
    for (const passes::FactorRead &read : passes::factor_reads(*kernel, architecture)) {
      if (read.array >= trial.parameters.size()) continue;  // a copy already
      const std::uint64_t own = bit_in_key(parameters[read.array], read.array);
      const bool worth = ((read.swapped ? key.arrays.worth_swapping : key.arrays.worth_padding) & own) != 0;
      const bool known = std::ranges::any_of(copies, [&](const passes::FactorCopy &copy) {
        return copy.array == read.array && copy.swapped == read.swapped;
      });
      if (worth && !known)
        copies.push_back({static_cast<std::uint32_t>(parameters.size() + copies.size()), read.array, read.swapped});
    }
  for (const passes::FactorCopy &copy : copies) trial.arrays.factor_copies.push_back({copy, true, nullptr});
  if (copies.empty() || !codegen::fits_parameter_space(passes::with_copies(*kernels[0], copies))) return {};

  std::vector<std::uint32_t> read;
  for (const ir::Kernel *kernel : kernels)
    std::ranges::copy(arrays_of_bulk_copies(lower(passes::with_copies(*kernel, copies), trial), architecture,
                                            emit_options(trial).arrays, &trial.report.trials),
                      std::back_inserter(read));
  variant.report.trials += trial.report.trials;
  std::erase_if(copies, [&](const passes::FactorCopy &copy) { return !std::ranges::count(read, copy.parameter); });
  for (std::size_t i = 0; i < copies.size(); ++i)
    copies[i].parameter = static_cast<std::uint32_t>(parameters.size() + i);
  return copies;
}

void add_factor_copies(const std::vector<passes::FactorCopy> &factors, const ir::Kernel &kernel, Variant &variant) {
  for (const passes::FactorCopy &copy : factors) {
    const ir::Parameter &array = kernel.parameters[copy.array];
    const bool rows_together = (variant.key.arrays.unit_stride & bit_in_key(array, copy.array)) != 0;
    variant.arrays.factor_copies.push_back(
        array_copy(copy, array.type, rows_together != copy.swapped, variant.key.cuda));
  }
}

// A kernel whose loop's steps are shared by the blocks of clusters, with all its steps planned, and the copies of
// factors that it reads.
struct SharedSteps {
  std::vector<passes::FactorCopy> factors;
  ir::Kernel planned;
};

constexpr const char *runs_in_one_block =
    "it adds atomically in an order that shows, so that a deterministic launch runs in one block";

// With the key's number of parts. Empty if blocks do not share the steps of the kernel's loop.
std::optional<SharedSteps> with_shared_steps(const ir::Kernel &kernel, const VariantKey &key, int &trials) {
  if (key.shape.step_parts == 1) return std::nullopt;
  if (key.deterministic && order_shows(kernel)) {
    if (key.plan.parts_in_cluster != 1) return std::nullopt;
    TilePlan nearest = key.plan;
    nearest.parts = 1;
    throw passes::PlanRefused(kernel, fmt::format("parts {} in a cluster", key.shape.step_parts), runs_in_one_block,
                              nearest);
  }
  Variant trial;
  trial.key = key;
  const ir::Kernel *const kernels[] = {&kernel};
  std::vector<passes::FactorCopy> factors = factor_copies(kernels, trial);
  add_factor_copies(factors, kernel, trial);
  trial.parameters = kernel.parameters;
  ir::Kernel planned = plan(lower(passes::with_copies(kernel, factors), trial), {Target::of(key.cuda).architecture(),
                                                                                 emit_options(trial).arrays,
                                                                                 {.step_parts = key.shape.step_parts},
                                                                                 /*trial=*/false,
                                                                                 &trial.report.trials});
  trials += trial.report.trials;
  if (planned.grid.step_parts != 0) return SharedSteps{std::move(factors), std::move(planned)};
  ++trials;
  return std::nullopt;
}

// A kernel in structured form; for a gathered adjoint, also the kernel that runs in its place, and the one that zeroes.
struct KernelToRun {
  const ir::Kernel *kernel;
  const ir::Kernel *clear = nullptr;
  std::optional<RunGathered> run = {};
};

// The adjoint as the variant's device runs it.
KernelToRun adjoint_to_run(KernelDefinition &definition, Variant &variant) {
  const VariantKey &key = variant.key;
  const KernelDefinition::Derived &derived =
      definition.derived(key.derivative.active, key.derivative.may_alias, key.derivative.memory_limit);
  const autodiff::Adjoint &adjoint = derived.adjoint;
  KernelToRun found{&adjoint.kernel};
  variant.derivative.gradient_of = adjoint.gradient_of;
  variant.derivative.values_read = adjoint.values_read;
  variant.derivative.values_after = adjoint.values_after;
  variant.derivative.written = adjoint.written;
  variant.report.times.derive = derived.milliseconds;
  // Tried for every adjoint that might be gathered, used or not.
  if (!key.derivative.may_alias && !key.debug && !key.derivative.memory_limit)
    variant.report.times.derive += derived.gathered(key.gathering()).milliseconds;
  if (key.derivative.gather) {
    const passes::GatheredAdjoint *gathered = &*derived.gathered(key.gathering()).adjoint;
    found.run = gathered_to_run(*gathered, key.cuda);
    // Wide windows need more memory.
    if (!found.run && key.derivative.wide_windows) {
      gathered = &*derived.gathered(passes::Gathering::even_if_slower).adjoint;
      found.run = gathered_to_run(*gathered, key.cuda);
    }
    if (found.run) {
      found.clear = &gathered->clear;
      if (found.run->copies) variant.arrays.copies = found.run->copies->copies;
    }
  }
  if (!found.run && Target::of(key.cuda).is_gpu() && is_tile_kernel(adjoint.kernel))
    if (const auto &scattered = derived.scattered(key.cuda)) found.kernel = &*scattered;
  return found;
}

// The kernels of split sums: the first one has the plan, since it multiplies.
struct SplitKernels {
  ir::Kernel parts, rest;
  std::vector<passes::PartialSums> sums;
};

SplitKernels split_kernels(const KernelDefinition &definition, const VariantKey &key) {
  const passes::SplitSums &split = definition.split_sums(key.shape.sum_parts).value();
  SplitKernels kernels{split.parts, split.rest, split.sums};
  kernels.parts.plan = key.plan, kernels.rest.plan = {};
  if (Target::of(key.cuda).is_cpu()) return kernels;
  kernels.parts.plan.parts = key.shape.sum_parts, kernels.parts.plan.parts_in_cluster = 0;
  if (key.plan.cluster_blocks.value_or(1) == 1) return kernels;
  TilePlan nearest = key.plan;
  nearest.cluster_blocks = 1, nearest.cluster_dimension = nearest.shared_factors = std::nullopt;
  throw passes::PlanRefused(definition.forward(), fmt::format("cluster_blocks {}", *key.plan.cluster_blocks),
                            fmt::format("another kernel reduces its sums, of {} parts", key.shape.sum_parts), nearest);
}

std::shared_ptr<const Variant> make_variant(KernelDefinition &definition, const VariantKey &key, const Making &making) {
  auto variant = std::make_shared<Variant>();
  variant->key = key;
  const LongWork work(
      fmt::format("compiling '{}' ({}, {})", definition.name(), name(key.direction), Target::of(key.cuda).name()));

  const TraceSpan traced("compile", fmt::format("compile {} ({})", definition.name(), name(key.direction)));

  KernelToRun adjoint{&definition.forward()};
  if (key.direction == Direction::adjoint) adjoint = adjoint_to_run(definition, *variant);
  const std::optional<RunGathered> &run = adjoint.run;
  const ir::Kernel *kernel = run ? &run->kernel : adjoint.kernel;
  if (key.direction == Direction::tangent) {
    const autodiff::Tangent &tangent = definition.tangent(key.derivative.active);
    kernel = &tangent.kernel;
    variant->derivative.gradient_of = tangent.gradient_of;
    variant->report.times.derive = definition.tangent_milliseconds(key.derivative.active);
  }
  // Derived kernels have no plan.
  std::optional<ir::Kernel> with_plan;
  if (kernel == &definition.forward() && kernel->plan != key.plan) with_plan.emplace(*kernel).plan = key.plan;
  if (with_plan) kernel = &*with_plan;
  std::optional<SplitKernels> split;
  std::vector<passes::FactorCopy> factors;
  std::optional<ir::Kernel> planned;
  if (auto shared = with_shared_steps(*kernel, key, variant->report.trials)) {
    variant->gpu.step_parts = key.shape.step_parts;
    factors = std::move(shared->factors);
    if (!key.debug) planned = std::move(shared->planned);
  } else {
    if (key.shape.sum_parts > 1) {
      split = split_kernels(definition, key);
      kernel = &split->rest;
      variant->arrays.sums = split->sums;
    }
    std::vector<const ir::Kernel *> kernels{kernel};
    if (split) kernels.push_back(&split->parts);
    if (run)
      for (const ir::Kernel &further : run->further) kernels.push_back(&further);
    factors = factor_copies(kernels, *variant);
  }
  add_factor_copies(factors, *kernel, *variant);
  variant->arrays.makes_copies = !variant->arrays.copies.empty() || !variant->arrays.sums.empty() || !factors.empty();

  Compiles compiles(making);
  compiles.add(passes::with_copies(*kernel, factors), *variant, std::move(planned));
  if (run) {
    std::shared_ptr<Variant> next = compiles.add_beside(*variant, *adjoint.clear);
    for (const ir::Kernel &further : std::views::reverse(run->further)) {
      std::shared_ptr<Variant> own = compiles.add_beside(*variant, passes::with_copies(further, factors),
                                                         variant->arrays.copies, variant->arrays.factor_copies);
      own->afterwards = std::move(next);
      next = std::move(own);
    }
    variant->afterwards = std::move(next);
    if (run->copies) variant->first = compiles.add_beside(*variant, run->copies->copy, variant->arrays.copies);
  }
  if (split)
    variant->first =
        compiles.add_beside(*variant, passes::with_copies(split->parts, factors), {}, variant->arrays.factor_copies);
  compiles.run();
  if (split) variant->gpu.products = variant->first->gpu.products, variant->gpu.plan = variant->first->gpu.plan;
  if (variant->first) add(variant->report.times, variant->first->report.times);
  for (const Variant *next = variant->afterwards.get(); next; next = next->afterwards.get())
    add(variant->report.times, next->report.times);
  return variant;
}

shipped::LaunchForm launch_form(const KernelDefinition &definition, const Variant &variant, const std::string &target) {
  const VariantKey &key = variant.key;
  shipped::LaunchForm form{.kernel = definition.name(),
                           .direction = std::string(name(key.direction)),
                           .target = target,
                           .rank = definition.launch_rank(),
                           .argument_bytes = variant.layout.bytes,
                           .active = key.derivative.active,
                           .written = definition.written(),
                           .narrow = definition.narrow_dimensions(),
                           .facts = {.distinct = definition.distinct(),
                                     .unit_stride = key.arrays.unit_stride,
                                     .unaliased = key.arrays.unaliased,
                                     .rows = {key.arrays.aligned, key.arrays.whole_rows, key.arrays.tensor_maps},
                                     .wide_index = key.arrays.wide_index,
                                     .may_alias = key.derivative.may_alias},
                           .workspace_bytes = key.workspace_bytes};
  if (definition.read_elsewhere()) form.facts.distinct |= definition.written();
  for (const std::uint32_t read : variant.derivative.values_read) form.adjoint.values_read |= std::uint64_t{1} << read;
  for (const std::uint32_t read : variant.derivative.values_after)
    form.adjoint.values_after |= std::uint64_t{1} << read;
  for (const std::uint32_t written : variant.derivative.written) form.adjoint.changed |= std::uint64_t{1} << written;
  const std::size_t own = variant.parameters.size() - variant.derivative.gradient_of.size();
  for (std::size_t i = 0; i < variant.parameters.size(); ++i) {
    const ir::Parameter &parameter = variant.parameters[i];
    std::uint32_t narrow = 0;
    for (std::size_t d = 0; i < own && d < static_cast<std::size_t>(parameter.rank); ++d) {
      const KernelDefinition::NarrowIndices &indices = definition.narrow_indices(i);
      if (indices.indexed[d] || indices.extent[d]) narrow |= std::uint32_t{1} << d;
    }
    form.parameters.push_back({.name = parameter.name,
                               .type = parameter.type,
                               .rank = parameter.rank,
                               .offset = variant.layout.offsets[i],
                               .last_extent = parameter.last_extent,
                               .primal = i < own ? -1 : static_cast<int>(variant.derivative.gradient_of[i - own]),
                               .narrow = narrow});
  }
  return form;
}

// A launch form for each target that all kernels of the variant were compiled for.
void record_launch_forms(KernelDefinition &definition, const Variant &variant, const Making &making) {
  const VariantKey &key = variant.key;
  if (key.debug || variant.arrays.makes_copies || !making.recorded || definition.forward().scheduled) return;
  std::vector<const Variant *> kernels;
  if (variant.first) kernels.push_back(variant.first.get());
  for (const Variant *part = &variant; part; part = part->afterwards.get()) kernels.push_back(part);
  using Recorded = RecordedParts::Recorded;
  for (const Recorded &recorded : making.recorded->all()) {
    if (recorded.variant != &variant) continue;
    shipped::LaunchForm form = launch_form(definition, variant, recorded.target);
    if (key.derivative.gather)
      for (const auto &cover :
           definition.derived(key.derivative.active, key.derivative.may_alias, key.derivative.memory_limit)
               .gathered(key.gathering())
               .adjoint->covers)
        form.covers.push_back({static_cast<int>(cover.array.array), cover.array.dimension, cover.launch_dimension});
    for (const Variant *kernel : kernels)
      for (const Recorded &part : making.recorded->all())
        if (part.variant == kernel && part.target == recorded.target && part.can_be_shipped)
          form.parts.push_back(part.part);
    if (form.parts.size() != kernels.size()) continue;
    std::string text = to_text(form);
    record_archived({hash_of({text}), recorded.target, definition.name(), description(key, variant.parameters),
                     std::move(text), making.facts, ArchivedKind::launch});
  }
}

std::shared_ptr<const Variant> archived_variant(KernelDefinition &definition, const VariantKey &key) {
  for (const ArchivedKey &archived : archived_keys(definition.name(), key)) try {
      return make_variant(definition, archived.key, {.from_archive = true, .architecture = archived.architecture});
    } catch (const NotArchived &) {  // NOLINT(bugprone-empty-catch)
      // The kernel has changed since the archive was made.
    }
  return nullptr;
}

}  // namespace

std::shared_ptr<const Variant> build_variant(KernelDefinition &definition, const VariantKey &key) {
  if (archives_are_open())
    if (auto archived = archived_variant(definition, key)) return archived;
  const auto made = [&](const VariantKey &one, Making making) {
    RecordedParts recorded;
    making.facts = facts_text(definition.name(), one);
    making.recorded = &recorded;
    auto variant = make_variant(definition, one, making);
    if (records_archive()) record_launch_forms(definition, *variant, making);
    return variant;
  };
  auto variant = made(key, {});
  for (const ArchivedKey &more : keys_to_record(definition, key))
    made(more.key, {.to_record = true, .architecture = more.architecture});
  return variant;
}

}  // namespace samite::jit
