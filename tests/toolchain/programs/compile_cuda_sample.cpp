// Compiles the sample kernel for CUDA with the amount argv[1] and the architecture argv[2], and prints the events as
// "name value" lines. With "library" for the amount it prints the NVRTC that it finds; argv[2] is then the version of a
// driver to compare it with.
#include "samite/base/warning.h"
#include "tests/toolchain/cuda_sample.h"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

void print_library(int driver_version) {
  std::printf("NVRTC %s %s\n", samite::nvrtc().version.text().c_str(), samite::nvrtc().path.c_str());
  if (driver_version != 0) samite::require_driver_for_nvrtc(driver_version);
}

}  // namespace

int main(int argc, char **argv) {
  using namespace samite;
  set_warning_sink(
      [](std::string_view text) { std::printf("warning %.*s\n", static_cast<int>(text.size()), text.data()); });
  const std::string amount = argc > 1 ? argv[1] : "1.", more = argc > 2 ? argv[2] : "";
  try {
    if (amount == "library") {
      print_library(std::atoi(more.c_str()));
      return 0;
    }
    const CompiledCuda compiled =
        compile_cuda(test::cuda_adding(amount), test::cuda_prelude, more.empty() ? "sm_80" : more);
    std::printf("from_cache %d\nlibrary_open %d\ncompiles %d\nbytes %zu\nlog_bytes %zu\n", compiled.report.from_cache,
                nvrtc_is_open(), cuda_compile_count(), compiled.image->cubin().size(), compiled.image->log().size());
    std::printf("milliseconds %g\n", compiled.report.total_ms);
    return 0;
  } catch (const std::exception &error) {
    std::printf("error %s\n", error.what());
    return 1;
  }
}
