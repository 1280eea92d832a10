#include "samite/jit/arguments.h"

#include "samite/autodiff/refusal.h"
#include "samite/base/error.h"
#include "samite/codegen/cuda_launch_shape.h"
#include "samite/jit/launch_copies.h"
#include "samite/passes/architecture.h"
#include "samite/passes/gather_tiles.h"
#include "samite/passes/instances_per_thread.h"
#include "samite/passes/march.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/shared_elements.h"
#include "samite/runtime/task_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace samite::jit {
namespace {

std::uint64_t bit(std::size_t index) { return std::uint64_t{1} << index; }

// It knows its device, which a look-up by number would take longer to find. Null where no argument is on CUDA.
const CudaMemory *cuda_memory_of(std::span<const Argument> arguments) {
  for (const Argument &argument : arguments)
    if (argument.buffer) return argument.buffer->storage()->cuda();
  return nullptr;
}

[[noreturn]] void fail(const Callee &callee, const std::string &message) {
  throw UserError(callee.where, std::string(callee.kind) + " '" + callee.name + "': " + message);
}

std::string expected(const ir::Parameter &parameter) {
  std::string type(name(parameter.type));
  if (!parameter.is_array()) return "a scalar of type " + type;
  std::string buffer = "a buffer of " + type + " with rank " + std::to_string(parameter.rank);
  if (parameter.last_extent)
    buffer += " whose last extent is " + std::to_string(parameter.last_extent) + ", the numbers of one element";
  return buffer;
}

std::span<const std::int64_t> extents_of(const AnyBuffer &buffer) {
  return {buffer.extents().begin(), buffer.strides().size()};
}

// The distance between the first element and the farthest, in elements.
std::int64_t span_of(const AnyBuffer &buffer) {
  std::int64_t span = 0;
  for (int d = 0; d < buffer.rank(); ++d) {
    std::int64_t stride = buffer.strides()[static_cast<std::size_t>(d)];
    span += (buffer.extents()[d] - 1) * (stride < 0 ? -stride : stride);
  }
  return span;
}

void fill_array(const AnyBuffer &buffer, const void *data, std::byte *place) {
  using Layout = codegen::ArgumentLayout;
  int rank = buffer.rank();
  std::memcpy(place + Layout::data_offset(), static_cast<const void *>(&data), sizeof data);
  // By hand, since a copy of a few words of a number unknown to the compiler is a call.
  for (int d = 0; d < rank; ++d) {
    std::memcpy(place + Layout::extent_offset(d), buffer.extents().begin() + d, sizeof(std::int64_t));
    std::memcpy(place + Layout::stride_offset(rank, d), buffer.strides().data() + d, sizeof(std::int64_t));
  }
}

// Those of `candidates` for which a copy for each worker is possible and pays: without gaps or aliases, and with fewer
// elements to clear and to add up than the launch computes anyway.
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

}  // namespace

std::string describe(const std::vector<ir::Parameter> &parameters, std::size_t index) {
  return "argument " + std::to_string(index) + " ('" + parameters[index].name + "')";
}

// Of its launch's rank.
std::string why_launch_rank(const ir::Kernel &kernel) {
  const std::string index = ir::is_tile_kernel(kernel) ? "block_index" : "thread_index";
  if (const SourceLocation where = kernel.launch_rank_where; where.known())
    return index + "<" + std::to_string(kernel.launch_rank) + ">() in the kernel says (" + where.to_string() + ")";
  return "that of a kernel that asks for no " + index + "()";
}

void check_extents(const KernelDefinition &definition, const Extents &extents) {
  if (extents.rank() != definition.launch_rank())
    fail(definition, "a launch of rank " + std::to_string(definition.launch_rank()) + " is expected, as " +
                         why_launch_rank(definition.structured()) + "; " + extents.to_string() + " is given");
  for (int d = 0; d < extents.rank(); ++d)
    if ((definition.narrow_dimensions() & bit(static_cast<std::size_t>(d))) &&
        extents[d] > std::numeric_limits<std::int32_t>::max())
      fail(definition, "extent " + std::to_string(extents[d]) + " of launch dimension " + std::to_string(d) +
                           " is beyond 2147483647, which an Int index counts; split the launch");
}

void check_buffer(const Callee &callee, std::size_t index, const AnyBuffer &buffer) {
  const ir::Parameter &parameter = callee.parameters[index];
  auto mismatch = [&](const std::string &given) {
    fail(callee, describe(callee.parameters, index) + " expects " + expected(parameter) + "; " + given);
  };
  if (!buffer.valid()) mismatch("an empty buffer is given: construct it with a device and extents");
  if (!parameter.is_array() || buffer.type() != parameter.type || buffer.rank() != parameter.rank ||
      (parameter.last_extent && buffer.extents()[buffer.rank() - 1] != parameter.last_extent))
    mismatch(buffer.to_string() + " is given");
  if ((callee.written & bit(index)) && buffer.is_broadcast())
    mismatch(buffer.to_string() + ", a broadcast view whose indices share elements, is given, and the " + callee.kind +
             " writes to it: clone() it first");
  if ((callee.written & bit(index)) && buffer.storage()->is_read_only())
    mismatch(buffer.to_string() + ", borrowed memory that is read-only, is given, and the " + callee.kind +
             " writes to it: borrow it for writing, or give a clone()");
}

void check_index_types(const KernelDefinition &definition, std::size_t index, const AnyBuffer &buffer) {
  for (int d = 0; d < buffer.rank(); ++d) {
    if (buffer.extents()[d] <= std::numeric_limits<std::int32_t>::max()) continue;
    const auto dimension = static_cast<std::size_t>(d);
    const std::string extent = describe(definition.parameters(), index) + " has extent " +
                               std::to_string(buffer.extents()[d]) + " in dimension " + std::to_string(d);
    const KernelDefinition::NarrowIndices &narrow = definition.narrow_indices(index);
    if (const auto &where = narrow.indexed[dimension])
      fail(definition, extent + ", beyond 2147483647, and is indexed with Int there (" + where->to_string() +
                           "); index with Int64: cast<Int64>(…) before the arithmetic");
    if (const auto &where = narrow.extent[dimension])
      fail(definition, extent + ", beyond 2147483647, and the kernel reads it as an Int (" + where->to_string() +
                           "); pass the extent as a parameter of type Int64 instead of asking extent(" +
                           std::to_string(d) + ")");
  }
}

void check_devices(const Callee &callee, std::span<const Argument> arguments) {
  const AnyBuffer *first = nullptr;
  std::size_t first_index = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer *buffer = arguments[i].buffer;
    if (!buffer) continue;
    if (!first) first = buffer, first_index = i;
    if (!(buffer->storage()->device() == first->storage()->device()))
      fail(callee, describe(callee.parameters, i) + " is on " + buffer->device().to_string() + ", but " +
                       describe(callee.parameters, first_index) + " is on " + first->device().to_string() +
                       "; a launch runs on one device, so copy one of them");
  }
}

void check_distinct(const Callee &callee, std::span<const Argument> arguments) {
  const auto &parameters = callee.parameters;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!parameters[i].distinct) continue;
    for (std::size_t j = 0; j < arguments.size(); ++j)
      if (j != i && arguments[j].buffer && arguments[i].buffer->overlaps(*arguments[j].buffer))
        fail(callee, describe(parameters, i) + " expects a buffer that shares no memory with another argument; " +
                         describe(parameters, j) + " shares it: give the " + callee.kind +
                         " separate buffers, such as a clone()");
  }
}

const KernelDefinition::Derived &checked_adjoint(KernelDefinition &definition, const VariantKey &key,
                                                 std::span<const Argument> arguments) {
  const auto &parameters = definition.parameters();
  if (key.active == 0)
    fail(definition,
         "an adjoint launch needs buffers that track gradients, and none of the arguments does; construct "
         "inputs and outputs with Gradient::tracked");
  const KernelDefinition::Derived &derived = definition.derived(key.active, key.may_alias, key.memory_limit);
  const autodiff::Adjoint &adjoint = derived.adjoint;
  if (!(key.active & definition.written()))
    fail(definition,
         "the adjoint is empty: no array that the kernel writes tracks its gradient, so none flows back; "
         "construct the outputs with Gradient::tracked");
  for (std::uint32_t overwritten : adjoint.values_before)
    if (!arguments[overwritten].values)
      fail(definition, "the adjoint needs the values that " + describe(parameters, overwritten) +
                           " had before the forward launch, which overwrites them; launch the kernel while a Tape "
                           "records, which keeps them, or write the result to another array");
  for (std::uint32_t read : adjoint.values_read)
    for (std::size_t other = 0; other < arguments.size(); ++other) {
      if (other == read || !(definition.written() & bit(other))) continue;
      if (!share_elements(*arguments[read].buffer, *arguments[other].buffer)) continue;
      // A copy from before the launch holds what was read before the write alone.
      if (auto late = autodiff::late_read(definition.structured(), read, static_cast<std::uint32_t>(other)))
        fail(definition, "the adjoint needs the values of " + describe(parameters, read) + " read at " +
                             late->read.to_string() + ", but they share memory with " + describe(parameters, other) +
                             ", written before (" + late->written.to_string() + "); give the kernel separate buffers");
      if (share_elements(arguments[read].elements(), *arguments[other].buffer))
        fail(definition, "the adjoint needs the values of " + describe(parameters, read) +
                             ", but they share memory with " + describe(parameters, other) +
                             ", which the forward launch overwrites; give the kernel separate buffers");
    }
  return derived;
}

void check_tangent(const KernelDefinition &definition, const VariantKey &key) {
  if (key.active == 0)
    fail(definition,
         "a tangent launch needs buffers that track gradients, whose memory holds the tangents, and none of the "
         "arguments does; construct inputs and outputs with Gradient::tracked");
}

// How many windows of a gathered adjoint's loop there are. Nothing where that cannot be told, or the windows of this
// launch must not be so wide.
std::optional<std::int64_t> windows(const passes::GatheredAdjoint::DealtLoop &loop,
                                    std::span<const Argument> arguments) {
  return passes::iterations(
      loop, [&](passes::ArrayDimension array) { return arguments[array.array].buffer->extent(array.dimension); },
      [&](const ir::Value &parameter) {
        const auto bits = static_cast<std::int64_t>(arguments[parameter.parameter_index()].scalar);
        return ir::Value::constant(parameter.type(), bits);
      });
}

// Whether there are enough blocks to fill a part of a GPU, and windows for them to gather. Else blocks that scatter are
// sooner done, and compiled. Wide windows are fewer: they are to fill most of a GPU.
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

// Whether the adjoint is to be gathered, and may be: that the launch covers the arrays is known only now.
bool is_gathered(const KernelDefinition &definition, const KernelDefinition::Derived &derived, const VariantKey &key,
                 const Extents &extents, std::span<const Argument> arguments) {
  // Debug mode names the access as it was written.
  if (key.may_alias || key.debug || key.memory_limit) return false;
  // On the CPU a launch is divided among threads, which a gathered tile kernel may not be.
  const bool of_tiles = ir::is_tile_kernel(definition.forward());
  if (of_tiles && key.cuda == 0) return false;
  if (key.wide_windows && !of_tiles) return false;
  const auto &gathered = derived.gathered(key.gathering()).adjoint;
  if (!gathered) return false;
  const bool must = key.deterministic && !key.wide_windows;
  if (of_tiles && !must && !keeps_blocks_busy(*gathered, extents, arguments)) return false;
  return std::all_of(gathered->covers.begin(), gathered->covers.end(), [&](const auto &cover) {
    return arguments[cover.array.array].buffer->extent(cover.array.dimension) == extents[cover.launch_dimension];
  });
}

// A gradient's memory is aligned as its primal's is.
bool has_aligned_rows(const AnyBuffer &buffer) {
  constexpr std::size_t alignment = 16;
  if (reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment != 0) return false;
  const auto bytes = static_cast<std::int64_t>(size_of(buffer.type()));
  for (std::int64_t stride : buffer.strides().first(static_cast<std::size_t>(buffer.rank() - 1)))
    if (stride * bytes % static_cast<std::int64_t>(alignment) != 0) return false;
  return true;
}

// Whether a tensor map of these elements can be made (samite/driver/tensor_map_rules.h), and their indices are i32.
bool has_tensor_map(const AnyBuffer &buffer) {
  constexpr std::int64_t most_extent = std::numeric_limits<std::int32_t>::max(), most_stride = std::int64_t{1} << 40;
  const auto bytes = static_cast<std::int64_t>(size_of(buffer.type()));
  if (!has_aligned_rows(buffer) || buffer.strides().back() != 1) return false;
  for (int d = 0; d < buffer.rank(); ++d) {
    const std::int64_t stride = buffer.strides()[static_cast<std::size_t>(d)];
    if (buffer.extents()[d] < 1 || buffer.extents()[d] > most_extent) return false;
    if (d + 1 < buffer.rank() && (stride < 0 || stride >= most_stride / bytes)) return false;
  }
  return true;
}

// Whether an array can be copied, to fewer than 2^31 elements, so that a tensor map of the copy can be made, its
// dimensions in order or not: neighbours in one of the last two dimensions are neighbours in memory.
bool can_be_copied(const AnyBuffer &buffer, bool by_rows) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto rank = static_cast<std::size_t>(buffer.rank());
  if (rank < 2 || buffer.strides()[by_rows ? rank - 1 : rank - 2] != 1) return false;
  // In numbers that do not wrap, with what lies between rows at most, whichever dimension they are along.
  constexpr double longest_gap = 128;
  double elements = 1;
  for (const std::int64_t extent : extents_of(buffer)) {
    if (extent < 1) return false;
    elements *= static_cast<double>(extent) + longest_gap;
  }
  return elements <= static_cast<double>(most);
}

// Whose copies make products faster by more than they take (passes/factor_copies.h).
void set_worth_copying(const KernelDefinition &definition, const Extents &extents, std::span<const Argument> arguments,
                       VariantKey &key) {
  const std::vector<passes::FactorRead> &reads = definition.factor_reads(key.cuda);
  if (reads.empty() || key.debug || extents.count() == 0) return;
  const std::span launch(extents.begin(), static_cast<std::size_t>(extents.rank()));
  const auto elements = [&](std::size_t array) { return static_cast<double>(arguments[array].buffer->count()); };
  std::vector<double> multiplied(arguments.size(), 0);
  std::uint64_t swapped = 0, together = 0;
  double all = 0;
  for (const passes::FactorRead &read : reads) {
    double &own = multiplied[read.array];
    own = std::max(own, passes::multiplications(read, extents_of(*arguments[read.array].buffer), launch));
    all = std::max(all, own * elements(read.array));
    if (read.swapped) swapped |= bit(read.array);
    if (read.terms_together) together = ~std::uint64_t{0};
  }
  // In an adjoint what the product wrote is a factor, and each factor meets the other's gradient with its terms along
  // another dimension.
  if (key.direction == Direction::adjoint) {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (definition.written() & key.active & bit(i)) multiplied[i] = all / std::max(elements(i), 1.0);
    swapped = together;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (multiplied[i] == 0) continue;
    const bool by_rows = (key.unit_stride & bit(i)) != 0;
    if (!can_be_copied(*arguments[i].buffer, by_rows) || !can_be_copied(arguments[i].elements(), by_rows)) continue;
    if (!(key.tensor_maps & bit(i)) && passes::pays(elements(i), multiplied[i], false)) key.worth_padding |= bit(i);
    if ((swapped & bit(i)) && by_rows && passes::pays(elements(i), multiplied[i], true)) key.worth_swapping |= bit(i);
  }
}

std::uint64_t overlapping(std::span<const Argument> arguments) {
  std::uint64_t overlapping = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (arguments[i].buffer && arguments[j].buffer && arguments[i].buffer->overlaps(*arguments[j].buffer))
        overlapping |= bit(i) | bit(j);
  return overlapping;
}

// The arrays that share no memory with another that is written. Each launch asks, so each pair is looked at once, and
// none of two arrays that are only read.
std::uint64_t unaliased(const KernelDefinition &definition, std::span<const Argument> arguments,
                        const VariantKey &key) {
  if (key.may_alias) return 0;
  std::uint64_t arrays = 0, aliased = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].buffer) arrays |= bit(i);
  const std::uint64_t written = key.direction != Direction::forward ? arrays : definition.written() & arrays;
  const auto for_each = [](std::uint64_t bits, auto &&see) {
    for (; bits != 0; bits &= bits - 1) see(static_cast<std::size_t>(std::countr_zero(bits)));
  };
  for_each(written, [&](std::size_t j) {
    const std::uint64_t seen = written & (bit(j) - 1);
    for_each(arrays & ~bit(j) & ~seen, [&](std::size_t i) {
      if (!arguments[j].buffer->overlaps(*arguments[i].buffer)) return;
      aliased |= bit(i);
      if (written & bit(i)) aliased |= bit(j);
    });
  });
  return arrays & ~aliased;
}

void set_for_cuda(const KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                  std::span<const Argument> arguments, Device device, VariantKey &key) {
  constexpr int most_neighbours = 8;
  const CudaMemory *memory = cuda_memory_of(arguments);
  const driver::LaunchLimits &limits =
      memory ? memory->device().context().limits() : CudaDevice::of(device.index())->context().limits();
  key.cuda = limits.compute_capability;
  key.workspace_bytes = options.workspace_bytes;
  // An older device refuses the launch; it must not be asked to compile for it first.
  key.programmatic = options.programmatic && limits.compute_capability >= 90;
  if (extents.count() != 0) {
    const std::span counts(extents.begin(), static_cast<std::size_t>(extents.rank()));
    key.grid_stride = !codegen::fits_exact_launch(counts, {.tile_threads = definition.forward().block_threads});
    key.grid_axes = definition.forward().scheduled && codegen::fits_grid_axes(counts);
    key.outgrows_caches = passes::outgrows_caches(counts);
    key.neighbours = passes::instances_per_thread(most_neighbours, counts, limits.multiprocessors);
  }
  const bool has_groups = ir::is_tile_kernel(definition.forward()) && !definition.forward().scheduled &&
                          !passes::gpu_architecture(key.cuda).of_groups.empty();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].buffer) continue;
    if (has_aligned_rows(*arguments[i].buffer) && has_aligned_rows(arguments[i].elements())) key.aligned |= bit(i);
    if (has_groups && has_tensor_map(*arguments[i].buffer) && has_tensor_map(arguments[i].elements()))
      key.tensor_maps |= bit(i);
  }
  if (!has_groups) return;
  set_worth_copying(definition, extents, arguments, key);
  // Clusters take some 3 µs longer to start, which one round of blocks does not win back.
  const bool rounds = extents.count() >= std::int64_t{2} * limits.multiprocessors;
  if (rounds && !options.cluster && limits.clusters && !key.debug && !definition.factor_reads(key.cuda).empty())
    for (int d = std::max(extents.rank() - 2, 0); d < extents.rank(); ++d)
      if (extents[d] % 2 == 0) key.paired |= bit(static_cast<std::size_t>(d));
}

VariantKey variant_key(const KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                       std::span<const Argument> arguments, bool in_graph) {
  VariantKey key;
  key.direction = options.direction;
  key.debug = options.debug ? *options.debug : debug_mode();
  if (options.direction == Direction::adjoint) key.memory_limit = options.memory_limit;
  bool adjoint = options.direction == Direction::adjoint, forward = options.direction == Direction::forward;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer *buffer = arguments[i].buffer;
    if (!buffer) continue;
    const AnyBuffer &elements = arguments[i].elements();
    constexpr std::int64_t narrow = std::numeric_limits<std::int32_t>::max();
    if (buffer->strides().back() == 1 && elements.strides().back() == 1) key.unit_stride |= bit(i);
    if (span_of(*buffer) > narrow || span_of(elements) > narrow ||
        *std::ranges::max_element(buffer->extents()) > narrow)
      key.wide_index |= bit(i);
    if (forward || !buffer->tracks_gradient()) continue;
    if (adjoint && copy_elements(extents_of(*buffer), passes::cast_bytes) > narrow) key.wide_index |= bit(i);
    if (adjoint && buffer->is_broadcast()) key.may_alias = true;
    for (std::size_t j = 0; j < i; ++j)
      if (adjoint && (key.active & bit(j)) && buffer->overlaps(*arguments[j].buffer)) key.may_alias = true;
    key.active |= bit(i);
  }
  key.deterministic = options.deterministic;
  const Device device = device_of(arguments, options);
  if (device.kind() == DeviceKind::cuda) set_for_cuda(definition, extents, options, arguments, device, key);
  // On the CPU kernels of schedules alone ask for it, to load once what stays the same.
  if (key.cuda != 0 || (definition.forward().scheduled && !key.debug))
    key.unaliased = unaliased(definition, arguments, key);
  key.races = key.debug && !(in_graph && key.cuda != 0) && !definition.forward().scheduled;
  if (key.races) key.overlapping = overlapping(arguments);
  if (forward && key.cuda == 0) key.summed = summed_apart(definition, extents, arguments, definition.summed(), false);
  return key;
}

VariantKey with_adjoint(VariantKey key, const KernelDefinition &definition, const KernelDefinition::Derived &derived,
                        const Extents &extents, std::span<const Argument> arguments) {
  for (const bool wide : {true, false}) {
    key.wide_windows = wide;
    key.gather = is_gathered(definition, derived, key, extents, arguments);
    if (key.gather) break;
  }
  if (key.cuda == 0 && !key.may_alias) {
    const std::uint64_t summed = key.gather ? derived.gathered(key.gathering()).summed : derived.summed;
    key.summed = summed_apart(definition, extents, arguments, summed, true);
  }
  return key;
}

namespace {

void fill_own(const Variant &variant, std::size_t index, const Argument &argument, std::byte *block) {
  std::byte *place = block + variant.layout.offsets[index];
  if (argument.buffer)
    fill_array(argument.elements(), argument.elements().data(), place);
  else
    std::memcpy(place, &argument.scalar, sizeof argument.scalar);
}

// The gradient parameters come after the kernel's own.
void fill_gradient(const Variant &variant, std::size_t gradient, const Argument &argument, std::byte *block) {
  const std::size_t own = variant.parameters.size() - variant.gradient_of.size();
  fill_array(*argument.buffer, argument.buffer->gradient_data(), block + variant.layout.offsets[own + gradient]);
}

}  // namespace

void fill_argument(const Variant &variant, std::size_t index, const Argument &argument, std::byte *block) {
  fill_own(variant, index, argument, block);
  for (std::size_t g = 0; g < variant.gradient_of.size(); ++g)
    if (variant.gradient_of[g] == index) fill_gradient(variant, g, argument, block);
}

void fill_arguments(const Variant &variant, std::span<const Argument> arguments, std::byte *block) {
  for (std::size_t i = 0; i < arguments.size(); ++i) fill_own(variant, i, arguments[i], block);
  for (std::size_t g = 0; g < variant.gradient_of.size(); ++g)
    fill_gradient(variant, g, arguments[variant.gradient_of[g]], block);
}

Device device_of(std::span<const Argument> arguments, const LaunchOptions &options) {
  for (const Argument &argument : arguments)
    if (argument.buffer) return argument.buffer->storage()->device();
  return options.stream ? options.stream->device() : Device::cpu();
}

Stream stream_of(std::span<const Argument> arguments, const LaunchOptions &options) {
  if (options.stream) return *options.stream;
  const Device device = device_of(arguments, options);
  const CudaMemory *memory = cuda_memory_of(arguments);
  return memory ? Stream(device, memory->device().standard_stream()) : Stream::standard(device);
}

}  // namespace samite::jit
