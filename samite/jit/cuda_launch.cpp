#include "samite/jit/cuda_launch.h"

#include "samite/base/error.h"
#include "samite/codegen/cuda_launch_shape.h"
#include "samite/driver/capture.h"
#include "samite/driver/copy.h"
#include "samite/jit/launch_copies.h"
#include "samite/jit/launch_tensor_maps.h"
#include "samite/jit/launch_trace.h"
#include "samite/jit/race_shadows.h"
#include "samite/runtime/cuda_device.h"
#include "samite/runtime/device_trace.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>

namespace samite::jit {
namespace {

// Blocks for each multiprocessor if threads have many instances each: enough to hide memory latency.
constexpr int blocks_of_multiprocessor = 8;
// Fewer if each thread needs a workspace.
constexpr int blocks_with_workspace = 2;

std::int64_t most_blocks(const Variant &variant, const driver::Context &context) {
  if (variant.gpu.form.stays) {
    const int multiprocessors = context.limits().multiprocessors;
    return multiprocessors - multiprocessors % std::max(variant.gpu.form.cluster_blocks, 1);
  }
  const int each = variant.execution.uses_workspace ? blocks_with_workspace : blocks_of_multiprocessor;
  return std::int64_t{each} * context.limits().multiprocessors;
}

driver::LaunchShape launch_shape(const Variant &variant, std::int64_t shared_bytes, const Extents &extents,
                                 const LaunchOptions &options, const driver::Context &context) {
  driver::LaunchShape shape;
  shape.shared_bytes = static_cast<unsigned>(shared_bytes);
  shape.programmatic = options.cuda.programmatic;
  shape.priority = options.cuda.priority;
  if (variant.execution.one_thread) {
    if (variant.gpu.form.tile_threads != 0) shape.block[0] = static_cast<unsigned>(variant.gpu.form.tile_threads);
    return shape;
  }
  const std::span counts(extents.begin(), static_cast<std::size_t>(extents.rank()));
  const codegen::CudaLaunchShape chosen = codegen::cuda_launch_shape(
      counts, variant.gpu.form, most_blocks(variant, context), context.limits().multiprocessors);
  shape.grid = chosen.grid;
  shape.block = chosen.block;
  if (const int cluster = std::max(variant.gpu.form.cluster_blocks, variant.gpu.form.step_parts); cluster != 0)
    shape.cluster = {static_cast<unsigned>(cluster), 1, 1};
  if (options.cuda.cluster) {
    // Blocks beyond the end have no instances, so the grid may be rounded up.
    const auto blocks = static_cast<unsigned>(*options.cuda.cluster);
    shape.cluster = {blocks, 1, 1};
    if (blocks >= 1 && blocks <= 16) shape.grid[0] = (shape.grid[0] + blocks - 1) / blocks * blocks;
  }
  return shape;
}

[[noreturn]] void refuse_tile_memory(const KernelDefinition &definition, passes::TileMemoryPlan plan,
                                     std::int64_t most) {
  const bool scheduled = definition.forward().scheduled;
  // The plan's tiles are Funcs, whose lines are their declarations.
  if (scheduled) std::ranges::stable_sort(plan.tiles, std::greater<>(), &passes::PlacedTile::bytes);
  throw UserError(definition.where(),
                  "kernel '" + definition.name() +
                      "': " + (scheduled ? "what its blocks keep of Funcs takes " : "its tiles take ") +
                      std::to_string(plan.bytes) + " bytes of a block's shared memory, and the device has " +
                      std::to_string(most) + "; " + plan.too_large(most, scheduled ? "Func" : "tile") +
                      (scheduled ? ". Split by smaller factors, or store Funcs elsewhere. The largest first" : "") +
                      ":\n" + plan.to_string());
}

// The bytes of a block's tiles in this launch, whose arguments may determine some sizes. UserError if the device has
// less.
std::int64_t tile_bytes(const KernelDefinition &definition, const Variant &variant, const std::byte *arguments,
                        const driver::Context &context) {
  const std::int64_t most = context.limits().shared_bytes_opt_in;
  const auto bytes_of = [&](const passes::TileMemoryPlan &plan) {
    if (plan.bytes > most) refuse_tile_memory(definition, plan, most);
    return plan.bytes;
  };
  if (!variant.gpu.tile_memory.sized_at_launch()) return bytes_of(variant.gpu.tile_memory);
  return bytes_of(variant.gpu.tile_memory.in_launch([&](std::uint32_t parameter) {
    std::int32_t count;  // like all integers of a schedule's host
    std::memcpy(&count, arguments + variant.layout.offsets[parameter], sizeof count);
    return std::int64_t{count};
  }));
}

// Split sums have a leading dimension for the parts.
Extents extents_of_first(const Variant &variant, const Extents &extents) {
  if (variant.arrays.sums.empty()) return extents;
  std::vector<std::int64_t> in_parts{variant.key.shape.sum_parts};
  in_parts.insert(in_parts.end(), extents.begin(), extents.begin() + extents.rank());
  return Extents(in_parts);
}

codegen::CudaBox box_of(const Extents &extents) {
  codegen::CudaBox box;
  for (int d = 0; d < extents.rank(); ++d) box.end[d] = extents[d];
  return box;
}

}  // namespace

CudaLaunch::CudaLaunch(const KernelDefinition &definition, std::shared_ptr<const Variant> variant,
                       const Extents &extents, const LaunchOptions &options, const Stream &stream, std::byte *arguments)
    : box_(box_of(extents)),
      variant_(std::move(variant)),
      extents_(extents),
      kernel_(definition.name()),
      stream_(stream) {
  if (variant_->gpu.code && extents.count() != 0) {
    const driver::Stream &queue = stream.cuda()->stream();
    const driver::Context &context = queue.context();
    driver::LaunchShape shape =
        launch_shape(*variant_, tile_bytes(definition, *variant_, arguments, context), extents, options, context);
    if (variant_->execution.uses_workspace) {
      const std::int64_t threads = std::int64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2] * shape.block[0] *
                                   shape.block[1] * shape.block[2];
      workspace_.bytes_per_thread = variant_->key.workspace_bytes;
      workspace_memory_ = allocate(static_cast<std::size_t>(threads * workspace_.bytes_per_thread), definition.where());
      workspace_.base = std::bit_cast<std::byte *>(workspace_memory_->address());
    }
    if (variant_->gpu.uses_channel)
      messages_ = std::make_shared<CudaMessages>(variant_, definition.name(), extents, context);
    prepared_.emplace(queue, variant_->gpu.code->on(context), shape, definition.where());
    // Clusters that wait for room would double the time. If a part of the device has an odd number of multiprocessors,
    // fewer clusters than pairs fit.
    const auto resident = static_cast<unsigned>(prepared_->active_clusters()) * prepared_->cluster_blocks();
    if (variant_->gpu.form.stays && resident != 0 && resident < shape.grid[0]) {
      shape.grid[0] = resident;
      prepared_.emplace(queue, variant_->gpu.code->on(context), shape, definition.where());
    }
  }
  if (prepared_ && variant_->arrays.makes_copies) {
    copies_memory_ = allocate(place_copies(*variant_, extents, arguments, 0), definition.where());
    place_copies(*variant_, extents, arguments, copies_memory_->address());
    for (const ArrayCopy &copy : variant_->arrays.factor_copies)
      factor_copies_.emplace_back(copy, variant_->parameters[copy.array], variant_->layout, arguments,
                                  options.cuda.priority, prepared_->stream(), definition.where());
  }
  if (variant_->first)
    first_ = std::make_shared<const CudaLaunch>(definition, variant_->first, extents_of_first(*variant_, extents),
                                                options, stream, arguments);
  if (prepared_ && !variant_->gpu.tensor_maps.empty())
    maps_ =
        launch_tensor_maps(*variant_, arguments, CudaDevice::of(prepared_->stream().context().device())->tensor_maps(),
                           definition.where());
  if (variant_->afterwards)
    afterwards_ =
        std::make_shared<const CudaLaunch>(definition, variant_->afterwards, extents, options, stream, arguments);
  is_plain_ = prepared_ && kernel_count() == 1 && !messages_ && !variant_->races.any() && !debug() &&
              !(options.check_finite && options.direction == Direction::adjoint);
}

// Freed in the order of the stream. A stream-ordered allocation during a capture, of our graph or another's, would
// belong to the graph; memory of the graph's launches must not.
driver::DeviceMemory CudaLaunch::allocate(std::size_t bytes, SourceLocation where) const {
  const driver::Stream &queue = stream_.cuda()->stream();
  const auto in_order_of = [&](const driver::Stream &stream) {
    return driver::DeviceMemory::allocate(stream, CudaDevice::of(queue.context().device())->pool(), bytes,
                                          {kernel_.c_str(), where});
  };
  if (!stream_.cuda()->capturing()) return in_order_of(queue);
  const driver::AllowedInCaptures allowed(queue.context());
  const driver::Stream apart = driver::Stream::create(queue.context());
  driver::DeviceMemory memory = in_order_of(apart);
  apart.synchronize();
  memory.free_in(queue);
  return memory;
}

std::vector<unsigned> CudaLaunch::clusters() const {
  std::vector<unsigned> clusters(factor_copies_.size(), 0);
  const auto add = [&](const CudaLaunch &other) { std::ranges::copy(other.clusters(), std::back_inserter(clusters)); };
  if (first_) add(*first_);
  if (prepared_) clusters.push_back(prepared_->cluster_blocks());
  if (afterwards_) add(*afterwards_);
  return clusters;
}

int CudaLaunch::kernel_count() const {
  return static_cast<int>(factor_copies_.size()) + (first_ ? first_->kernel_count() : 0) + (prepared_ ? 1 : 0) +
         (afterwards_ ? afterwards_->kernel_count() : 0);
}

KernelParameters CudaLaunch::parameters(const std::byte *arguments, const codegen::CudaChannel *&channel) const {
  channel = messages_ ? messages_->channel() : nullptr;
  return kernel_parameters(arguments, box_, channel, workspace_, maps_);
}

void CudaLaunch::run_into(const std::byte *arguments, std::vector<driver::GraphNode> *nodes) const {
  if (!is_tracing()) return put_into_stream(arguments, nodes);
  const std::string name = traced_name(*variant_, kernel_, "cuda:" + std::to_string(stream_.device().index()));
  const TraceSpan on_host("launch", name);
  const DeviceSpan on_device(*stream_.cuda(), "kernel", name, traced_bytes(*variant_, arguments));
  put_into_stream(arguments, nodes);
}

void CudaLaunch::put_into_stream(const std::byte *arguments, std::vector<driver::GraphNode> *nodes) const {
  const auto note = [&] {
    if (!nodes) return;
    if (auto node = driver::last_captured(stream_.cuda()->stream())) nodes->push_back(*node);
  };
  for (const ArrayCopyLaunch &copy : factor_copies_) {
    void *parameter = copy.parameter();
    copy.prepared().run(&parameter);
    note();
  }
  if (first_) first_->put_into_stream(arguments, nodes);
  if (prepared_) {
    std::optional<RaceShadows> shadows;
    std::optional<driver::DeviceMemory> words;
    if (variant_->races.any()) {
      internal_check(!nodes, "a launch in a graph looks for races");
      const driver::Stream &queue = stream_.cuda()->stream();
      shadows.emplace(*variant_, arguments, extents_);
      words = allocate(shadows->bytes(), prepared_->where());
      if (shadows->bytes() != 0) driver::fill_bytes(queue, words->address(), 0, shadows->bytes());
      arguments = shadows->block(words->address());
    }
    const codegen::CudaChannel *channel;
    KernelParameters addresses = parameters(arguments, channel);
    if (messages_) stream_.cuda()->add(messages_);
    prepared_->run(addresses.data());
    note();
  }
  if (afterwards_) afterwards_->put_into_stream(arguments, nodes);
}

void CudaLaunch::hear() const {
  if (debug() && speaks() && !stream_.cuda()->capturing()) stream_.synchronize();
}

template <class Nodes>
void CudaLaunch::put_into(Nodes &graph, std::span<const driver::GraphNode> nodes, const std::byte *arguments) const {
  internal_check(nodes.size() == static_cast<std::size_t>(kernel_count()), "a launch has another number of kernels");
  for (const ArrayCopyLaunch &copy : factor_copies_) {
    void *parameter = copy.parameter();
    graph.set(nodes[0], copy.prepared(), &parameter);
    nodes = nodes.subspan(1);
  }
  if (first_) {
    const auto count = static_cast<std::size_t>(first_->kernel_count());
    first_->put_into(graph, nodes.first(count), arguments);
    nodes = nodes.subspan(count);
  }
  if (prepared_) {
    const codegen::CudaChannel *channel;
    KernelParameters addresses = parameters(arguments, channel);
    graph.set(nodes[0], *prepared_, addresses.data());
    nodes = nodes.subspan(1);
  }
  if (afterwards_) afterwards_->put_into(graph, nodes, arguments);
}

template void CudaLaunch::put_into(driver::Graph &, std::span<const driver::GraphNode>, const std::byte *) const;
template void CudaLaunch::put_into(driver::GraphExecutable &, std::span<const driver::GraphNode>,
                                   const std::byte *) const;

void CudaLaunch::put_nothing_in(driver::Graph &graph, std::span<const driver::GraphNode> nodes) const {
  const auto put_nothing = [&](driver::LaunchShape shape, SourceLocation where) {
    const auto device = CudaDevice::of(stream_.device().index());
    graph.set(nodes[0], driver::PreparedLaunch(stream_.cuda()->stream(), device->nothing_kernel(), shape, where),
              nullptr);
    nodes = nodes.subspan(1);
  };
  for (const ArrayCopyLaunch &copy : factor_copies_) put_nothing({}, copy.prepared().where());
  if (first_) {
    const auto count = static_cast<std::size_t>(first_->kernel_count());
    first_->put_nothing_in(graph, nodes.first(count));
    nodes = nodes.subspan(count);
  }
  if (prepared_) {
    // The node keeps its attributes, and a cluster must divide its grid.
    driver::LaunchShape shape;
    const driver::PreparedLaunch &before = *prepared_;
    for (unsigned i = 0; i < before.config().attribute_count; ++i)
      if (before.attributes()[i].id == driver::LaunchAttributeId::cluster_dimension) {
        const auto &cluster = before.attributes()[i].value.cluster_dimension;
        shape.grid = {cluster.x, cluster.y, cluster.z};
      }
    put_nothing(shape, before.where());
  }
  if (afterwards_) afterwards_->put_nothing_in(graph, nodes);
}

void CudaLaunch::hear_in(CudaStream &stream) const {
  if (first_) first_->hear_in(stream);
  if (messages_) stream.add(messages_);
  if (afterwards_) afterwards_->hear_in(stream);
}

bool is_single_kernel(const Variant &variant) {
  const bool has_memory = variant.execution.uses_workspace || variant.arrays.makes_copies || variant.races.any();
  return !has_memory && !variant.gpu.uses_channel && !variant.gpu.form.stays && !variant.first && !variant.afterwards;
}

void run_single_kernel(const KernelDefinition &definition, const Variant &variant, const Extents &extents,
                       const LaunchOptions &options, const CudaStream &stream, const std::byte *arguments) {
  if (!variant.gpu.code || extents.count() == 0) return;
  const driver::Stream &queue = stream.stream();
  const driver::Context &context = queue.context();
  const driver::LaunchShape shape =
      launch_shape(variant, tile_bytes(definition, variant, arguments, context), extents, options, context);
  const driver::Kernel &kernel = variant.gpu.code->on(context);
  const driver::CheckedLaunch launch(queue, kernel, shape, definition.where());
  std::vector<driver::TensorMapBits> maps;
  if (!variant.gpu.tensor_maps.empty())
    maps = launch_tensor_maps(variant, arguments, CudaDevice::of(context.device())->tensor_maps(), definition.where());
  const codegen::CudaBox box = box_of(extents);
  const codegen::CudaChannel *const channel = nullptr;
  launch.run(queue, kernel, kernel_parameters(arguments, box, channel, {}, maps).data());
}

}  // namespace samite::jit
