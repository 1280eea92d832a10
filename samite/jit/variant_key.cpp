#include "samite/jit/variant_key.h"

#include "samite/codegen/cuda_launch_shape.h"
#include "samite/jit/launch_copies.h"
#include "samite/jit/target.h"
#include "samite/passes/adjoint/gather_tiles.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/sm90/share_steps.h"
#include "samite/passes/threads/instances_per_thread.h"
#include "samite/passes/threads/march.h"
#include "samite/passes/tiles/automatic_plan.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/task_pool.h"
#include "samite/shipped/tensor_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace samite::jit {
namespace {

constexpr std::int64_t narrow = std::numeric_limits<std::int32_t>::max();

constexpr std::uint64_t bit(std::size_t index) { return std::uint64_t{1} << index; }

template <class See>
void for_each(std::uint64_t bits, const See &see) {
  for (; bits != 0; bits &= bits - 1) see(static_cast<std::size_t>(std::countr_zero(bits)));
}

std::span<const std::int64_t> extents_of(const AnyBuffer &buffer) {
  return {buffer.extents().begin(), buffer.strides().size()};
}

// An array's layout in memory.
struct Layout {
  std::int64_t count;
  bool unit_stride;   // along the last dimension
  bool wide;          // an extent, or the distance between two elements, exceeds 32 bits
  bool broadcast;     // several indices share an element
  bool aligned_rows;  // to 16 bytes; a gradient's memory has the alignment of its primal
  bool whole_rows;    // of multiples of 16 bytes
};

inline Layout layout_of(const AnyBuffer &buffer) {
  constexpr std::int64_t alignment = 16;
  const std::span<const std::int64_t> strides = buffer.strides();
  const std::int64_t *const extents = buffer.extents().begin();
  const auto bytes = static_cast<std::int64_t>(size_of(buffer.type()));
  const std::size_t last = strides.size() - 1;
  std::int64_t count = 1, distance = 0, longest = 0;
  // Rows are aligned if the first one and all strides between them are: no low bit is set in any.
  auto places = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(buffer.data()));
  bool repeats = false;
  for (std::size_t d = 0; d <= last; ++d) {
    const std::int64_t extent = extents[d], stride = strides[d];
    count *= extent;
    distance += (extent - 1) * (stride < 0 ? -stride : stride);
    longest = std::max(longest, extent);
    repeats |= extent > 1 && stride == 0;
    if (d != last) places |= stride * bytes;
  }
  return {.count = count,
          .unit_stride = strides[last] == 1,
          .wide = distance > narrow || longest > narrow,
          .broadcast = repeats && count != 0,
          .aligned_rows = (places & (alignment - 1)) == 0,
          .whole_rows = (extents[last] * bytes & (alignment - 1)) == 0};
}

// The arrays of a launch by their layouts, as bits. If a copy holds an array's values, both have the layout.
struct Arrays {
  std::uint64_t all = 0, unit_stride = 0, wide = 0, broadcast = 0, aligned = 0, whole_rows = 0;
  std::uint64_t tracking = 0;  // a gradient
  std::uint64_t large = 0;     // cast copies may exceed 32-bit indices
};

Arrays arrays_of(std::span<const Argument> arguments) {
  Arrays arrays;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer *buffer = arguments[i].buffer;
    if (!buffer) continue;
    Layout layout = layout_of(*buffer);
    if (const AnyBuffer *values = arguments[i].values) {
      const Layout of_values = layout_of(*values);
      layout.unit_stride &= of_values.unit_stride;
      layout.wide |= of_values.wide;
      layout.aligned_rows &= of_values.aligned_rows;
    }
    const std::uint64_t own = bit(i);
    arrays.all |= own;
    if (layout.unit_stride) arrays.unit_stride |= own;
    if (layout.wide) arrays.wide |= own;
    if (layout.broadcast) arrays.broadcast |= own;
    if (layout.aligned_rows) arrays.aligned |= own;
    if (layout.whole_rows) arrays.whole_rows |= own;
    if (buffer->tracks_gradient()) arrays.tracking |= own;
    if (layout.count > narrow / most_growth_of_copy) arrays.large |= own;
  }
  return arrays;
}

// Whether the storages prove that no two arrays share memory. In most launches they do, and no pair is compared.
bool lie_apart(std::span<const Argument> arguments) {
  std::array<const Storage *, maximum_parameters> storages;
  std::size_t count = 0;
  std::uint64_t hashes = 0;  // as bits: a storage whose hash is new differs from all before
  for (const Argument &argument : arguments) {
    if (!argument.buffer) continue;
    const Storage *storage = argument.buffer->storage().get();
    if (storage->is_borrowed()) return false;
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;  // Knuth, The Art of Computer Programming, 6.4
    const std::uint64_t hash = bit(reinterpret_cast<std::uintptr_t>(storage) * golden_ratio >> 58);
    const auto end = storages.begin() + count;
    if ((hashes & hash) != 0 && std::find(storages.begin(), end, storage) != end) return false;
    hashes |= hash;
    storages[count++] = storage;
  }
  return true;
}

// Arrays that share memory, as bits.
struct Sharing {
  std::uint64_t with_any = 0, with_written = 0;
  bool among_active = false;
};

Sharing sharing_of(std::span<const Argument> arguments, std::uint64_t written, std::uint64_t active) {
  struct Place {
    std::uint64_t own;
    const Storage *storage;
    const std::byte *begin, *end;
  };
  Sharing sharing;
  std::array<Place, maximum_parameters> places;
  std::size_t count = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].buffer) continue;
    const auto [begin, end] = arguments[i].buffer->memory_range();
    if (begin == end) continue;
    const Place place{bit(i), arguments[i].buffer->storage().get(), begin, end};
    for (std::size_t k = 0; k < count; ++k) {
      const Place &other = places[k];
      if (!(begin < other.end && other.begin < end && place.storage->may_share(*other.storage))) continue;
      sharing.with_any |= place.own | other.own;
      if (written & other.own) sharing.with_written |= place.own;
      if (written & place.own) sharing.with_written |= other.own;
      if ((active & place.own) && (active & other.own)) sharing.among_active = true;
    }
    places[count++] = place;
  }
  return sharing;
}

// Those of `candidates` for which private copies are possible and pay: contiguous and unaliased, and with fewer
// elements to clear and to add than the launch computes anyway.
std::uint64_t summed_apart(const KernelDefinition &definition, const Extents &extents,
                           std::span<const Argument> arguments, std::uint64_t candidates, bool adjoint) {
  if (candidates == 0) return 0;
  constexpr double byte_limit = double{1 << 30};
  double work = static_cast<double>(extents.count()) * definition.cost();
  std::uint64_t worth = 0;
  const int workers = worker_count();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!(candidates & bit(i))) continue;
    const AnyBuffer &array = *arguments[i].buffer;
    auto elements = static_cast<double>(array.count());
    bool fits = elements * static_cast<double>(size_of(array.type())) * workers <= byte_limit;
    bool alone = array.is_contiguous();
    for (std::size_t j = 0; j < arguments.size(); ++j)
      if (!adjoint && j != i && arguments[j].buffer && arguments[j].buffer->overlaps(array)) alone = false;
    if (fits && alone && elements <= work) worth |= bit(i);
  }
  return worth;
}

// The iterations of a loop over windows of a gathered adjoint. Empty if they are unknown, or if this launch must not
// use such wide windows.
std::optional<std::int64_t> windows(const passes::GatheredAdjoint::DealtLoop &loop,
                                    std::span<const Argument> arguments) {
  return passes::iterations(
      loop, [&](passes::ArrayDimension array) { return arguments[array.array].buffer->extent(array.dimension); },
      [&](const ir::Value &parameter) {
        const auto bits = static_cast<std::int64_t>(arguments[parameter.parameter_index()].scalar);
        return ir::Value::constant(parameter.type(), bits);
      });
}

// Whether there are enough blocks to fill a part of a GPU, and windows for them to gather. Otherwise scattering is
// faster, to run and to compile. Wide windows are fewer: they must fill most of a GPU.
bool keeps_blocks_busy(const passes::GatheredAdjoint &gathered, const Extents &extents,
                       std::span<const Argument> arguments) {
  constexpr std::int64_t enough = 64, enough_wide = 96;
  if (extents.count() < enough) return false;
  return std::ranges::all_of(gathered.dealt, [&](const passes::GatheredAdjoint::DealtLoop &loop) {
    std::int64_t blocks = 1;
    for (const int d : loop.launch_dimensions) blocks *= extents[d];
    const std::int64_t busy = std::min(windows(loop, arguments).value_or(0), blocks);
    if (loop.wide) return busy == blocks || extents.count() / blocks * busy >= enough_wide;
    return 4 * busy >= blocks || extents.count() / blocks * busy >= enough;
  });
}

// Whether the adjoint should gather, and may: only now is it known that the launch covers the arrays.
bool is_gathered(const KernelDefinition &definition, const KernelDefinition::Derived &derived, const VariantKey &key,
                 const Extents &extents, std::span<const Argument> arguments) {
  if (key.derivative.may_alias || key.derivative.memory_limit) return false;
  // On the CPU a launch is divided among threads, which a gathered tile kernel does not allow.
  const bool of_tiles = ir::is_tile_kernel(definition.forward());
  if (of_tiles && Target::of(key.cuda).is_cpu()) return false;
  // Debug mode names the original access, unless the scattering form exceeds memory.
  if (key.debug && (!of_tiles || key.derivative.wide_windows || derived.scattered(key.cuda))) return false;
  if (key.derivative.wide_windows && !of_tiles) return false;
  const auto &gathered = derived.gathered(key.gathering()).adjoint;
  if (!gathered) return false;
  // Required gathers ignore the number of blocks.
  const auto must = [&] { return !key.derivative.wide_windows && (key.deterministic || !derived.scattered(key.cuda)); };
  if (of_tiles && !keeps_blocks_busy(*gathered, extents, arguments) && !must()) return false;
  return std::all_of(gathered->covers.begin(), gathered->covers.end(), [&](const auto &cover) {
    return arguments[cover.array.array].buffer->extent(cover.array.dimension) == extents[cover.launch_dimension];
  });
}

// Whether an array can be copied, to fewer than 2^31 elements, so that the copy, possibly transposed, can have a tensor
// map: one of its last two dimensions is contiguous.
bool can_be_copied(const AnyBuffer &buffer, bool by_rows) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto rank = static_cast<std::size_t>(buffer.rank());
  if (rank < 2 || buffer.strides()[by_rows ? rank - 1 : rank - 2] != 1) return false;
  // In numbers that do not overflow, with the largest gaps between rows, whichever dimension they are along.
  constexpr double longest_gap = 128;
  double elements = 1;
  for (const std::int64_t extent : extents_of(buffer)) {
    if (extent < 1) return false;
    elements *= static_cast<double>(extent) + longest_gap;
  }
  return elements <= static_cast<double>(most);
}

// The arrays whose copies save more time than they take (passes/tiles/factor_copies.h).
void set_worth_copying(const KernelDefinition &definition, const Extents &extents, std::span<const Argument> arguments,
                       VariantKey &key) {
  const std::vector<passes::FactorRead> &reads = definition.factor_reads(key.cuda);
  if (reads.empty() || key.debug || extents.count() == 0) return;
  const std::span launch(extents.begin(), static_cast<std::size_t>(extents.rank()));
  const auto elements = [&](std::size_t array) { return static_cast<double>(arguments[array].buffer->count()); };
  std::array<double, maximum_parameters> multiplied{};
  std::uint64_t swapped = 0, together = 0;
  double all = 0;
  for (const passes::FactorRead &read : reads) {
    double &own = multiplied[read.array];
    own = std::max(own, passes::multiplications(read, extents_of(*arguments[read.array].buffer), launch));
    all = std::max(all, own * elements(read.array));
    if (read.swapped) swapped |= bit(read.array);
    if (read.terms_together) together = ~std::uint64_t{0};
  }
  // In an adjoint the product's result is a factor, and each factor is multiplied by the other's gradient with its
  // terms along another dimension.
  if (key.direction == Direction::adjoint) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (definition.written() & key.derivative.active & bit(i)) multiplied[i] = all / std::max(elements(i), 1.0);
    swapped = together;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (multiplied[i] == 0) continue;
    const bool by_rows = (key.arrays.unit_stride & bit(i)) != 0;
    if (!can_be_copied(*arguments[i].buffer, by_rows) || !can_be_copied(arguments[i].elements(), by_rows)) continue;
    if (!(key.arrays.tensor_maps & bit(i)) && passes::pays(elements(i), multiplied[i], false))
      key.arrays.worth_padding |= bit(i);
    if ((swapped & bit(i)) && by_rows && passes::pays(elements(i), multiplied[i], true))
      key.arrays.worth_swapping |= bit(i);
  }
}

// The largest number of parts that a launch can have, and the reason that it has no more.
struct MostParts {
  std::int64_t parts;
  std::string why;
};

MostParts most_parts(const TilePlan &plan, std::int64_t blocks, std::int64_t iterations, const CudaDevice &device,
                     bool other_clusters) {
  constexpr std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max();
  MostParts most{std::max<std::int64_t>(iterations, 1), fmt::format("its loop has {} iterations", iterations)};
  const auto limit = [&](std::int64_t parts, const std::string &why) {
    if (parts < most.parts) most = {std::max<std::int64_t>(parts, 1), why};
  };
  limit(most_blocks / blocks, "a grid has at most 2147483647 blocks");
  if (plan.parts_in_cluster != 1) return most;
  if (other_clusters) limit(1, "the launch has clusters of another kind");
  if (!device.context().limits().clusters) limit(1, "the device has no clusters");
  limit(passes::most_step_parts, fmt::format("a cluster has at most {} blocks", passes::most_step_parts));
  limit(device.largest_cluster(), fmt::format("the device has room for clusters of {}", device.largest_cluster()));
  return most;
}

// The number of parts that the plan asks for. UserError if the launch cannot have as many. `other_clusters`: by its own
// options, or to share windows.
void set_planned_parts(const KernelDefinition &definition, std::int64_t blocks, std::int64_t iterations,
                       const CudaDevice &device, bool other_clusters, VariantKey &key) {
  const int asked = *key.plan.parts;
  if (const MostParts most = most_parts(key.plan, blocks, iterations, device, other_clusters); asked > most.parts) {
    TilePlan nearest = key.plan;
    nearest.parts = static_cast<int>(most.parts);
    throw passes::PlanRefused(definition.forward(), fmt::format("parts {}", asked), most.why, nearest);
  }
  // Blocks with teams have no clusters that share steps.
  const bool may = !other_clusters && device.context().limits().clusters && asked <= passes::most_step_parts &&
                   asked <= device.largest_cluster();
  if (may && key.plan.parts_in_cluster.value_or(key.plan.teams.value_or(1) == 1 ? 1 : 0) == 1)
    key.shape.step_parts = asked;
  key.shape.sum_parts = key.plan.parts_in_cluster == 1 ? 1 : asked;
}

// The number of parts in which a launch computes its sums.
void set_parts(const KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
               std::span<const Argument> arguments, const CudaDevice &device, VariantKey &key) {
  const driver::LaunchLimits &limits = device.context().limits();
  constexpr std::int64_t most_asked = 1024, most_blocks = std::numeric_limits<std::int32_t>::max();
  const int asked = options.cuda.sum_parts.value_or(0);
  if (options.cuda.sum_parts && (asked < 1 || asked > most_asked))
    throw UserError(definition.where(), "LaunchOptions::sum_parts of kernel '" + definition.name() + "' is " +
                                            std::to_string(asked) + "; expected 1 to " + std::to_string(most_asked));
  const std::int64_t blocks = extents.count();
  if (key.debug || key.direction != Direction::forward || blocks == 0) return;
  const int wanted = key.plan.parts.value_or(asked);
  if (wanted == 1 || (wanted == 0 && 2 * blocks > limits.multiprocessors)) return;
  const bool other_clusters = options.cuda.cluster || key.plan.cluster_blocks.value_or(1) > 1;
  if (wanted == 0 && key.plan.cluster_blocks.value_or(1) > 1) return;
  const std::optional<passes::SplitSums> &split = definition.split_sums();
  if (!split) {
    if (wanted == 0) return;
    constexpr const char *reason =
        "it has no loop at its outermost level that adds up products and does nothing else, whose sums could be "
        "computed in parts";
    if (key.plan.parts) {
      TilePlan nearest = key.plan;
      nearest.parts = 1;
      throw passes::PlanRefused(definition.forward(), fmt::format("parts {}", wanted), reason, nearest);
    }
    throw UserError(definition.where(), "LaunchOptions::sum_parts of kernel '" + definition.name() + "' is " +
                                            std::to_string(asked) + "; " + reason);
  }
  const std::int64_t iterations = windows(split->loop, arguments).value_or(0);
  if (key.plan.parts) return set_planned_parts(definition, blocks, iterations, device, other_clusters, key);
  std::int64_t bytes = 0;
  for (const passes::PartialSums &sums : split->sums)
    bytes += sums.rows * sums.columns * static_cast<std::int64_t>(size_of(sums.type));
  const passes::AutomaticParts automatic = passes::automatic_parts(blocks, iterations, bytes, limits.multiprocessors);
  if (key.plan.parts_in_cluster != 1)
    key.shape.sum_parts = static_cast<int>(
        asked == 0 ? automatic.by_kernel
                   : std::clamp<std::int64_t>(std::min<std::int64_t>(iterations, most_blocks / blocks), 1, asked));
  const bool excluded = other_clusters || key.plan.teams.value_or(1) > 1 || key.plan.parts_in_cluster == 0;
  if (!limits.clusters || excluded || definition.factor_reads(key.cuda).empty()) return;
  const std::int64_t in_clusters = asked == 0 ? automatic.in_cluster : asked;
  // Otherwise another kernel reduces the parts.
  const bool has_room = in_clusters <= passes::most_step_parts && in_clusters <= device.largest_cluster();
  if (has_room && blocks <= most_blocks / in_clusters) key.shape.step_parts = static_cast<int>(in_clusters);
}

// Dimensions of the launch with an even number of blocks, as bits, where clusters may form.
std::uint64_t paired_dimensions(const Extents &extents, const LaunchOptions &options, const CudaDevice &device,
                                const VariantKey &key) {
  // Clusters take about 3 µs longer to start, which one wave of blocks does not recover.
  const bool wanted = key.plan.cluster_blocks ? *key.plan.cluster_blocks > 1 : key.shape.in_rounds;
  if (!wanted || options.cuda.cluster || !device.context().limits().clusters || device.largest_cluster() < 2) return 0;
  std::uint64_t paired = 0;
  for (int d = std::max(extents.rank() - 2, 0); d < extents.rank(); ++d)
    if (extents[d] % 2 == 0) paired |= bit(static_cast<std::size_t>(d));
  return paired;
}

// The plan of a launch: its own fields, then its kernel's.
TilePlan asked_plan(const KernelDefinition &definition, const LaunchOptions &options) {
  const TilePlan &of_launch = options.cuda.plan;
  if (of_launch == TilePlan()) return definition.forward().plan;
  const std::string name = "LaunchOptions::cuda.plan of kernel '" + definition.name() + "'";
  if (!ir::is_tile_kernel(definition.forward()) || definition.forward().scheduled)
    throw UserError(definition.where(), name + ": plans are for kernels of tiles; leave it unset");
  if (const std::string invalid = invalid_field(of_launch); !invalid.empty())
    throw UserError(definition.where(), name + " has " + invalid);
  return with(definition.forward().plan, of_launch);
}

void set_for_cuda(const KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                  std::span<const Argument> arguments, Device device, VariantKey &key) {
  constexpr int most_neighbours = 8;
  const CudaMemory *memory = cuda_memory_of(arguments);
  const std::shared_ptr<const CudaDevice> of_index = memory ? nullptr : CudaDevice::of(device.index());
  const CudaDevice &cuda = memory ? memory->device() : *of_index;
  const driver::LaunchLimits &limits = cuda.context().limits();
  const ir::Kernel &kernel = definition.forward();
  const std::int64_t count = extents.count();
  key.cuda = limits.compute_capability;
  key.workspace_bytes = options.cuda.workspace_bytes;
  // An older device refuses the launch; it must not be compiled first.
  key.shape.programmatic = options.cuda.programmatic && Target::of(key.cuda).launches_early();
  if (count != 0) {
    const std::span counts(extents.begin(), static_cast<std::size_t>(extents.rank()));
    key.shape.grid_stride = !codegen::fits_exact_launch(counts, {.tile_threads = kernel.block_threads});
    key.shape.grid_axes = kernel.scheduled && codegen::fits_grid_axes(counts);
    key.shape.outgrows_caches = passes::outgrows_caches(counts);
    key.shape.neighbours = passes::instances_per_thread(most_neighbours, counts, limits.multiprocessors);
  }
  const TilePlan plan = asked_plan(definition, options);
  if (!ir::is_tile_kernel(kernel) || kernel.scheduled) return;
  if (!key.debug && key.direction == Direction::forward) key.plan = plan;
  set_parts(definition, extents, options, arguments, cuda, key);
  if (!Target::of(key.cuda).has_warp_groups()) return;
  for_each(key.arrays.aligned, [&](std::size_t i) {
    const AnyBuffer *const values = arguments[i].values;
    const bool has_map = shipped::can_have_tensor_map(*arguments[i].buffer);
    if (has_map && (!values || shipped::can_have_tensor_map(*values))) key.arrays.tensor_maps |= bit(i);
  });
  set_worth_copying(definition, extents, arguments, key);
  const bool multiplies = !key.debug && !definition.factor_reads(key.cuda).empty();
  key.shape.in_rounds = multiplies && passes::has_several_waves(count, limits.multiprocessors);
  key.shape.paired = paired_dimensions(extents, options, cuda, key);
}

}  // namespace

VariantKey variant_key(const KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                       std::span<const Argument> arguments, bool in_graph) {
  const bool adjoint = options.direction == Direction::adjoint, forward = options.direction == Direction::forward;
  const bool scheduled = definition.forward().scheduled;
  const Device device = device_of(arguments, options);
  const bool on_cuda = device.kind() == DeviceKind::cuda;
  const Arrays arrays = arrays_of(arguments);
  VariantKey key;
  key.direction = options.direction;
  key.debug = options.debug ? *options.debug : debug_mode();
  key.races = key.debug && !(in_graph && on_cuda) && !scheduled;
  key.deterministic = options.deterministic;
  key.arrays.unit_stride = arrays.unit_stride;
  key.arrays.wide_index = arrays.wide;
  if (!forward) key.derivative.active = arrays.tracking;
  // On the CPU only schedules' kernels use aliasing, to hoist invariant loads.
  const bool wants_unaliased = on_cuda || (scheduled && !key.debug);
  const bool asks = adjoint || wants_unaliased || key.races;
  const std::uint64_t written = forward ? definition.written() : arrays.all;
  const Sharing sharing =
      asks && !lie_apart(arguments) ? sharing_of(arguments, written, key.derivative.active) : Sharing{};
  if (adjoint) {
    key.derivative.memory_limit = options.memory_limit;
    for_each(key.derivative.active & arrays.large, [&](std::size_t i) {
      if (copy_elements(extents_of(*arguments[i].buffer), passes::copied_bytes) > narrow)
        key.arrays.wide_index |= bit(i);
    });
    key.derivative.may_alias = (key.derivative.active & arrays.broadcast) != 0 || sharing.among_active;
  }
  if (wants_unaliased && !key.derivative.may_alias) key.arrays.unaliased = arrays.all & ~sharing.with_written;
  if (key.races) key.arrays.overlapping = sharing.with_any;
  if (on_cuda) {
    key.arrays.aligned = arrays.aligned;
    if (ir::is_tile_kernel(definition.forward()) && !scheduled) key.arrays.whole_rows = arrays.whole_rows;
    set_for_cuda(definition, extents, options, arguments, device, key);
  } else if (forward) {
    key.arrays.summed = summed_apart(definition, extents, arguments, definition.summed(), false);
  }
  return key;
}

void add_adjoint_facts(VariantKey &key, const KernelDefinition &definition, const KernelDefinition::Derived &derived,
                       const Extents &extents, std::span<const Argument> arguments) {
  for (const bool wide : {true, false}) {
    key.derivative.wide_windows = wide;
    key.derivative.gather = is_gathered(definition, derived, key, extents, arguments);
    if (key.derivative.gather) break;
  }
  // No two blocks of a gathered adjoint add to one element.
  if (key.derivative.gather) key.races = false, key.arrays.overlapping = 0;
  if (Target::of(key.cuda).is_cpu() && !key.derivative.may_alias) {
    const std::uint64_t summed = key.derivative.gather ? derived.gathered(key.gathering()).summed : derived.summed;
    key.arrays.summed = summed_apart(definition, extents, arguments, summed, true);
  }
}

}  // namespace samite::jit
