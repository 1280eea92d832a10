#include "samite/jit/cuda_code.h"

#include "samite/toolchain/nvrtc.h"

#include <span>

namespace samite::jit {

const driver::Kernel &CudaCode::on(const driver::Context &context) const {
  return loaded_.get(context, [&] {
    if (nvrtc_is_open()) require_driver_for_nvrtc(context.driver().version());
    const std::string &cubin = image_->cubin();
    return driver::Library::load(context, std::as_bytes(std::span(cubin))).kernel(entry_);
  });
}

}  // namespace samite::jit
