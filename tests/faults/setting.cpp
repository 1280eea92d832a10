// The process's environment: fakes of NVIDIA's compilers, no cache, and a line at the end that names the failures.
#include "tests/base/temporary_folder.h"
#include "tests/faults/fault_sweep.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace samite::test {
namespace {

class FaultSettings : public testing::Environment {
 public:
  void SetUp() override {
    std::filesystem::create_symlink(SAMITE_FAKE_NVRTC, folder_.path() / "libnvrtc.so.12");
    setenv("SAMITE_CUDA_PATH", folder_.path().c_str(), 1);
    setenv("SAMITE_FAKE_NVRTC_ARCHITECTURE", "90", 1);
    setenv("SAMITE_CACHE_LIMIT_MB", "0", 1);
  }
  void TearDown() override { std::printf("%s\n", FaultCount::instance().to_string().c_str()); }

 private:
  TemporaryFolder folder_;
};

[[maybe_unused]] const testing::Environment *const settings =
    testing::AddGlobalTestEnvironment(std::make_unique<FaultSettings>().release());

}  // namespace
}  // namespace samite::test
