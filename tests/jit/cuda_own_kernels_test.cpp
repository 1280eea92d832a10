// The kernels that the library has as PTX: NVIDIA's assembler takes them for every architecture that Samite is tested
// for. Skipped where there is no nvJitLink.
#include "samite/runtime/cuda_ptx.h"
#include "samite/toolchain/cuda_image.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

constexpr auto ptx_input = static_cast<NvJitLinkInput>(2);

std::string assembled(const std::string &ptx, const std::string &architecture) {
  const NvJitLinkFunctions &call = nvjitlink().functions;
  const std::string option = "-arch=" + architecture;
  const char *options[] = {option.c_str()};
  NvJitLinkHandle link = nullptr;
  EXPECT_EQ(call.Create(&link, 1, options), NvJitLinkResult::success);
  std::string cubin;
  if (call.AddData(link, ptx_input, ptx.c_str(), ptx.size() + 1, "own") == NvJitLinkResult::success &&
      call.Complete(link) == NvJitLinkResult::success) {
    std::size_t bytes = 0;
    call.GetLinkedCubinSize(link, &bytes);
    cubin.resize(bytes);
    call.GetLinkedCubin(link, cubin.data());
  } else {
    std::size_t bytes = 0;
    call.GetErrorLogSize(link, &bytes);
    std::string log(bytes, ' ');
    call.GetErrorLog(link, log.data());
    ADD_FAILURE() << log;
  }
  call.Destroy(&link);
  return cubin;
}

class CudaOwnKernels : public CudaCompilerTest {};

TEST_F(CudaOwnKernels, AreAssembledForEachArchitecture) {
  const std::pair<const char *, std::string> kernels[] = {{"samite_copy_strided", strided_copy_ptx()},
                                                          {"samite_set_condition", condition_ptx()},
                                                          {"samite_nothing", nothing_ptx()}};
  for (const std::string &architecture : cuda_architectures())
    for (const auto &[name, ptx] : kernels) {
      const CudaImageReport report = read_cuda_image(assembled(ptx, architecture), "");
      ASSERT_EQ(report.kernels.size(), 1u) << architecture << ' ' << name;
      EXPECT_EQ(report.kernels[0].name, name) << architecture;
      EXPECT_EQ(report.kernels[0].local_bytes, 0u) << architecture << ' ' << name;
    }
}

}  // namespace
}  // namespace samite::test
