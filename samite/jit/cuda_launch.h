// A variant for CUDA, prepared for launches over one box of instances on one stream.
//
// A value that holds everything but the arguments, so that a launch is little more than the driver's call. One thread
// uses it at a time. A launch that is not recorded skips it if the driver's call suffices.
#pragma once

#include "samite/base/trace.h"
#include "samite/codegen/cuda_launch.h"
#include "samite/driver/device_memory.h"
#include "samite/driver/graph_executable.h"
#include "samite/driver/launch.h"
#include "samite/driver/tensor_map.h"
#include "samite/jit/cuda_messages.h"
#include "samite/jit/definition.h"
#include "samite/runtime/extents.h"
#include "samite/runtime/stream.h"

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace samite::jit {

// The addresses of a kernel's parameters. The driver only reads them.
using KernelParameters = std::array<void *, 5>;
inline KernelParameters kernel_parameters(const std::byte *arguments, const codegen::CudaBox &box,
                                          const codegen::CudaChannel *const &channel,
                                          const codegen::CudaWorkspace &workspace,
                                          const std::vector<driver::TensorMapBits> &maps) {
  return {const_cast<std::byte *>(arguments), const_cast<codegen::CudaBox *>(&box),
          const_cast<void *>(static_cast<const void *>(&channel)), const_cast<codegen::CudaWorkspace *>(&workspace),
          const_cast<driver::TensorMapBits *>(maps.data())};
}

class CudaLaunch {
 public:
  // `arguments` is a block with the variant's layout; this adds the addresses of the launch's own arrays. UserError if
  // the device cannot launch that many instances, or cannot honour the options; DeviceError if there is no memory for
  // the instances' local arrays, or for the launch's own.
  CudaLaunch(const KernelDefinition &definition, std::shared_ptr<const Variant> variant, const Extents &extents,
             const LaunchOptions &options, const Stream &stream, std::byte *arguments);

  // `arguments` as completed by the constructor; they are read before this returns.
  void run(const std::byte *arguments) const {
    if (!is_plain_ || is_tracing()) return run_into(arguments, nullptr);
    const codegen::CudaChannel *channel = nullptr;
    prepared_->run(kernel_parameters(arguments, box_, channel, workspace_, maps_).data());
  }
  // Whether run() is a single driver call, needs no hear() afterwards, and checks no gradient.
  bool is_plain() const noexcept { return is_plain_; }
  // The same into a capture: appends each kernel's graph node. Not for a variant that looks for races, since a graph
  // would not clear its shadows.
  void run_into(const std::byte *arguments, std::vector<driver::GraphNode> *nodes) const;
  // After run(): in debug mode waits for the stream, and throws the errors that instances have reported.
  void hear() const;

  // From the next launch on, `graph` runs this instead of `nodes`, which belong to a launch with as many kernels.
  void put_in(driver::GraphExecutable &graph, std::span<const driver::GraphNode> nodes,
              const std::byte *arguments) const {
    put_into(graph, nodes, arguments);
  }
  // The same for executables made from `graph` later, or updated to it.
  void put_in(driver::Graph &graph, std::span<const driver::GraphNode> nodes, const std::byte *arguments) const {
    put_into(graph, nodes, arguments);
  }
  // Replaces this by kernels that do nothing.
  void put_nothing_in(driver::Graph &graph, std::span<const driver::GraphNode> nodes) const;
  int kernel_count() const;
  // Blocks of a cluster for each of its kernels, 0 for no clusters: nodes of a graph keep them.
  std::vector<unsigned> clusters() const;

  // Reports of instances are read when the host waits for `stream`.
  void hear_in(CudaStream &stream) const;
  bool debug() const { return variant_->key.debug; }

 private:
  void put_into_stream(const std::byte *arguments, std::vector<driver::GraphNode> *nodes) const;
  driver::DeviceMemory allocate(std::size_t bytes, SourceLocation where) const;
  bool speaks() const { return messages_ || (first_ && first_->speaks()) || (afterwards_ && afterwards_->speaks()); }

  template <class Nodes>
  void put_into(Nodes &graph, std::span<const driver::GraphNode> nodes, const std::byte *arguments) const;

  // `channel` is the storage of the third parameter.
  KernelParameters parameters(const std::byte *arguments, const codegen::CudaChannel *&channel) const;

  // Members that a plain launch reads come first.
  bool is_plain_ = false;
  std::optional<driver::PreparedLaunch> prepared_;  // empty if there is nothing to run
  codegen::CudaBox box_;
  codegen::CudaWorkspace workspace_;
  std::vector<driver::TensorMapBits> maps_;  // of GpuCode::tensor_maps
  std::shared_ptr<const Variant> variant_;
  Extents extents_;
  std::string kernel_;
  Stream stream_;
  std::optional<driver::DeviceMemory> workspace_memory_;
  std::optional<driver::DeviceMemory> copies_memory_;     // of LaunchArrays
  std::vector<ArrayCopyLaunch> factor_copies_;            // run before everything else
  std::shared_ptr<CudaMessages> messages_;                // null if the kernel has no messages
  std::shared_ptr<const CudaLaunch> first_, afterwards_;  // as in the variant; may be null
};

// Whether a launch of the variant is at most one driver call: it has one kernel, no memory of its own, and no messages.
bool is_single_kernel(const Variant &variant);
// Launches such a variant once, as its CudaLaunch would. The caller keeps the variant and the stream alive.
void run_single_kernel(const KernelDefinition &definition, const Variant &variant, const Extents &extents,
                       const LaunchOptions &options, const CudaStream &stream, const std::byte *arguments);

}  // namespace samite::jit
