#include "samite/jit/cuda_code.h"

#include "samite/toolchain/nvrtc.h"

#include <span>

namespace samite::jit {

driver::Kernel CudaCode::on(const driver::Context &context) const {
  std::lock_guard lock(mutex_);
  for (const driver::Kernel &kernel : loaded_)
    if (kernel.context() == context) return kernel;
  if (nvrtc_is_open()) require_driver_for_nvrtc(context.driver().version());
  const std::string &cubin = image_->cubin();
  loaded_.push_back(driver::Library::load(context, std::as_bytes(std::span(cubin))).kernel(entry_));
  return loaded_.back();
}

}  // namespace samite::jit
