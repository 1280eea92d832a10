#include "samite/toolchain/run_nvrtc.h"

#include "samite/base/error.h"
#include "samite/toolchain/cuda_target.h"
#include "samite/toolchain/nvrtc.h"

#include <algorithm>
#include <cstddef>

namespace samite {
namespace {

constexpr const char *prelude_name = "samite_prelude.h";
// From 12.9 on NVRTC has its own cache, through the driver: it would start the driver, which takes longer than a
// compile, and report no spills on a hit.
constexpr CudaVersion first_with_cache{12, 9};

// NVRTC returns a size and then fills a buffer; `size_of` and `fill` throw on failure.
template <class Size, class Fill>
std::string read_bytes(const Size &size_of, const Fill &fill) {
  std::size_t bytes = 0;
  size_of(&bytes);
  std::string content(bytes, '\0');
  if (bytes > 0) fill(content.data());
  return content;
}

// Texts end with a zero byte, which is dropped.
template <class Size, class Fill>
std::string read_text(const Size &size_of, const Fill &fill) {
  std::string text = read_bytes(size_of, fill);
  while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
  return text;
}

std::vector<const char *> pointers_to(const std::vector<std::string> &texts) {
  std::vector<const char *> pointers;
  for (const std::string &text : texts) pointers.push_back(text.c_str());
  return pointers;
}

class Program {
 public:
  explicit Program(const CudaText &text) : name_("\"" + std::string(text.name) + ".cu\"") {
    const std::string source(text.text), prelude(text.prelude), name = std::string(text.name) + ".cu";
    const char *headers[] = {prelude.c_str()}, *names[] = {prelude_name};
    require(call_.CreateProgram(&program_, source.c_str(), name.c_str(), 1, headers, names), "nvrtcCreateProgram");
  }
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;
  ~Program() { call_.DestroyProgram(&program_); }

  NvrtcResult compile(const std::vector<std::string> &options) {
    return call_.CompileProgram(program_, static_cast<int>(options.size()), pointers_to(options).data());
  }
  std::string log() const {
    return read_text(
        [&](std::size_t *bytes) { require(call_.GetProgramLogSize(program_, bytes), "nvrtcGetProgramLogSize"); },
        [&](char *to) { require(call_.GetProgramLog(program_, to), "nvrtcGetProgramLog"); });
  }
  // For a text that does not compile, whose error should not be about a missing log.
  std::string log_if_any() const {
    try {
      return log();
    } catch (const DeviceError &error) {
      return error.what();
    }
  }
  std::string cubin() const {
    return read_bytes([&](std::size_t *bytes) { require(call_.GetCUBINSize(program_, bytes), "nvrtcGetCUBINSize"); },
                      [&](char *to) { require(call_.GetCUBIN(program_, to), "nvrtcGetCUBIN"); });
  }
  std::string ptx() const {
    return read_bytes([&](std::size_t *bytes) { require(call_.GetPTXSize(program_, bytes), "nvrtcGetPTXSize"); },
                      [&](char *to) { require(call_.GetPTX(program_, to), "nvrtcGetPTX"); });
  }

 private:
  void require(NvrtcResult result, const char *function) const {
    if (result != NvrtcResult::success)
      throw DeviceError(std::string(function) + "(" + name_ + ")", call_.GetErrorString(result));
  }

  const NvrtcFunctions &call_ = nvrtc().functions;
  std::string name_;  // in messages
  NvrtcProgram program_ = nullptr;
};

[[noreturn]] void fail(const CudaText &text, NvrtcResult result, const std::vector<std::string> &options,
                       const std::string &words) {
  const std::string name(text.name);
  if (result == NvrtcResult::compilation)
    throw InternalError("the CUDA C++ emitted for kernel \"" + name + "\" does not compile:\n" + words);
  if (result == NvrtcResult::builtin_operation_failure)
    throw DeviceError("nvrtcCompileProgram(\"" + name + ".cu\")",
                      words + "\nThe file libnvrtc-builtins.so of the same version must lie beside " + nvrtc().path +
                          ": install NVRTC again.");
  std::string line;
  for (const std::string &option : options) line += (line.empty() ? "" : " ") + option;
  throw DeviceError("nvrtcCompileProgram(\"" + name + ".cu\", \"" + line + "\")",
                    std::string(nvrtc().functions.GetErrorString(result)) + ": " + words);
}

}  // namespace

std::vector<std::string> nvrtc_options(const CudaText &text) {
  // -default-device: unmarked functions are for the device. -minimal: without those declarations of NVRTC that emitted
  // code does not use, whose parsing takes longer than a kernel's. The prelude is not precompiled: NVRTC supports that
  // only within one process, where it would save a tenth of later compiles and slow down the first one. Only the log
  // reports spills, everything else is in the image. The report of -v would hide errors.
  std::vector<std::string> options = {"-std=c++20",
                                      "-default-device",
                                      "-minimal",
                                      "-no-source-include",
                                      std::string("--pre-include=") + prelude_name,
                                      "-Xptxas=-warn-spills"};
  if (text.debug_info) options.emplace_back("-lineinfo");
  return options;
}

CudaProduct run_nvrtc(const CudaText &text) {
  require_nvrtc_knows(text.architecture);
  std::vector<std::string> options = nvrtc_options(text);
  options.push_back("-arch=" + std::string(text.architecture));
  if (nvrtc().version >= first_with_cache) options.emplace_back("-no-cache");
  Program program(text);
  const NvrtcResult result = program.compile(options);
  if (result == NvrtcResult::success)
    return {cuda_target(text.architecture)->ptx ? program.ptx() : program.cubin(), program.log()};
  fail(text, result, options, program.log_if_any());
}

void require_architecture(std::string_view architecture) {
  if (!cuda_target(architecture))
    throw UserError("\"" + std::string(architecture) +
                    "\" is no CUDA architecture; expected one such as sm_80, sm_90a or sm_120, or compute_80 for PTX.");
}

void require_nvrtc_knows(std::string_view architecture) {
  require_architecture(architecture);
  const Nvrtc &compiler = nvrtc();
  const std::vector<int> &known = compiler.architectures;
  if (std::find(known.begin(), known.end(), cuda_target(architecture)->capability) != known.end()) return;
  std::string list;
  for (const int number : known) list += (list.empty() ? "sm_" : ", sm_") + std::to_string(number);
  throw DeviceError("compiling for " + std::string(architecture),
                    "NVRTC " + compiler.version.text() + " of " + compiler.path + " compiles for " + list +
                        ". Newer devices need a newer toolkit, and toolkits drop the oldest devices: set "
                        "SAMITE_CUDA_PATH to one that has this architecture.");
}

}  // namespace samite
