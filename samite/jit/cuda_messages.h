// What the instances of a kernel on CUDA report, heard when their stream has been waited for.
//
// The kernel writes into memory of the host, which it can reach. Launches of one stream share it: printed lines come in
// the order in which instances asked for room, and the first failure is thrown, or else the check that failed in the
// first instance.
#pragma once

#include "samite/codegen/cuda_channel.h"
#include "samite/driver/pinned_memory.h"
#include "samite/jit/variant.h"
#include "samite/runtime/cuda_stream.h"
#include "samite/runtime/extents.h"

#include <memory>
#include <string>

namespace samite::jit {

class CudaMessages : public StreamReport {
 public:
  CudaMessages(std::shared_ptr<const Variant> variant, std::string kernel, const Extents &extents,
               const driver::Context &context);

  codegen::CudaChannel *channel() const noexcept { return static_cast<codegen::CudaChannel *>(memory_.data()); }

  // Prints what was printed, and throws as jit/execute.h says. DeviceError where more was said than there is room for.
  void completed() override;

 private:
  std::shared_ptr<const Variant> variant_;
  std::string kernel_;
  Extents extents_;
  driver::PinnedMemory memory_;
};

}  // namespace samite::jit
