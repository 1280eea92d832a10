// The library's access to recorded launches, which users do not have.
#pragma once

#include "samite/jit/launch.h"
#include "samite/jit/pipeline_launch.h"

#include <utility>
#include <vector>

namespace samite::jit {

struct LaunchAccess {
  // The argument block, and the driver's side of the launch, which is null on the CPU.
  static const std::byte *arguments(const Launch &launch) { return launch.block_.data(); }
  static const CudaLaunch *cuda(const Launch &launch) { return launch.cuda_.get(); }

  // The storages that it writes, of arguments or their gradients, with a view of the elements.
  static void for_each_written(const Launch &launch, FunctionRef<void(Storage &, const AnyBuffer &)> f) {
    launch.for_each_written(f);
  }

  // Replaces extents and arguments. The arguments match the parameters in number and kind.
  static void exchange(Launch &launch, const Extents &extents, std::vector<OwnedArgument> arguments) {
    launch.exchange(extents, std::move(arguments));
  }
  // Replaces a scalar by its bits.
  static void set_bits(Launch &launch, std::size_t index, std::uint64_t bits) { launch.set_bits(index, bits); }
  static void set_bits(PipelineLaunch &launch, std::size_t index, std::uint64_t bits) { launch.set_bits(index, bits); }

  // A copy for a graph; on CUDA it does not look for races.
  static Launch in_graph(const Launch &launch) { return launch.in_graph(); }
  // The same for nodes that run `before`, whose clusters are kept: if this launch's differ, it runs without clusters.
  static Launch in_place_of(const Launch &launch, const Launch &before) { return launch.in_place_of(before); }
};

}  // namespace samite::jit
