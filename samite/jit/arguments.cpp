#include "samite/jit/arguments.h"

#include "samite/autodiff/refusal.h"
#include "samite/base/error.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/shared_elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace samite::jit {
namespace {

std::uint64_t bit(std::size_t index) { return std::uint64_t{1} << index; }

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

inline void fill_array(const AnyBuffer &buffer, const void *data, std::byte *place) {
  using Layout = codegen::ArgumentLayout;
  const int rank = buffer.rank();
  const std::int64_t *const extents = buffer.extents().begin(), *const strides = buffer.strides().data();
  std::memcpy(place + Layout::data_offset(), static_cast<const void *>(&data), sizeof data);
  // A loop, since a copy of a run-time number of words is a call.
  for (int d = 0; d < rank; ++d) {
    std::memcpy(place + Layout::extent_offset(d), extents + d, sizeof(std::int64_t));
    std::memcpy(place + Layout::stride_offset(rank, d), strides + d, sizeof(std::int64_t));
  }
}

// Whether a parameter accepts this buffer. Inline, since every launch checks each array; `misfit` has the error text.
inline bool fits(const Callee &callee, std::size_t index, const AnyBuffer &buffer) {
  const ir::Parameter &parameter = callee.parameters[index];
  if (!buffer.valid() || !parameter.is_array() || buffer.type() != parameter.type || buffer.rank() != parameter.rank)
    return false;
  if (parameter.last_extent && buffer.extents()[buffer.rank() - 1] != parameter.last_extent) return false;
  return !(callee.written & bit(index)) || (!buffer.is_broadcast() && !buffer.storage()->is_read_only());
}

// The error of a buffer that does not fit.
std::string misfit(const Callee &callee, const ir::Parameter &parameter, const AnyBuffer &buffer) {
  if (!buffer.valid()) return "an empty buffer is given: construct it with a device and extents";
  if (!parameter.is_array() || buffer.type() != parameter.type || buffer.rank() != parameter.rank ||
      (parameter.last_extent && buffer.extents()[buffer.rank() - 1] != parameter.last_extent))
    return buffer.to_string() + " is given";
  const std::string writes = std::string(", is given, and the ") + callee.kind + " writes to it: ";
  if (buffer.is_broadcast())
    return buffer.to_string() + ", a broadcast view whose indices share elements" + writes + "clone() it first";
  return buffer.to_string() + ", borrowed memory that is read-only" + writes +
         "borrow it for writing, or give a clone()";
}

[[noreturn]] void refuse_buffer(const Callee &callee, std::size_t index, const AnyBuffer &buffer) {
  const ir::Parameter &parameter = callee.parameters[index];
  fail(callee, describe(callee.parameters, index) + " expects " + expected(parameter) + "; " +
                   misfit(callee, parameter, buffer));
}

[[noreturn]] void refuse_devices(const Callee &callee, std::size_t index, const AnyBuffer &buffer,
                                 std::size_t first_index, const AnyBuffer &first) {
  fail(callee, describe(callee.parameters, index) + " is on " + buffer.device().to_string() + ", but " +
                   describe(callee.parameters, first_index) + " is on " + first.device().to_string() +
                   "; a launch runs on one device, so copy one of them");
}

// Refuses dimensions that are longer than the kernel's 32-bit indices count.
void check_wide_extents(const KernelDefinition &definition, std::size_t index, const AnyBuffer &buffer) {
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

inline bool is_wide(const AnyBuffer &buffer) {
  for (const std::int64_t extent : buffer.extents())
    if (extent > std::numeric_limits<std::int32_t>::max()) return true;
  return false;
}

}  // namespace

std::string describe(const std::vector<ir::Parameter> &parameters, std::size_t index) {
  return "argument " + std::to_string(index) + " ('" + parameters[index].name + "')";
}

// The reason for a kernel's launch rank.
std::string why_launch_rank(const ir::Kernel &kernel) {
  const std::string index = ir::is_tile_kernel(kernel) ? "block_index" : "thread_index";
  if (const SourceLocation where = kernel.launch_rank_where; where.known())
    return index + "<" + std::to_string(kernel.launch_rank) + ">() in the kernel says (" + where.to_string() + ")";
  return "that of a kernel that asks for no " + index + "()";
}

// The limit leaves room for neighbours of an Int index: `i + c` does not wrap in any instance, for a constant up to
// 2^16.
constexpr std::int64_t most_int_instances = (std::int64_t{1} << 31) - (std::int64_t{1} << 16);

void check_extents(const KernelDefinition &definition, const Extents &extents) {
  if (extents.rank() != definition.launch_rank())
    fail(definition, "a launch of rank " + std::to_string(definition.launch_rank()) + " is expected, as " +
                         why_launch_rank(definition.structured()) + "; " + extents.to_string() + " is given");
  for (int d = 0; d < extents.rank(); ++d)
    if ((definition.narrow_dimensions() & bit(static_cast<std::size_t>(d))) && extents[d] > most_int_instances)
      fail(definition, "extent " + std::to_string(extents[d]) + " of launch dimension " + std::to_string(d) +
                           " is beyond " + std::to_string(most_int_instances) +
                           ", the most that an Int index counts; split the launch");
}

void check_buffer(const Callee &callee, std::size_t index, const AnyBuffer &buffer) {
  if (!fits(callee, index, buffer)) refuse_buffer(callee, index, buffer);
}

void check_devices(const Callee &callee, std::span<const Argument> arguments) {
  const AnyBuffer *first = nullptr;
  std::size_t first_index = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer *buffer = arguments[i].buffer;
    if (!buffer) continue;
    if (!first) first = buffer, first_index = i;
    if (!(buffer->storage()->device() == first->storage()->device()))
      refuse_devices(callee, i, *buffer, first_index, *first);
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

void check_apart(const Callee &callee, std::span<const Argument> arguments, std::uint64_t elsewhere) {
  const auto are_one_view = [](const AnyBuffer &a, const AnyBuffer &b) {
    return a.data() == b.data() && a.type() == b.type() && a.extents() == b.extents() &&
           std::ranges::equal(a.strides(), b.strides());
  };
  for (std::uint64_t bits = callee.written; bits != 0; bits &= bits - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(bits));
    for (std::size_t j = 0; j < arguments.size(); ++j) {
      if (j == i || !arguments[j].buffer || !share_elements(*arguments[i].buffer, *arguments[j].buffer)) continue;
      const bool read_where_written = ((elsewhere >> i | elsewhere >> j) & 1) == 0;
      if (read_where_written && are_one_view(*arguments[i].buffer, *arguments[j].buffer)) continue;
      fail(callee, describe(callee.parameters, i) + " is written, and shares memory with " +
                       describe(callee.parameters, j) +
                       (read_where_written ? ", which is read or written at other places of it"
                                           : ", which is read or written at any time") +
                       ": give the " + callee.kind + " separate buffers, such as a clone()");
    }
  }
}

void check_arguments(const KernelDefinition &definition, std::span<const Argument> arguments) {
  const Callee callee(definition);
  const Storage *first = nullptr;
  bool on_one_device = true;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!callee.parameters[i].is_array()) continue;
    const AnyBuffer &buffer = *arguments[i].buffer;
    if (!fits(callee, i, buffer)) refuse_buffer(callee, i, buffer);
    if (is_wide(buffer)) check_wide_extents(definition, i, buffer);
    const Storage *storage = buffer.storage().get();
    if (!first) first = storage;
    on_one_device &= storage->device() == first->device();
  }
  if (!on_one_device) check_devices(callee, arguments);
  if (definition.distinct() != 0) check_distinct(callee, arguments);
  if (definition.read_elsewhere()) check_apart(callee, arguments, *definition.read_elsewhere());
}

const KernelDefinition::Derived &checked_adjoint(KernelDefinition &definition, const VariantKey &key,
                                                 std::span<const Argument> arguments) {
  const auto &parameters = definition.parameters();
  if (key.derivative.active == 0)
    fail(definition,
         "an adjoint launch needs buffers that track gradients, and none of the arguments does; construct "
         "inputs and outputs with Gradient::tracked");
  const KernelDefinition::Derived &derived =
      definition.derived(key.derivative.active, key.derivative.may_alias, key.derivative.memory_limit);
  const autodiff::Adjoint &adjoint = derived.adjoint;
  if (!(key.derivative.active & definition.written()))
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
      // A copy from before the launch holds only values read before the write.
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
  if (key.derivative.active == 0)
    fail(definition,
         "a tangent launch needs buffers that track gradients, whose memory holds the tangents, and none of the "
         "arguments does; construct inputs and outputs with Gradient::tracked");
}

namespace {

inline void fill_own(const Variant &variant, std::size_t index, const Argument &argument, std::byte *block) {
  std::byte *place = block + variant.layout.offsets[index];
  if (argument.buffer)
    fill_array(argument.elements(), argument.elements().data(), place);
  else
    std::memcpy(place, &argument.scalar, sizeof argument.scalar);
}

// The gradient parameters come after the kernel's own.
inline void fill_gradient(const Variant &variant, std::size_t gradient, const Argument &argument, std::byte *block) {
  const std::size_t own = variant.parameters.size() - variant.derivative.gradient_of.size();
  fill_array(*argument.buffer, argument.buffer->gradient_data(), block + variant.layout.offsets[own + gradient]);
}

}  // namespace

void fill_argument(const Variant &variant, std::size_t index, const Argument &argument, std::byte *block) {
  fill_own(variant, index, argument, block);
  for (std::size_t g = 0; g < variant.derivative.gradient_of.size(); ++g)
    if (variant.derivative.gradient_of[g] == index) fill_gradient(variant, g, argument, block);
}

void fill_arguments(const Variant &variant, std::span<const Argument> arguments, std::byte *block) {
  for (std::size_t i = 0; i < arguments.size(); ++i) fill_own(variant, i, arguments[i], block);
  for (std::size_t g = 0; g < variant.derivative.gradient_of.size(); ++g)
    fill_gradient(variant, g, arguments[variant.derivative.gradient_of[g]], block);
}

Device device_of(std::span<const Argument> arguments, const LaunchOptions &options) {
  for (const Argument &argument : arguments)
    if (argument.buffer) return argument.buffer->storage()->device();
  return options.stream ? options.stream->device() : Device::cpu();
}

const CudaMemory *cuda_memory_of(std::span<const Argument> arguments) {
  for (const Argument &argument : arguments)
    if (argument.buffer) return argument.buffer->storage()->cuda();
  return nullptr;
}

Stream stream_of(std::span<const Argument> arguments, const LaunchOptions &options) {
  if (options.stream) return *options.stream;
  const Device device = device_of(arguments, options);
  const CudaMemory *memory = cuda_memory_of(arguments);
  return memory ? Stream(device, memory->device().standard_stream()) : Stream::standard(device);
}

}  // namespace samite::jit
