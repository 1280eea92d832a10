// Launches of a kernel on a stream.
//
// A prepared launch has been checked against the device and holds the arguments of the driver's call, so that running
// it costs that call and a few stores. It keeps its kernel and stream alive. It is immutable; any thread may run it. A
// single launch is checked in the same way, and keeps nothing alive.
#pragma once

#include "samite/base/error.h"
#include "samite/driver/library.h"
#include "samite/driver/stream.h"

#include <array>
#include <optional>

namespace samite::driver {

struct LaunchShape {
  std::array<unsigned, 3> grid{1, 1, 1};             // blocks; in clusters, a multiple of the cluster
  std::array<unsigned, 3> block{1, 1, 1};            // threads
  unsigned shared_bytes = 0;                         // dynamic shared memory of a block
  std::optional<std::array<unsigned, 3>> cluster{};  // blocks that run together; compute capability 9.0 and newer
  bool programmatic = false;      // may start before the launch ahead of it has ended; the kernel waits for it itself
  bool cooperative = false;       // all blocks run at the same time
  std::optional<int> priority{};  // as for streams; lower is more urgent
};

// The device, or the process's part of it, cannot run this many blocks of a kernel concurrently.
class NoRoomForCluster : public UserError {
 public:
  NoRoomForCluster(const std::string &message, unsigned blocks) : UserError(message), blocks_(blocks) {}

  unsigned blocks() const noexcept { return blocks_; }

 private:
  unsigned blocks_;
};

// The checked arguments of the driver's launch call, for a kernel on a stream. Both must outlive it.
class CheckedLaunch {
 public:
  // UserError, naming the kernel and `where`, if the device cannot launch this: a grid, block or cluster that is empty
  // or exceeds the device's limits, or more shared memory than a block may have. NoRoomForCluster is one such error.
  // Calls Kernel::allow_shared_memory if necessary.
  CheckedLaunch(const Stream &stream, const Kernel &kernel, const LaunchShape &shape, SourceLocation where);

  // Launches that kernel on that stream. `parameters` has the address of each of the kernel's parameters; they are read
  // before this returns. DriverError.
  void run(const Stream &stream, const Kernel &kernel, void **parameters) const {
    // Before the launch, so that a graph never contains a kernel that it does not keep alive.
    const bool captured = captures_->any() && keep_if_captured(stream, kernel);
    LaunchConfig config = config_;
    config.attributes = const_cast<LaunchAttribute *>(attributes_.data());
    const Result code = stream.needs_current_context()
                            ? run_in_context(stream, kernel, config, parameters)
                            : table_->LaunchKernelEx(&config, kernel.launchable(), parameters, nullptr);
    if (code != Result::success) [[unlikely]]
      fail(stream, kernel, code, config, parameters);
    if (!captured) stream.history().record(record_);
  }

  SourceLocation where() const noexcept { return record_.where; }
  const LaunchConfig &config() const noexcept { return config_; }
  const LaunchAttribute *attributes() const noexcept { return attributes_.data(); }
  int active_clusters() const noexcept { return active_clusters_; }
  unsigned cluster_blocks() const noexcept { return cluster_blocks_; }

 private:
  // Whether the stream takes part in a capture: then its graph keeps the kernel, and nothing has run.
  bool keep_if_captured(const Stream &stream, const Kernel &kernel) const;
  Result run_in_context(const Stream &stream, const Kernel &kernel, const LaunchConfig &config,
                        void **parameters) const;
  [[noreturn]] void fail(const Stream &stream, const Kernel &kernel, Result code, const LaunchConfig &config,
                         void **parameters) const;

  // In the order of a launch, so that it reads few cache lines: the driver's call has evicted them since the last one.
  const EntryPoints *table_;
  Captures *captures_;
  LaunchConfig config_{};
  LaunchRecord record_;
  int active_clusters_ = 0;
  unsigned cluster_blocks_ = 0;
  std::array<LaunchAttribute, 4> attributes_{};
};

class PreparedLaunch {
 public:
  // As a CheckedLaunch.
  PreparedLaunch(const Stream &stream, const Kernel &kernel, const LaunchShape &shape, SourceLocation where)
      : stream_(stream), kernel_(kernel), checked_(stream, kernel, shape, where) {}
  void run(void **parameters) const { checked_.run(stream_, kernel_, parameters); }

  const Kernel &kernel() const noexcept { return kernel_; }
  const Stream &stream() const noexcept { return stream_; }
  SourceLocation where() const noexcept { return checked_.where(); }
  // For graph nodes: the driver's launch arguments without the stream. The attributes live as long as this object.
  KernelNodeParameters node_parameters(void **parameters) const;
  const LaunchConfig &config() const noexcept { return checked_.config(); }
  const LaunchAttribute *attributes() const noexcept { return checked_.attributes(); }
  // The number of its clusters that the device runs concurrently; 0 for a launch without clusters.
  int active_clusters() const noexcept { return checked_.active_clusters(); }
  // Blocks of a cluster; 0 for a launch without clusters.
  unsigned cluster_blocks() const noexcept { return checked_.cluster_blocks(); }

 private:
  Stream stream_;
  Kernel kernel_;
  CheckedLaunch checked_;
};

// Checks and runs.
inline void launch(const Stream &stream, const Kernel &kernel, const LaunchShape &shape, void **parameters,
                   SourceLocation where = std::source_location::current()) {
  CheckedLaunch(stream, kernel, shape, where).run(stream, kernel, parameters);
}

}  // namespace samite::driver
