#include "samite/driver/launch.h"

#include "samite/driver/launch_check.h"

#include <fmt/format.h>

namespace samite::driver {
namespace {

constexpr unsigned portable_cluster_size = 8;

// Writes the attributes that `shape` requests, and returns their number.
unsigned write_attributes(const LaunchShape &shape, std::array<LaunchAttribute, 4> &attributes) {
  unsigned count = 0;
  const auto next = [&](LaunchAttributeId id) -> LaunchAttributeValue & {
    attributes[count].id = id;
    return attributes[count++].value;
  };
  if (shape.cluster) {
    auto &value = next(LaunchAttributeId::cluster_dimension).cluster_dimension;
    value = {(*shape.cluster)[0], (*shape.cluster)[1], (*shape.cluster)[2]};
  }
  if (shape.programmatic)
    next(LaunchAttributeId::programmatic_stream_serialization).programmatic_stream_serialization_allowed = 1;
  if (shape.cooperative) next(LaunchAttributeId::cooperative).cooperative = 1;
  if (shape.priority) next(LaunchAttributeId::priority).priority = *shape.priority;
  return count;
}

// The number of clusters of this kernel that the device runs concurrently. It must have room for one.
int count_active_clusters(const Context &context, const Kernel &kernel, const LaunchConfig &config,
                          const LaunchShape &shape, const Origin &origin) {
  int clusters = 0;
  const Result code = context.try_call<Entry::OccupancyMaxActiveClusters>(&clusters, kernel.launchable(), &config);
  if (code != Result::success && code != Result::invalid_cluster_size)
    context.fail(Entry::OccupancyMaxActiveClusters, code, {&clusters, kernel.launchable(), &config}, origin);
  if (code == Result::success && clusters > 0) return clusters;
  int most = 0;
  context.call_for<Entry::OccupancyMaxPotentialClusterSize>(origin, &most, kernel.launchable(), &config);
  const auto &[x, y, z] = *shape.cluster;
  throw NoRoomForCluster(
      fmt::format("{}a cluster of {}x{}x{} has {} blocks, and {} has room for {} of {} threads and {} bytes "
                  "of shared memory at a time: use a smaller cluster or smaller blocks",
                  origin.prefix(), x, y, z, x * y * z, context.to_string(), most,
                  shape.block[0] * shape.block[1] * shape.block[2], shape.shared_bytes),
      x * y * z);
}

}  // namespace

CheckedLaunch::CheckedLaunch(const Stream &stream, const Kernel &kernel, const LaunchShape &shape, SourceLocation where)
    : table_(&stream.context().driver().table()),
      captures_(&stream.context().captures()),
      record_{kernel.name(), where, shape.grid, shape.block} {
  const Context &context = stream.context();
  const Origin origin{kernel.name(), where};
  if (kernel.context() != context)
    throw UserError(
        fmt::format("{}the kernel was compiled for {} and launched on {}: launch it on a stream of its own "
                    "device",
                    origin.prefix(), kernel.context().to_string(), stream.to_string()));
  check_launch(shape, context, origin);
  if (shape.shared_bytes != 0) kernel.allow_shared_memory(shape.shared_bytes);
  if (shape.cluster && (*shape.cluster)[0] * (*shape.cluster)[1] * (*shape.cluster)[2] > portable_cluster_size)
    kernel.allow_large_clusters();

  config_ = {.grid_x = shape.grid[0],
             .grid_y = shape.grid[1],
             .grid_z = shape.grid[2],
             .block_x = shape.block[0],
             .block_y = shape.block[1],
             .block_z = shape.block[2],
             .shared_bytes = shape.shared_bytes,
             .stream = stream.raw(),
             .attributes = nullptr,
             .attribute_count = write_attributes(shape, attributes_)};
  if (shape.cluster) {
    LaunchConfig config = config_;
    config.attributes = attributes_.data();
    active_clusters_ = count_active_clusters(context, kernel, config, shape, origin);
    cluster_blocks_ = (*shape.cluster)[0] * (*shape.cluster)[1] * (*shape.cluster)[2];
  }
}

KernelNodeParameters PreparedLaunch::node_parameters(void **parameters) const {
  return {.function = nullptr,
          .grid_x = config().grid_x,
          .grid_y = config().grid_y,
          .grid_z = config().grid_z,
          .block_x = config().block_x,
          .block_y = config().block_y,
          .block_z = config().block_z,
          .shared_bytes = config().shared_bytes,
          .parameters = parameters,
          .extra = nullptr,
          .kernel = kernel_.raw(),
          .context = stream_.context().raw()};
}

Result CheckedLaunch::run_in_context(const Stream &stream, const Kernel &kernel, const LaunchConfig &config,
                                     void **parameters) const {
  return stream.context().try_call<Entry::LaunchKernelEx>(&config, kernel.launchable(), parameters,
                                                          static_cast<void **>(nullptr));
}

bool CheckedLaunch::keep_if_captured(const Stream &stream, const Kernel &kernel) const {
  const std::uint64_t id = stream.context().capture_of(stream.raw());
  if (id == 0) return false;
  captures_->keep(id, {kernel.name(), kernel.owner()});
  return true;
}

void CheckedLaunch::fail(const Stream &stream, const Kernel &kernel, Result code, const LaunchConfig &config,
                         void **parameters) const {
  stream.context().fail(Entry::LaunchKernelEx, code, {&config, kernel.launchable(), parameters, nullptr},
                        {record_.kernel, record_.where});
}

}  // namespace samite::driver
