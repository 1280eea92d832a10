#include "samite/base/nvtx.h"

#include "samite/base/dynamic_library.h"
#include "samite/base/error.h"
#include "samite/base/warning.h"

#include <cstdlib>
#include <string>
#include <string_view>

namespace samite {
namespace {

struct Nvtx {
  int (*push)(const char *) = nullptr;
  int (*pop)() = nullptr;
};

Nvtx open_nvtx() {
  const char *wanted = std::getenv("SAMITE_NVTX");
  if (wanted == nullptr || *wanted == '\0' || std::string_view(wanted) == "0") return {};
  try {
    static const DynamicLibrary library("libnvToolsExt.so.1", Unloading::never);
    return {library.function<int(const char *)>("nvtxRangePushA"), library.function<int()>("nvtxRangePop")};
  } catch (const DeviceError &error) {
    warn(
        std::string("SAMITE_NVTX: without ranges, since ") + error.what() +
        ". The library comes with the CUDA toolkit up to 12.8, and with «pip install nvidia-nvtx-cu12»; put its folder "
        "into LD_LIBRARY_PATH");
    return {};
  }
}

const Nvtx &nvtx() {
  static const Nvtx functions = open_nvtx();
  return functions;
}

}  // namespace

bool has_nvtx() { return nvtx().push != nullptr; }
void begin_nvtx_range(const char *name) noexcept { nvtx().push(name); }
void end_nvtx_range() noexcept { nvtx().pop(); }

}  // namespace samite
