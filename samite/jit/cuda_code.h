// The code of a variant for CUDA: compiled once, and loaded on each device that runs it.
//
// Thread-safe.
#pragma once

#include "samite/driver/library.h"
#include "samite/jit/memo.h"
#include "samite/toolchain/cuda_image.h"

#include <memory>
#include <string>

namespace samite::jit {

class CudaCode {
 public:
  CudaCode(std::shared_ptr<const CudaImage> image, std::string entry)
      : image_(std::move(image)), entry_(std::move(entry)) {}

  const CudaImage &image() const noexcept { return *image_; }

  // Loads on the first call for a context; the kernel lives as long as this. DriverError if the image is for another
  // architecture.
  const driver::Kernel &on(const driver::Context &context) const;

 private:
  std::shared_ptr<const CudaImage> image_;
  std::string entry_;
  mutable Memo<driver::Context, driver::Kernel> loaded_;
};

}  // namespace samite::jit
