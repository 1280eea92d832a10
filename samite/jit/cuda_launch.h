// A variant for CUDA, made ready for launches over one box of instances on one stream.
//
// A value; it holds everything that a launch needs but the arguments, so that a launch is the driver's call and little
// else. One thread uses it at a time. A launch that is not recorded makes none where the driver's call is all it is.
#pragma once

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

class CudaLaunch {
 public:
  // `arguments` is a block as the variant's layout says, to which this adds where the launch's own arrays lie.
  // UserError where the device cannot launch that many instances, or not as the options say; DeviceError where there is
  // no memory for the instances' local arrays, or for the launch's own.
  CudaLaunch(const KernelDefinition &definition, std::shared_ptr<const Variant> variant, const Extents &extents,
             const LaunchOptions &options, const Stream &stream, std::byte *arguments);

  // `arguments` as the constructor has completed them; they are read before this returns.
  void run(const std::byte *arguments) const { run_into(arguments, nullptr); }
  // The same into a capture: appends what each kernel has become in its graph. Not of a variant that looks for races,
  // since nothing in a graph clears its shadows.
  void run_into(const std::byte *arguments, std::vector<driver::GraphNode> *nodes) const;
  // After run(): in debug mode waits for the stream, and throws what instances have reported.
  void hear() const;

  // From the next time on `graph` runs this in the place of `nodes`, which are of a launch with as many kernels.
  void put_in(driver::GraphExecutable &graph, std::span<const driver::GraphNode> nodes,
              const std::byte *arguments) const {
    put_into(graph, nodes, arguments);
  }
  // The same for what is made of `graph` later, or updated to it.
  void put_in(driver::Graph &graph, std::span<const driver::GraphNode> nodes, const std::byte *arguments) const {
    put_into(graph, nodes, arguments);
  }
  // Kernels that do nothing, in the place of this.
  void put_nothing_in(driver::Graph &graph, std::span<const driver::GraphNode> nodes) const;
  int kernel_count() const;
  // Blocks of a cluster of each of its kernels, 0 where blocks are alone: what nodes of a graph keep.
  std::vector<unsigned> clusters() const;

  // What instances report is heard when `stream` is waited for.
  void hear_in(CudaStream &stream) const;
  bool debug() const { return variant_->key.debug; }

 private:
  driver::DeviceMemory allocate(std::size_t bytes, SourceLocation where) const;
  bool speaks() const { return messages_ || (first_ && first_->speaks()) || (afterwards_ && afterwards_->speaks()); }

  template <class Nodes>
  void put_into(Nodes &graph, std::span<const driver::GraphNode> nodes, const std::byte *arguments) const;

  // `channel` is where the third of them is read from.
  std::array<void *, 5> parameters(const std::byte *arguments, const codegen::CudaChannel *&channel) const;

  std::shared_ptr<const Variant> variant_;
  Extents extents_;
  std::string kernel_;
  Stream stream_;
  std::optional<driver::PreparedLaunch> prepared_;  // none where there is nothing to run
  codegen::CudaBox box_;
  codegen::CudaWorkspace workspace_;
  std::optional<driver::DeviceMemory> workspace_memory_;
  std::optional<driver::DeviceMemory> copies_memory_;     // of Variant::copies and Variant::factor_copies
  std::vector<ArrayCopyLaunch> factor_copies_;            // run before all else
  std::vector<driver::TensorMapBits> maps_;               // of Variant::tensor_maps
  std::shared_ptr<CudaMessages> messages_;                // null where nothing is ever said
  std::shared_ptr<const CudaLaunch> first_, afterwards_;  // as the variant's; null where nothing is
};

// Whether a launch of the variant is one call of the driver's, or none: it has one kernel, no memory of its own, and
// nothing to say.
bool is_single_kernel(const Variant &variant);
// Launches such a variant once, as a CudaLaunch of it would. The caller keeps the variant and the stream.
void run_single_kernel(const KernelDefinition &definition, const Variant &variant, const Extents &extents,
                       const LaunchOptions &options, const CudaStream &stream, const std::byte *arguments);

}  // namespace samite::jit
