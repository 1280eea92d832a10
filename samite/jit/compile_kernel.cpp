#include "samite/jit/compile_kernel.h"

#include "samite/base/dump.h"
#include "samite/base/warning.h"
#include "samite/codegen/prelude.h"
#include "samite/ir/visit.h"
#include "samite/jit/elapsed.h"
#include "samite/jit/estimate.h"
#include "samite/jit/launch_tensor_maps.h"
#include "samite/jit/pipeline.h"
#include "samite/jit/target.h"
#include "samite/jit/user_lines.h"
#include "samite/jit/variant_facts.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/threads/instances_per_thread.h"
#include "samite/passes/threads/march.h"
#include "samite/toolchain/archives.h"
#include "samite/toolchain/host_target.h"
#include "samite/toolchain/run_nvrtc.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <string_view>

namespace samite::jit {
namespace {

using Clock = std::chrono::steady_clock;

void dump_text(const codegen::EmittedSource &emitted, const std::string &kernel, const char *extension) {
  if (!dumping()) return;
  dump(kernel, "emit", extension, emitted.text);
  for (const codegen::EmittedObject &object : emitted.objects) dump(object.name, "emit", extension, object.text);
}

// The text is made at the first compile that needs it, and kept.
template <int vector_bytes, bool with_tiles, int lanes>
HostPrelude kept_prelude() {
  static const Hash128 key = codegen::cpu_prelude_key(vector_bytes, with_tiles, lanes);
  return {key, []() -> std::string_view {
            static const std::string text = codegen::cpu_prelude(vector_bytes, with_tiles, lanes);
            return text;
          }};
}

template <int vector_bytes>
HostPrelude prelude_of_width(bool with_tiles, int lanes) {
  if (lanes == vector_bytes / 2) return kept_prelude<vector_bytes, false, vector_bytes / 2>();
  if (lanes == vector_bytes) return kept_prelude<vector_bytes, false, vector_bytes>();
  return with_tiles ? kept_prelude<vector_bytes, true, 0>() : kept_prelude<vector_bytes, false, 0>();
}

// One of a few texts for all kernels of a target, so that each is precompiled once. Kernels with vectors of narrow
// numbers call no functions for tiles.
HostPrelude prelude(bool with_tiles, int lanes, int vector_bytes) {
  switch (vector_bytes) {
    case 64: return prelude_of_width<64>(with_tiles, lanes);
    case 32: return prelude_of_width<32>(with_tiles, lanes);
    default: return prelude_of_width<16>(with_tiles, lanes);
  }
}

std::vector<bool> wide_arrays(const Variant &variant) {
  std::vector<bool> wide;
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i)
    wide.push_back((variant.key.arrays.wide_index & bit_in_key(variant.parameters[i], i)) != 0);
  for (const passes::CotangentCopy &copy : variant.arrays.copies) wide.push_back(wide[copy.array]);
  wide.resize(wide.size() + variant.arrays.sums.size() + variant.arrays.factor_copies.size());
  return wide;
}

// By parameter: whether an array may share memory with another.
std::vector<bool> may_share(const Variant &variant) {
  std::vector<bool> may;
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i)
    may.push_back((variant.key.arrays.overlapping & bit_in_key(variant.parameters[i], i)) != 0);
  return may;
}

// The process's peak memory so far.
std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) << 10;
}

void keep(const codegen::EmittedSource &emitted, Variant &variant) {
  variant.text.source = emitted.text;
  variant.text.lines = emitted.lines;
  variant.text.files = emitted.files;
  variant.text.sites = emitted.sites;
  variant.text.messages = emitted.messages;
  variant.execution.uses_workspace = emitted.uses_workspace;
  variant.gpu.uses_channel = emitted.uses_channel;
  variant.gpu.tile_memory = emitted.tile_memory;
  variant.gpu.tile_loads = emitted.tile_loads;
  variant.gpu.tensor_maps = emitted.tensor_maps;
  variant.host.lanes = emitted.lanes;
  variant.host.objects = emitted.objects;
}

// Several LLVM passes, such as its last scheduler, take time that grows with the square of a block's length. Level 1
// leaves them out; such code is no slower for it: the inverse of 12×12 runs in two thirds of the time. Nor is code that
// spends its time in checks, as in debug mode.
int worthwhile_optimization(const std::string &text, bool debug) {
  if (debug) return std::min(host_optimization(), 1);
  constexpr int long_block = 2000;  // statements without a branch
  int longest = 0, length = 0;
  for (const auto line : std::views::split(text, '\n')) {
    const std::string_view statement(line.begin(), line.end());
    const bool branches = statement.ends_with('{') || statement.find('}') != std::string_view::npos;
    length = branches ? 0 : length + 1;
    longest = std::max(longest, length);
  }
  return std::min(host_optimization(), longest >= long_block ? 1 : 3);
}

// The compiler's input for the CPU.
struct HostText {
  codegen::EmittedSource emitted;
  HostSource source;
  std::vector<HostSource> objects;
  HostPrelude prelude;
};

HostText host_text(const ir::Kernel &lowered, const Variant &variant, const Making &making, int vector_bytes) {
  codegen::EmitOptions options = emit_options(variant);
  options.vector_bytes = vector_bytes;
  const ir::Kernel planned = plan(lowered, {passes::cpu_architecture(), options.arrays, {.debug = options.debug}});
  codegen::EmittedSource emitted = codegen::emit_cpu(planned, options);
  HostSource source;
  source.name = lowered.name;
  source.text = emitted.text;
  source.debug_info = variant.key.debug;
  source.optimization = worthwhile_optimization(emitted.text, variant.key.debug);
  source.variant = description(variant.key, variant.parameters);
  source.facts = making.facts;
  std::vector<HostSource> objects;
  for (const codegen::EmittedObject &object : emitted.objects)
    objects.push_back({object.name, object.text, source.debug_info, host_optimization()});
  HostPrelude before = prelude(codegen::calls_tiles(planned), emitted.vector_lanes, vector_bytes);
  return {std::move(emitted), std::move(source), std::move(objects), std::move(before)};
}

// From the open archives, for the best level that they have and this machine can run.
std::optional<std::pair<HostText, CompiledHost>> archived_host(const ir::Kernel &lowered, const Variant &variant,
                                                               const Making &making) {
  const std::vector<std::string> there = archived_targets(lowered.name);
  for (const std::string &level : host_levels()) {
    if (std::ranges::find(there, level) == there.end()) continue;
    HostText text = host_text(lowered, variant, making, host_target_of_level(level).vector_bytes);
    if (auto found = find_host(text.source, text.prelude, text.objects, level))
      return std::pair{std::move(text), std::move(*found)};
  }
  if (making.from_archive) throw NotArchived();
  report_not_archived(lowered.name, description(variant.key, variant.parameters), host_target().name());
  return std::nullopt;
}

CompiledHost compiled_host(const HostText &text) {
  try {
    return compile_host(with_debug_info(text.source, text.emitted), text.prelude, text.objects);
  } catch (const DeviceError &error) {
    if (!archives_are_open()) throw;
    throw DeviceError(std::string(error.what()) + "\n" +
                      not_archived(text.source.name, text.source.variant, host_target().name()));
  }
}

void record_for_cpu(const ir::Kernel &lowered, const Variant &variant, const Making &making) {
  for (const std::string &level : recorded_levels()) {
    const HostText there = host_text(lowered, variant, making, host_target_of_level(level).vector_bytes);
    const Hash128 image = record_host(there.source, there.prelude, there.objects, level);
    if (!making.recorded) continue;
    const shipped::FormPart part{.image = image,
                                 .entry = there.emitted.entry,
                                 .cost = variant.execution.cost,
                                 .lanes = there.emitted.lanes,
                                 .one_thread = variant.execution.one_thread,
                                 .uses_workspace = there.emitted.uses_workspace};
    making.recorded->add({&variant, level, part, there.emitted.messages.empty() && variant.summed.empty()});
  }
}

void compile_for_cpu(const ir::Kernel &lowered, Variant &variant, const Making &making) {
  if (making.to_record) return record_for_cpu(lowered, variant, making);
  Clock::time_point start = Clock::now();
  auto archived = archives_are_open() ? archived_host(lowered, variant, making) : std::nullopt;
  const HostText text =
      archived ? std::move(archived->first) : host_text(lowered, variant, making, host_target().vector_bytes);
  dump_text(text.emitted, lowered.name, "cpp");
  keep(text.emitted, variant);
  variant.report.times.emit = milliseconds_since(start);

  start = Clock::now();
  CompiledHost compiled = archived ? std::move(archived->second) : compiled_host(text);
  record_for_cpu(lowered, variant, making);
  variant.host.image = std::move(compiled.image);
  variant.host.compile = compiled.report;
  variant.host.entry = variant.host.image->function<Entry>(text.emitted.entry.c_str());
  variant.report.times.compile = milliseconds_since(start);
}

// Spilling a few registers costs less than running a single block (passes/threads/shape_launch.h).
bool spills_much(const CudaImage &image) {
  constexpr std::size_t little = 32;  // bytes of a thread, stored and loaded
  return std::ranges::any_of(image.report().kernels, [](const CudaKernelResources &kernel) {
    return kernel.spill_store_bytes + kernel.spill_load_bytes > little;
  });
}

std::string architecture_of(const Variant &variant, const Making &making) {
  return making.architecture.empty() ? Target::of(variant.key.cuda).name() : making.architecture;
}

CompiledCuda compile_emitted(const codegen::EmittedSource &emitted, const std::string &name, const Variant &variant,
                             const Making &making) {
  const CudaSource source{.name = name,
                          .text = emitted.text,
                          .debug_info = variant.key.debug,
                          .variant = description(variant.key, variant.parameters),
                          .facts = making.facts};
  const std::string architecture = architecture_of(variant, making);
  const std::string prelude = codegen::cuda_prelude(source.text);
  if (!making.from_archive)
    return compile_cuda(debug_info_wanted() ? with_debug_info(source, emitted) : source, prelude, architecture);
  if (auto found = find_cuda(source, prelude, architecture)) return std::move(*found);
  throw NotArchived();
}

// Called after the compile, which has put the image into the archive.
void note_recorded(const codegen::EmittedSource &emitted, const std::string &name, const Variant &variant,
                   const Making &making) {
  if (!records_archive() || !making.recorded) return;
  const codegen::CudaForm &form = variant.gpu.form;
  const std::string architecture = architecture_of(variant, making);
  const std::string prelude = codegen::cuda_prelude(emitted.text);
  shipped::FormPart part{.image = archived_cuda_key({name, emitted.text, prelude, architecture, variant.key.debug}),
                         .entry = emitted.entry,
                         .cost = variant.execution.cost,
                         .lanes = 1,
                         .one_thread = variant.execution.one_thread,
                         .uses_workspace = emitted.uses_workspace,
                         .grid_stride = form.grid_stride,
                         .grid_axes = form.grid_axes,
                         .threads_per_block = form.threads_per_block,
                         .instances_per_thread = form.instances_per_thread,
                         .march = form.march,
                         .tile_threads = form.tile_threads,
                         .shared_bytes = emitted.tile_memory.bytes};
  for (const passes::TensorMapNeeded &needed : emitted.tensor_maps) part.tensor_maps.push_back(form_of(needed));
  const bool is_plain = !form.stays && form.teams == 0 && form.cluster_blocks == 0 && form.step_parts == 0 &&
                        !form.waits_for_earlier_launch && !emitted.tile_memory.sized_at_launch();
  making.recorded->add(
      {&variant, architecture, std::move(part), is_plain && !emitted.uses_channel && variant.summed.empty()});
}

PlanChoices plan_choices(const Variant &variant, int instances_per_thread, bool any_extents) {
  const VariantKey &key = variant.key;
  return {.debug = key.debug,
          .instances_per_thread = instances_per_thread,
          .outgrows_caches = key.shape.outgrows_caches && !any_extents,
          .in_rounds = key.shape.in_rounds && !variant.execution.one_thread,
          .paired = variant.execution.one_thread ? 0 : key.shape.paired,
          .step_parts = variant.gpu.step_parts,
          .any_extents = any_extents,
          .fits_axes = key.shape.grid_axes};
}

// A launch on one thread runs one block at a time, of one team.
void refuse_in_one_block(const ir::Kernel &lowered) {
  if (lowered.plan.teams.value_or(1) == 1 && lowered.plan.cluster_blocks.value_or(1) == 1) return;
  TilePlan nearest = lowered.plan;
  nearest.teams = nearest.cluster_blocks = 1;
  nearest.cluster_dimension = nearest.shared_factors = std::nullopt;
  throw passes::PlanRefused(
      lowered, to_string(lowered.plan),
      "it adds atomically in an order that shows, so that a deterministic launch runs in one block", nearest);
}

// `known`: the planned kernel; empty if `lowered` is still to be planned.
void compile_for_cuda(const ir::Kernel &lowered, std::optional<ir::Kernel> known, Variant &variant,
                      const Making &making) {
  Clock::time_point start = Clock::now();
  const VariantKey &key = variant.key;
  codegen::EmitOptions options = emit_options(variant);
  options.cuda.waits_for_earlier_launch = key.shape.programmatic;
  options.cuda.wide_launch = key.shape.grid_stride;
  if (variant.execution.one_thread) refuse_in_one_block(lowered);
  if (!key.debug && !is_tile_kernel(lowered))
    options.cuda.instances_per_thread =
        std::min(key.shape.neighbours, passes::worthwhile_instances_per_thread(lowered));
  PlanContext context{
      Target::of(key.cuda).architecture(), options.arrays,
      plan_choices(variant, options.cuda.instances_per_thread, key.shape.grid_stride || variant.execution.one_thread),
      /*trial=*/false, &variant.report.trials};
  const auto shaped = [&](ir::Kernel kernel) {
    return run_steps(std::move(kernel), context, "shape_launch", "shape_launch");
  };
  // A known plan was made without the choices of this launch.
  ir::Kernel planned =
      known ? run_steps(*std::move(known), context, "plan_element_loops", "shape_launch") : plan(lowered, context);
  variant.gpu.products = passes::ways_of_products(planned);
  variant.gpu.plan = planned.plan;
  const codegen::EmitOptions unshaped = options;
  const auto emit = [&] {
    options = unshaped;
    options.cuda.march = passes::marched(planned);
    codegen::set_blocks(options.cuda, planned);
    return codegen::emit_cuda(planned, options);
  };
  codegen::EmittedSource emitted = emit();
  variant.report.times.emit = milliseconds_since(start);
  start = Clock::now();
  CompiledCuda compiled = compile_emitted(emitted, lowered.name, variant, making);
  if (spills_much(*compiled.image)) {
    context.choices.two_blocks = false;
    ir::Kernel roomier = shaped(planned);
    if (roomier.grid != planned.grid) {
      planned = std::move(roomier);
      emitted = emit();
      compiled = compile_emitted(emitted, lowered.name, variant, making);
    }
  }
  variant.gpu.form = options.cuda;
  note_recorded(emitted, lowered.name, variant, making);
  dump_text(emitted, lowered.name, "cu");
  keep(emitted, variant);
  dump(lowered.name, "link", "cubin", compiled.image->cubin());
  variant.gpu.code = std::make_shared<CudaCode>(std::move(compiled.image), emitted.entry);
  variant.gpu.compile = compiled.report;
  variant.report.times.compile = milliseconds_since(start);
}

}  // namespace

std::uint64_t bit_in_key(const ir::Parameter &parameter, std::uint32_t index) {
  return std::uint64_t{1} << (parameter.role == ir::Role::Gradient ? parameter.primal : index);
}

codegen::EmitOptions emit_options(const Variant &variant) {
  codegen::EmitOptions options;
  options.debug = variant.key.debug;
  // Without line comments, the text, and so the cached object, stays the same when lines move.
  options.comments = false;
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i) {
    const std::uint64_t bit = bit_in_key(variant.parameters[i], i);
    options.arrays.push_back({.unit_stride = (variant.key.arrays.unit_stride & bit) != 0,
                              .wide_index = (variant.key.arrays.wide_index & bit) != 0,
                              .worker_private = false,
                              .unaliased = (variant.key.arrays.unaliased & bit) != 0,
                              .aligned_rows = (variant.key.arrays.aligned & bit) != 0,
                              .row_divisor = (variant.key.arrays.whole_rows & bit) != 0
                                                 ? 16 / static_cast<std::int64_t>(size_of(variant.parameters[i].type))
                                                 : 1,
                              .has_tensor_map = (variant.key.arrays.tensor_maps & bit) != 0});
  }
  for (std::uint32_t parameter : variant.summed) options.arrays[parameter].worker_private = true;
  // A shadow has its array's layout.
  for (const passes::Shadow &shadow : variant.races.shadows) {
    const codegen::ArrayFacts of_array = options.arrays[shadow.array];
    options.arrays.push_back(
        {.unit_stride = of_array.unit_stride, .wide_index = of_array.wide_index, .extents_of = shadow.array});
  }
  // Laid out as in jit/launch_copies.h.
  for (const passes::CotangentCopy &copy : variant.arrays.copies) {
    const bool could_have =
        (variant.key.arrays.worth_padding & bit_in_key(variant.parameters[copy.array], copy.array)) != 0;
    options.arrays.push_back({.unit_stride = true,
                              .wide_index = options.arrays[copy.array].wide_index,
                              .unaliased = true,
                              .aligned_rows = true,
                              .has_tensor_map = options.arrays[copy.array].has_tensor_map || could_have});
  }
  for (std::size_t i = 0; i < variant.arrays.sums.size(); ++i)
    options.arrays.push_back({.unit_stride = true, .unaliased = true, .aligned_rows = true});
  for (const ArrayCopy &copy : variant.arrays.factor_copies) {
    options.arrays.push_back({.unit_stride = true, .unaliased = true, .aligned_rows = true, .has_tensor_map = true});
    codegen::ArrayFacts &of_array = options.arrays[copy.array];
    (copy.swapped ? of_array.swapped_copy : of_array.padded_copy) = copy.parameter;
  }
  return options;
}

bool order_shows(const ir::Kernel &kernel) {
  bool shows = false;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (const auto *accumulate = stmt.as<ir::Accumulate>())
      shows = shows || (accumulate->atomic && is_floating(accumulate->value.type()));
    if (const auto *let = stmt.as<ir::Let>()) shows = shows || ir::info(let->value.op).typing == ir::Typing::Atomic;
  });
  return shows;
}

ir::Kernel lower(const ir::Kernel &kernel, Variant &variant) {
  LowerChoices choices{.adjoint = variant.key.direction == Direction::adjoint,
                       .cuda = variant.key.cuda,
                       .wide_arrays = wide_arrays(variant),
                       .in_order = variant.key.deterministic,
                       .trials = &variant.report.trials};
  if (Target::of(variant.key.cuda).is_gpu() && !variant.key.debug) choices.arrays = emit_options(variant).arrays;
  if (variant.key.races) choices.may_share = may_share(variant);
  Lowered lowered = jit::lower(kernel, choices);
  if (variant.key.races) variant.layout = codegen::argument_layout(lowered.kernel.parameters);
  variant.races = std::move(lowered.races);
  if (lowered.unchecked_for_races) {
    const std::string text = "kernel '" + kernel.name + "' has so many arrays that debug mode cannot look for races " +
                             "in it on CUDA; launch it on the CPU";
    warn_once(text, text);
  }
  return lowered.kernel;
}

std::vector<ir::Parameter> without_launch_arrays(const std::vector<ir::Parameter> &parameters, const Variant &variant) {
  const std::size_t own =
      variant.arrays.copies.size() + variant.arrays.sums.size() + variant.arrays.factor_copies.size();
  return {parameters.begin(), parameters.end() - static_cast<std::ptrdiff_t>(own)};
}

void compile_kernel(const ir::Kernel &kernel, Variant &variant, const Making &making,
                    std::optional<ir::Kernel> planned) {
  variant.name = kernel.name;
  variant.parameters = without_launch_arrays(kernel.parameters, variant);
  variant.layout = codegen::argument_layout(kernel.parameters);
  variant.gpu.block_threads = kernel.block_threads;
  variant.execution.cost = cost_of(kernel);
  variant.execution.one_thread = variant.key.deterministic && order_shows(kernel);
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i) {
    const ir::Parameter &parameter = variant.parameters[i];
    bool is_gradient = parameter.role == ir::Role::Gradient;
    if (is_gradient != (variant.key.direction == Direction::adjoint)) continue;
    if (variant.key.arrays.summed >> (is_gradient ? parameter.primal : i) & 1) variant.summed.push_back(i);
  }
  if (kernel.body.empty()) return;  // nothing to compile, nothing to run

  Clock::time_point start = Clock::now();
  const ir::Kernel lowered = planned ? kernel : lower(kernel, variant);
  variant.report.times.lower = milliseconds_since(start);

  const std::size_t before = peak_memory();
  if (Target::of(variant.key.cuda).is_gpu())
    compile_for_cuda(lowered, std::move(planned), variant, making);
  else
    compile_for_cpu(lowered, variant, making);
  variant.report.peak_compiler_bytes = peak_memory() - before;
}

}  // namespace samite::jit
