#include "samite/jit/pipeline.h"

#include "samite/autodiff/adjoint_call.h"
#include "samite/base/dump.h"
#include "samite/base/error.h"
#include "samite/base/warning.h"
#include "samite/codegen/cuda_launch_shape.h"
#include "samite/codegen/cuda_target.h"
#include "samite/codegen/emit.h"
#include "samite/codegen/march.h"
#include "samite/codegen/prelude.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/ir/visit.h"
#include "samite/jit/cuda_objects.h"
#include "samite/jit/elapsed.h"
#include "samite/jit/estimate.h"
#include "samite/passes/architecture.h"
#include "samite/passes/check_races.h"
#include "samite/passes/gather_tiles.h"
#include "samite/passes/inline_primals.h"
#include "samite/passes/insert_barriers.h"
#include "samite/passes/instances_per_thread.h"
#include "samite/passes/interchange.h"
#include "samite/passes/load_in_units.h"
#include "samite/passes/lower_threads.h"
#include "samite/passes/lower_tiles.h"
#include "samite/passes/number_iterations.h"
#include "samite/passes/pack_accesses.h"
#include "samite/passes/pipeline_loops.h"
#include "samite/passes/place_arrays.h"
#include "samite/passes/place_tiles.h"
#include "samite/passes/plan_tile_memory.h"
#include "samite/passes/promote.h"
#include "samite/passes/returned_exchanges.h"
#include "samite/passes/share_loads.h"
#include "samite/passes/side_by_side.h"
#include "samite/passes/simplify.h"
#include "samite/passes/spread_tiles.h"
#include "samite/passes/stage_loads.h"
#include "samite/passes/structure_jumps.h"
#include "samite/passes/sum_over_launch.h"
#include "samite/passes/unsynchronised.h"
#include "samite/passes/widen_tile_origins.h"
#include "samite/toolchain/host_target.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace samite::jit {
namespace {

using Clock = std::chrono::steady_clock;

ir::Kernel checked(ir::Kernel kernel, ir::Form form, const char *pass) {
#if SAMITE_VERIFY_IR
  ir::verify(kernel, form, pass);
#else
  (void)form;
#endif
  if (dumping()) dump(kernel.name, pass, "ir", ir::to_string(kernel));
  return kernel;
}

// Where the form of the IR is verified, so is the order of a block's threads.
void check_synchronised(const ir::Kernel &planned, const passes::FactsOfArrays &arrays) {
#if SAMITE_VERIFY_IR
  const std::vector<std::string> missing = passes::unsynchronised(planned, passes::shares_memory(arrays)).missing;
  if (!missing.empty())
    throw InternalError("kernel '" + planned.name + "': " + missing[0] + "\n" + ir::to_string(planned));
#else
  (void)planned, (void)arrays;
#endif
}

void dump_text(const codegen::EmittedSource &emitted, const std::string &kernel, const char *extension) {
  if (!dumping()) return;
  dump(kernel, "emit", extension, emitted.text);
  for (const codegen::EmittedObject &object : emitted.objects) dump(object.name, "emit", extension, object.text);
}

// The wide prelude is the same text for every kernel of the machine, so that it is precompiled once.
const std::string &prelude(int vector_bytes) {
  static const std::string text = codegen::cpu_prelude(vector_bytes);
  return text;
}

// The bit of a parameter in the sets of a variant's key. A gradient lies in memory as its primal does.
std::uint64_t bit_in_key(const ir::Parameter &parameter, std::uint32_t index) {
  return std::uint64_t{1} << (parameter.role == ir::Role::Gradient ? parameter.primal : index);
}

std::vector<bool> wide_arrays(const Variant &variant) {
  std::vector<bool> wide;
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i)
    wide.push_back((variant.key.wide_index & bit_in_key(variant.parameters[i], i)) != 0);
  for (const passes::CastCopy &copy : variant.copies) wide.push_back(wide[copy.array]);
  return wide;
}

// By parameter: whether an array may share memory with another.
std::vector<bool> may_share(const Variant &variant) {
  std::vector<bool> may;
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i)
    may.push_back((variant.key.overlapping & bit_in_key(variant.parameters[i], i)) != 0);
  return may;
}

codegen::EmitOptions emit_options(const Variant &variant) {
  codegen::EmitOptions options;
  options.debug = variant.key.debug;
  // Without line numbers in it, the text, and so the cached object, stays the same when lines move.
  options.comments = false;
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i) {
    const std::uint64_t bit = bit_in_key(variant.parameters[i], i);
    options.arrays.push_back({.unit_stride = (variant.key.unit_stride & bit) != 0,
                              .wide_index = (variant.key.wide_index & bit) != 0,
                              .worker_private = false,
                              .unaliased = (variant.key.unaliased & bit) != 0,
                              .aligned_rows = (variant.key.aligned & bit) != 0});
  }
  for (std::uint32_t parameter : variant.summed) options.arrays[parameter].worker_private = true;
  // A shadow lies as its array does.
  for (const passes::Shadow &shadow : variant.races.shadows) {
    const codegen::ArrayFacts of_array = options.arrays[shadow.array];
    options.arrays.push_back({.unit_stride = of_array.unit_stride, .wide_index = of_array.wide_index});
  }
  // As jit/launch_memory.h lays them out.
  for (const passes::CastCopy &copy : variant.copies)
    options.arrays.push_back({.unit_stride = true,
                              .wide_index = options.arrays[copy.array].wide_index,
                              .unaliased = true,
                              .aligned_rows = true});
  return options;
}

// Whether running instances in another order may give other bits.
bool order_shows(const ir::Kernel &kernel) {
  bool shows = false;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (const auto *accumulate = stmt.as<ir::Accumulate>())
      shows = shows || (accumulate->atomic && is_floating(accumulate->value.type()));
    if (const auto *let = stmt.as<ir::Let>()) shows = shows || ir::info(let->value.op).typing == ir::Typing::Atomic;
  });
  return shows;
}

// The most that this process has had in memory so far.
std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) << 10;
}

void keep(const codegen::EmittedSource &emitted, Variant &variant) {
  variant.source = emitted.text;
  variant.source_files = emitted.files;
  variant.sites = emitted.sites;
  variant.messages = emitted.messages;
  variant.uses_workspace = emitted.uses_workspace;
  variant.uses_channel = emitted.uses_channel;
  variant.tile_memory = emitted.tile_memory;
  variant.tile_loads = emitted.tile_loads;
  variant.lanes = emitted.lanes;
  variant.objects = emitted.objects;
}

void compile_for_cpu(const ir::Kernel &lowered, Variant &variant) {
  Clock::time_point start = Clock::now();
  codegen::EmitOptions options = emit_options(variant);
  options.vector_bytes = host_target().vector_bytes;
  const codegen::EmittedSource emitted =
      codegen::emit_cpu(plan_for_cpu(lowered, options.arrays, options.debug), options);
  dump_text(emitted, lowered.name, "cpp");
  keep(emitted, variant);
  variant.times.emit = milliseconds_since(start);

  start = Clock::now();
  HostSource source;
  source.name = lowered.name;
  source.text = emitted.text;
  source.debug_info = variant.key.debug;
  source.optimization = host_optimization();
  std::vector<HostSource> objects;
  for (const codegen::EmittedObject &object : emitted.objects)
    objects.push_back({object.name, object.text, source.debug_info, source.optimization});
  CompiledHost compiled = compile_host(source, prelude(options.vector_bytes), objects);
  variant.image = std::move(compiled.image);
  variant.compile = compiled.report;
  variant.entry = variant.image->function<Entry>(emitted.entry.c_str());
  variant.times.compile = milliseconds_since(start);
}

// place → stage → spread → pipeline, of a kernel whose blocks have threads: what its shared memory is planned of.
ir::Kernel place(ir::Kernel kernel, const passes::Architecture &architecture) {
  kernel = passes::place_tiles(std::move(kernel), architecture);
  kernel = passes::stage_loads(std::move(kernel));
  return passes::pipeline_loops(passes::spread_tiles(std::move(kernel), architecture));
}

void compile_for_cuda(const ir::Kernel &lowered, Variant &variant) {
  Clock::time_point start = Clock::now();
  codegen::EmitOptions options = emit_options(variant);
  options.cuda.grid_stride = variant.key.grid_stride || variant.one_thread;
  options.cuda.waits_for_earlier_launch = variant.key.programmatic;
  options.cuda.tile_threads = lowered.block_threads;
  options.cuda.wide_launch = variant.key.grid_stride;
  const bool by_threads = !variant.key.debug && !is_tile_kernel(lowered);
  if (by_threads)
    options.cuda.instances_per_thread =
        std::min(variant.key.neighbours, passes::worthwhile_instances_per_thread(lowered));
  if (by_threads && variant.key.outgrows_caches && !options.cuda.grid_stride &&
      codegen::reads_neighbours_along_first(lowered))
    options.cuda.march = codegen::worthwhile_march;
  const ir::Kernel planned =
      plan_for_gpu(lowered, passes::gpu_architecture(variant.key.cuda), options.arrays,
                   {variant.key.debug, options.cuda.instances_per_thread, options.cuda.march > 1});
  if (codegen::wants_grid_stride(planned)) options.cuda.grid_stride = true;
  if (options.cuda.grid_stride) options.cuda.march = 1;
  const codegen::EmittedSource emitted = codegen::emit_cuda(planned, options);
  dump_text(emitted, lowered.name, "cu");
  variant.form = options.cuda;
  keep(emitted, variant);
  variant.times.emit = milliseconds_since(start);

  start = Clock::now();
  const CudaSource source{.name = lowered.name, .text = emitted.text, .debug_info = variant.key.debug};
  CompiledCuda compiled = compile_cuda(source, codegen::cuda_prelude(source.text), cuda_architecture(variant.key.cuda),
                                       cuda_objects(emitted.objects, variant.key.debug));
  dump(lowered.name, "link", "cubin", compiled.image->cubin());
  variant.cuda = std::make_shared<CudaCode>(std::move(compiled.image), emitted.entry);
  variant.cuda_compile = compiled.report;
  variant.times.compile = milliseconds_since(start);
}

// Functions of the device have some of their own, for the sums of a block's warps (samite/device/tile/cuda_scan.h).
constexpr std::int64_t shared_bytes_of_functions = 4096;

bool fits_shared_memory(const ir::Kernel &tiles_lowered, int capability) {
  const passes::Architecture &architecture = passes::gpu_architecture(capability);
  const ir::Kernel placed = place(passes::lower_threads(tiles_lowered), architecture);
  return passes::plan_tile_memory(placed).bytes <= architecture.shared_bytes - shared_bytes_of_functions;
}

int most_stages(const ir::Kernel &kernel) {
  int stages = 1;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (const auto *loop = stmt.as<ir::For>()) stages = std::max(stages, loop->stages);
  });
  return stages;
}

// Loads of factors are taken ahead where the shared memory of a block has room for them. `capability` 0: the CPU.
ir::Kernel lower_tiles(const ir::Kernel &structured, int capability, bool in_order) {
  if (capability == 0) return passes::lower_tiles(structured, false);
  ir::Kernel ahead = passes::lower_tiles(structured, true, in_order);
  if (most_stages(ahead) == 1 || fits_shared_memory(ahead, capability)) return ahead;
  return passes::lower_tiles(structured, true, in_order, /*loads_ahead=*/false);
}

// From structured to lowered form. A schedule's kernel is there already, but for the loops over its blocks.
ir::Kernel lower(const ir::Kernel &kernel, Variant &variant) {
  ir::Kernel last = kernel;
  if (kernel.scheduled) return checked(passes::lower_threads(std::move(last)), ir::Form::lowered, "lower_threads");
  if (variant.key.direction == Direction::adjoint)
    last = checked(passes::returned_exchanges(std::move(last)), ir::Form::structured, "returned_exchanges");
  last = checked(passes::widen_tile_origins(std::move(last), wide_arrays(variant)), ir::Form::structured,
                 "widen_tile_origins");
  last = checked(lower_tiles(last, variant.key.cuda, variant.key.deterministic), ir::Form::lowered, "lower_tiles");
  if (variant.key.races) {
    passes::CheckedForRaces looking = passes::check_races(last, may_share(variant));
    if (variant.key.cuda == 0 || codegen::fits_parameter_space(looking.kernel)) {
      last = checked(std::move(looking.kernel), ir::Form::lowered, "check_races");
      variant.races = std::move(looking.races);
      variant.layout = codegen::argument_layout(last.parameters);
    } else {
      const std::string text = "kernel '" + kernel.name +
                               "' has so many arrays that debug mode cannot look for races " +
                               "in it on CUDA; launch it on the CPU";
      warn_once(text, text);
    }
  }
  return checked(passes::lower_threads(std::move(last)), ir::Form::lowered, "lower_threads");
}

// From the kernel to code that can be called, into a variant that knows its key.
void compile_kernel(const ir::Kernel &kernel, Variant &variant) {
  variant.name = kernel.name;
  variant.parameters.assign(kernel.parameters.begin(),
                            kernel.parameters.end() - static_cast<std::ptrdiff_t>(variant.copies.size()));
  variant.layout = codegen::argument_layout(kernel.parameters);
  variant.block_threads = kernel.block_threads;
  variant.cost = cost_of(kernel);
  variant.one_thread = variant.key.deterministic && order_shows(kernel);
  for (std::uint32_t i = 0; i < variant.parameters.size(); ++i) {
    const ir::Parameter &parameter = variant.parameters[i];
    bool is_gradient = parameter.role == ir::Role::Gradient;
    if (is_gradient != (variant.key.direction == Direction::adjoint)) continue;
    if (variant.key.summed >> (is_gradient ? parameter.primal : i) & 1) variant.summed.push_back(i);
  }
  if (kernel.body.empty()) return;  // nothing to compile, nothing to run

  Clock::time_point start = Clock::now();
  ir::Kernel lowered = lower(kernel, variant);
  variant.times.lower = milliseconds_since(start);

  const std::size_t before = peak_memory();
  if (variant.key.cuda != 0)
    compile_for_cuda(lowered, variant);
  else
    compile_for_cpu(lowered, variant);
  variant.peak_compiler_bytes = peak_memory() - before;
}

void add(StepTimes &times, const StepTimes &more) {
  times.derive += more.derive;
  times.lower += more.lower;
  times.emit += more.emit;
  times.compile += more.compile;
}

ir::Block with_stages(const ir::Block &block, int most) {
  ir::Block changed;
  for (const ir::Stmt &stmt : block) {
    if (const auto *loop = stmt.as<ir::For>()) {
      ir::For copy = *loop;
      copy.stages = std::min(loop->stages, most);
      copy.body = with_stages(loop->body, most);
      changed.emplace_back(std::move(copy), stmt.where());
    } else {
      changed.push_back(stmt);
    }
  }
  return changed;
}

// A gathered adjoint holds other tiles than the one that scatters. Its loops load ahead by as many stages as the shared
// memory of a block has room for; nothing where there is none for one.
std::optional<ir::Kernel> fitted(const ir::Kernel &gathered, int capability) {
  for (int stages = most_stages(gathered); stages > 0; --stages) {
    ir::Kernel kernel = gathered;
    kernel.body = with_stages(gathered.body, stages);
    if (fits_shared_memory(lower_tiles(kernel, capability, false), capability)) return kernel;
  }
  return std::nullopt;
}

// What runs beside a gathered adjoint, on the same arguments. Null where that is nothing.
std::shared_ptr<const Variant> variant_beside(const Variant &gather, const ir::Kernel &kernel,
                                              std::vector<passes::CastCopy> copies = {}) {
  if (kernel.body.empty()) return nullptr;
  auto variant = std::make_shared<Variant>();
  variant->key = gather.key;
  variant->key.summed = 0;
  variant->gradient_of = gather.gradient_of;
  variant->copies = std::move(copies);
  compile_kernel(kernel, *variant);
  return variant;
}

// A gathered adjoint as it is run: with copies of what it casts again and again, where there is room for them.
struct RunGathered {
  ir::Kernel kernel;
  std::optional<passes::CastCopies> copies;
};

std::optional<RunGathered> to_run(const passes::GatheredAdjoint &gathered, int capability) {
  if (!is_tile_kernel(gathered.gather)) return RunGathered{gathered.gather, {}};
  if (auto copies = passes::copy_casts(gathered); copies && codegen::fits_parameter_space(copies->gather)) {
    copies->copy = checked(std::move(copies->copy), ir::Form::structured, "copy_casts");
    copies->gather = checked(std::move(copies->gather), ir::Form::structured, "copy_casts");
    if (auto kernel = fitted(copies->gather, capability)) return RunGathered{*std::move(kernel), std::move(copies)};
  }
  if (auto kernel = fitted(gathered.gather, capability)) return RunGathered{*std::move(kernel), {}};
  return std::nullopt;
}

}  // namespace

ir::Kernel plan_for_cpu(ir::Kernel kernel, const passes::FactsOfArrays &arrays, bool debug) {
  if (kernel.scheduled) return plan_scheduled_for_cpu(std::move(kernel));
  kernel =
      checked(passes::place_arrays(std::move(kernel), passes::cpu_architecture()), ir::Form::lowered, "place_arrays");
  if (debug) return kernel;
  return checked(passes::interchange(std::move(kernel), arrays), ir::Form::lowered, "interchange");
}

ir::Kernel plan_for_gpu(ir::Kernel kernel, const passes::Architecture &architecture,
                        const passes::FactsOfArrays &arrays, const GpuChoices &choices) {
  if (kernel.scheduled) return plan_scheduled_for_gpu(std::move(kernel), architecture, arrays, choices.debug);
  kernel = checked(passes::place_arrays(std::move(kernel), architecture), ir::Form::lowered, "place_arrays");
  if (!choices.debug)
    kernel = checked(passes::sum_over_launch(std::move(kernel)), ir::Form::lowered, "sum_over_launch");
  if (!choices.debug && choices.instances_per_thread > 1) {
    const bool streams = choices.streams && !codegen::wants_grid_stride(kernel);
    kernel = checked(passes::side_by_side(std::move(kernel), {choices.instances_per_thread, arrays, streams}),
                     ir::Form::lowered, "side_by_side");
  }
  if (!ir::is_tile_kernel(kernel)) return kernel;
  kernel = checked(passes::place_tiles(std::move(kernel), architecture), ir::Form::lowered, "place_tiles");
  kernel = checked(passes::stage_loads(std::move(kernel)), ir::Form::lowered, "stage_loads");
  kernel = checked(passes::spread_tiles(std::move(kernel), architecture), ir::Form::lowered, "spread_tiles");
  kernel = checked(passes::insert_barriers(std::move(kernel), passes::shares_memory(arrays)), ir::Form::lowered,
                   "insert_barriers");
  kernel = checked(passes::pipeline_loops(std::move(kernel)), ir::Form::lowered, "pipeline_loops");
  kernel = checked(passes::load_in_units(std::move(kernel), arrays), ir::Form::lowered, "load_in_units");
  const passes::TileMemoryPlan plan = passes::plan_tile_memory(kernel);
  kernel = checked(passes::with_offsets(std::move(kernel), plan), ir::Form::lowered, "plan_tile_memory");
  check_synchronised(kernel, arrays);
  return kernel;
}

ir::Kernel plan_scheduled_for_cpu(ir::Kernel kernel) {
  return checked(passes::place_arrays(std::move(kernel), passes::cpu_architecture()), ir::Form::lowered,
                 "place_arrays");
}

ir::Kernel plan_scheduled_for_gpu(ir::Kernel kernel, const passes::Architecture &architecture,
                                  const passes::FactsOfArrays &arrays, bool debug) {
  kernel = checked(passes::place_arrays(std::move(kernel), architecture), ir::Form::lowered, "place_arrays");
  if (!debug) {
    kernel = checked(passes::share_loads(std::move(kernel), arrays), ir::Form::lowered, "share_loads");
    kernel = checked(passes::pack_accesses(std::move(kernel), arrays), ir::Form::lowered, "pack_accesses");
  }
  const passes::TileMemoryPlan plan = passes::plan_tile_memory(kernel);
  return checked(passes::with_offsets(std::move(kernel), plan), ir::Form::lowered, "plan_tile_memory");
}

ir::Kernel verified(ir::Kernel kernel) {
  kernel.scheduled = is_tile_kernel(kernel);  // no schedule has tiles
  const ir::Form form = kernel.scheduled ? ir::Form::lowered : ir::Form::structured;
  return checked(std::move(kernel), form, "schedule");
}

ir::Kernel structure(ir::Kernel captured) {
  captured = checked(std::move(captured), ir::Form::captured, "capture");
  captured = checked(passes::number_iterations(captured), ir::Form::captured, "number_iterations");
  captured = checked(passes::structure_jumps(captured), ir::Form::captured, "structure_jumps");
  captured = checked(autodiff::expand_adjoint_calls(captured), ir::Form::captured, "expand_adjoint_calls");
  ir::Kernel structured = checked(passes::promote(captured), ir::Form::structured, "promote");
  return checked(passes::simplify(structured), ir::Form::structured, "simplify");
}

ir::Kernel inline_primals(const ir::Kernel &structured) {
  if (!passes::has_custom_adjoint(structured)) return structured;
  ir::Kernel inlined = checked(passes::inline_primals(structured), ir::Form::structured, "inline_primals");
  return checked(passes::simplify(inlined), ir::Form::structured, "simplify");
}

autodiff::Tangent derive_tangent(const ir::Kernel &structured, const std::vector<bool> &active) {
  autodiff::Tangent tangent = autodiff::derive_tangent(structured, active);
  tangent.kernel = checked(std::move(tangent.kernel), ir::Form::structured, "differentiate");
  return tangent;
}

autodiff::Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                                 std::optional<std::int64_t> memory_limit) {
  autodiff::Adjoint adjoint = autodiff::derive_adjoint(structured, active, may_alias, memory_limit);
  adjoint.kernel = checked(std::move(adjoint.kernel), ir::Form::structured, "differentiate");
  return adjoint;
}

std::optional<passes::GatheredAdjoint> gather(const ir::Kernel &adjoint, bool even_if_slower) {
  auto gathered =
      ir::is_tile_kernel(adjoint) ? passes::gather_tiles(adjoint) : passes::gather_adjoint(adjoint, even_if_slower);
  if (!gathered) return gathered;
  gathered->gather = checked(std::move(gathered->gather), ir::Form::structured, "gather_adjoint");
  gathered->clear = checked(std::move(gathered->clear), ir::Form::structured, "gather_adjoint");
  return gathered;
}

std::shared_ptr<const Variant> build_variant(KernelDefinition &definition, const VariantKey &key) {
  auto variant = std::make_shared<Variant>();
  variant->key = key;

  const ir::Kernel *kernel = &definition.forward();
  std::optional<RunGathered> run;
  if (key.direction == Direction::adjoint) {
    const autodiff::Adjoint &adjoint = definition.adjoint(key.active, key.may_alias, key.memory_limit);
    kernel = &adjoint.kernel;
    variant->gradient_of = adjoint.gradient_of;
    variant->values_read = adjoint.values_read;
    variant->values_after = adjoint.values_after;
    variant->written = adjoint.written;
    variant->times.derive = definition.adjoint_milliseconds(key.active, key.may_alias, key.memory_limit);
    // It is tried for every adjoint that may be gathered, whether or not it is then used.
    if (!key.may_alias && !key.debug && !key.memory_limit)
      variant->times.derive += definition.gather_milliseconds(key.active, key.gathers_even_if_slower());
    if (key.gather) {
      const passes::GatheredAdjoint &gathered = *definition.gathered_adjoint(key.active, key.gathers_even_if_slower());
      run = to_run(gathered, key.cuda);
      if (run) {
        kernel = &run->kernel;
        if (run->copies) {
          variant->copies = run->copies->copies;
          variant->first = variant_beside(*variant, run->copies->copy, run->copies->copies);
        }
        variant->afterwards = variant_beside(*variant, gathered.clear);
      }
    }
  } else if (key.direction == Direction::tangent) {
    const autodiff::Tangent &tangent = definition.tangent(key.active);
    kernel = &tangent.kernel;
    variant->gradient_of = tangent.gradient_of;
    variant->times.derive = definition.tangent_milliseconds(key.active);
  }
  compile_kernel(*kernel, *variant);
  for (const auto &beside : {variant->first, variant->afterwards})
    if (beside) add(variant->times, beside->times);
  return variant;
}

}  // namespace samite::jit
