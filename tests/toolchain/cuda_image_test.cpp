// Facts read from an image, compared with the assembler's report for the same text: NVRTC is called directly here, with
// the report that Samite does not request.
#include "samite/toolchain/cuda_image.h"

#include "samite/toolchain/run_nvrtc.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <sstream>

namespace samite {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Assembled {
  std::size_t registers = 0, shared = 0, stack = 0, constant = 0, spill_stores = 0, spill_loads = 0;
};

std::size_t number_before(const std::string &line, const std::string &words) {
  const std::size_t end = line.find(words);
  if (end == std::string::npos) return 0;
  const std::size_t begin = line.find_last_not_of("0123456789", end - 1) + 1;
  return std::stoul(line.substr(begin, end - begin));
}

// The assembler's report, by kernel. The functions that a kernel calls follow it.
std::map<std::string, Assembled> assembler_report(const CudaSource &source, const std::string &architecture) {
  const NvrtcFunctions &call = nvrtc().functions;
  NvrtcProgram program = nullptr;
  call.CreateProgram(&program, source.text.c_str(), "by_hand.cu", 0, nullptr, nullptr);
  const std::string arch = "-arch=" + architecture;
  std::vector<const char *> options = {"-std=c++20", "-default-device", "-minimal", "-w", "-Xptxas=-v", arch.c_str()};
  if (nvrtc().version >= CudaVersion{12, 9}) options.push_back("-no-cache");
  EXPECT_EQ(call.CompileProgram(program, static_cast<int>(options.size()), options.data()), NvrtcResult::success);
  std::size_t bytes = 0;
  call.GetProgramLogSize(program, &bytes);
  std::string log(bytes, '\0');
  call.GetProgramLog(program, log.data());
  call.DestroyProgram(&program);

  std::map<std::string, Assembled> kernels;
  std::istringstream lines(log);
  Assembled *kernel = nullptr;
  for (std::string line; std::getline(lines, line);) {
    const std::string entry = "Compiling entry function '";
    if (const std::size_t at = line.find(entry); at != std::string::npos) {
      const std::size_t begin = at + entry.size();
      kernel = &kernels[line.substr(begin, line.find('\'', begin) - begin)];
    }
    if (kernel == nullptr) continue;
    kernel->spill_stores += number_before(line, " bytes spill stores");
    kernel->spill_loads += number_before(line, " bytes spill loads");
    if (line.find("Used ") == std::string::npos) continue;
    kernel->registers = number_before(line, " registers");
    kernel->shared = number_before(line, " bytes smem");
    kernel->stack = number_before(line, " bytes cumulative stack size");
    kernel->constant = number_before(line, " bytes cmem[0]") + number_before(line, " bytes cmem[2]");
  }
  return kernels;
}

class CudaImages : public test::CudaCompilerTest {};

TEST_F(CudaImages, SayWhatTheAssemblerSays) {
  for (const std::string &architecture : test::cuda_architectures()) {
    const CudaImageReport report = compile_cuda(test::cuda_demanding(), "", architecture).image->report();
    EXPECT_EQ("sm_" + std::to_string(report.architecture), architecture.substr(0, architecture.find('a')));
    const std::map<std::string, Assembled> expected = assembler_report(test::cuda_demanding(), architecture);
    ASSERT_EQ(expected.size(), 3u);
    EXPECT_EQ(report.kernels.size(), 3u);
    for (const CudaKernelResources &kernel : report.kernels) {
      const Assembled &assembled = expected.at(kernel.name);
      const std::string where = kernel.name + " for " + architecture;
      EXPECT_EQ(kernel.registers, assembled.registers) << where;
      EXPECT_EQ(kernel.shared_bytes, assembled.shared) << where;
      EXPECT_EQ(kernel.local_bytes, assembled.stack) << where;
      EXPECT_EQ(kernel.spill_store_bytes, assembled.spill_stores) << where;
      EXPECT_EQ(kernel.spill_load_bytes, assembled.spill_loads) << where;
      // For newer architectures the assembler does not report constant memory.
      if (assembled.constant != 0) {
        EXPECT_EQ(kernel.constant_bytes, assembled.constant) << where;
      }
      EXPECT_GT(kernel.code_bytes, 0u) << where;
    }
    EXPECT_EQ(expected.at("demanding").shared, 400u);
    EXPECT_GT(expected.at("demanding").spill_stores, 0u);
  }
}

TEST_F(CudaImages, AreDescribedInALineForEachKernel) {
  const CudaImageReport report = compile_cuda(test::cuda_adding("1."), test::cuda_prelude, "sm_80").image->report();
  EXPECT_EQ(report.to_string(),
            fmt::format(
                "add for sm_80: {} registers, 0 bytes of shared, 0 of local, {} of constant memory, {} of code; "
                "spills store 0 bytes and load 0\n",
                report.kernels.at(0).registers, report.kernels.at(0).constant_bytes, report.kernels.at(0).code_bytes));
}

TEST_F(CudaImages, ThatAreDamagedAreRefusedOrReadWithinTheirBytes) {
  const std::string cubin = compile_cuda(test::cuda_adding("1."), test::cuda_prelude, "sm_90a").image->cubin();
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = cubin.substr(0, i % 3 == 0 ? random() % cubin.size() : cubin.size());
    // Damage matters most in the headers: at the front, and the sections' at the back.
    for (int j = 0; j < 4 && !damaged.empty(); ++j) {
      const std::size_t from_front = random() % std::min<std::size_t>(64, damaged.size());
      const std::size_t anywhere = random() % damaged.size();
      damaged[j % 2 == 0 ? from_front : anywhere] = static_cast<char>(random());
    }
    try {
      read_cuda_image(std::string(damaged), "");
    } catch (const DeviceError &error) {
      EXPECT_THAT(error.what(), StartsWith("reading a CUDA image failed: "));
    }
  }
}

TEST(CudaImage, ThatIsNoneIsRefused) {
  EXPECT_THAT(message_of<DeviceError>([] { read_cuda_image("", ""); }), HasSubstr("it is damaged: it ends before"));
  EXPECT_THAT(message_of<DeviceError>([] { read_cuda_image(std::string(100, 'x'), ""); }), HasSubstr("it is no cubin"));
}

TEST_F(CudaImages, OfABinaryInterfaceToComeAreRefused) {
  std::string cubin = compile_cuda(test::cuda_adding("1."), test::cuda_prelude, "sm_80").image->cubin();
  cubin[8] = 9;
  EXPECT_THAT(message_of<DeviceError>([&] { read_cuda_image(cubin, ""); }),
              HasSubstr("its binary interface is version 9, not 7 or 8"));
}

}  // namespace
}  // namespace samite
