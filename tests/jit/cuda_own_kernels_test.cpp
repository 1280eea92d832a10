// The library's kernels in PTX: NVIDIA's assembler accepts them for every architecture that Samite is tested for. The
// assembler is nvJitLink's, which nothing else needs; skipped without it.
#include "samite/base/dynamic_library.h"
#include "samite/runtime/cuda_ptx.h"
#include "samite/toolchain/cuda_image.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace samite::test {
namespace {

// As pip's package has it.
class Assembler {
 public:
  explicit Assembler(const std::filesystem::path &toolchain)
      : library_(toolchain / "nvidia/nvjitlink/lib/libnvJitLink.so.12", Unloading::never) {}

  // The cubin, or nothing and the assembler's words in `log`.
  std::string cubin(const std::string &ptx, const std::string &architecture, std::string &log) const {
    const std::string option = "-arch=" + architecture;
    const char *options[] = {option.c_str()};
    Handle link = nullptr;
    constexpr int ptx_input = 2;
    std::string cubin;
    if (call<Handle *, std::uint32_t, const char **>("Create", &link, 1, options) == 0 &&
        call<Handle, int, const void *, std::size_t, const char *>("AddData", link, ptx_input, ptx.c_str(),
                                                                   ptx.size() + 1, "own") == 0 &&
        call<Handle>("Complete", link) == 0)
      cubin = output("GetLinkedCubin", link);
    else if (link != nullptr)
      log = output("GetErrorLog", link);
    if (link != nullptr) call<Handle *>("Destroy", &link);
    return cubin;
  }

 private:
  using Handle = struct LinkState *;

  template <class... Arguments>
  int call(const std::string &name, Arguments... arguments) const {
    return library_.function<int(Arguments...)>(("__nvJitLink" + name + "_12_4").c_str())(arguments...);
  }
  std::string output(const std::string &name, Handle link) const {
    std::size_t bytes = 0;
    call<Handle, std::size_t *>(name + "Size", link, &bytes);
    std::string text(bytes, '\0');
    call<Handle, char *>(name, link, text.data());
    return text;
  }

  DynamicLibrary library_;
};

std::optional<Assembler> assembler() {
  const char *toolchain = std::getenv("SAMITE_CUDA_PATH");
  try {
    return std::make_optional<Assembler>(toolchain != nullptr ? toolchain : "");
  } catch (const DeviceError &) {
    return std::nullopt;
  }
}

class CudaOwnKernels : public CudaCompilerTest {};

TEST_F(CudaOwnKernels, AreAssembledForEachArchitecture) {
  const std::optional<Assembler> assemble = assembler();
  if (!assemble) GTEST_SKIP() << "nvJitLink is not installed: scripts/install-cuda-toolchain build/cuda-toolchain";
  const std::pair<const char *, std::string> kernels[] = {{"samite_copy_strided", strided_copy_ptx()},
                                                          {"samite_set_condition", condition_ptx()},
                                                          {"samite_nothing", nothing_ptx()}};
  for (const std::string &architecture : cuda_architectures())
    for (const auto &[name, ptx] : kernels) {
      std::string log;
      const std::string cubin = assemble->cubin(ptx, architecture, log);
      ASSERT_FALSE(cubin.empty()) << architecture << ' ' << name << ": " << log;
      const CudaImageReport report = read_cuda_image(cubin, "");
      ASSERT_EQ(report.kernels.size(), 1u) << architecture << ' ' << name;
      EXPECT_EQ(report.kernels[0].name, name) << architecture;
      EXPECT_EQ(report.kernels[0].local_bytes, 0u) << architecture << ' ' << name;
    }
}

}  // namespace
}  // namespace samite::test
