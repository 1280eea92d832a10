// Reports of a CUDA kernel's instances, read after the host has waited for their stream.
//
// The kernel writes into host memory that it can access. Launches of one stream share it: printed lines come in the
// order in which instances reserved space, and the first failure is thrown, or else the failed check of the first
// instance.
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

  // Prints the messages, and throws as in jit/execute.h. DeviceError if the reports exceeded the space.
  void completed() override;

 private:
  std::shared_ptr<const Variant> variant_;
  std::string kernel_;
  Extents extents_;
  driver::PinnedMemory memory_;
};

}  // namespace samite::jit
