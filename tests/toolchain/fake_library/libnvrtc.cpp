// A library that poses as NVRTC, of the version in SAMITE_FAKE_NVRTC ("12.1"): for tests of Samite's messages about
// libraries that it finds, and of failing calls. It makes images that name the kernels of a text and have no code.
// Compiling ends with the result in SAMITE_FAKE_NVRTC_RESULT; the only architecture is the one in
// SAMITE_FAKE_NVRTC_ARCHITECTURE, else 80.
#include "samite/toolchain/nvrtc_abi.h"
#include "tests/toolchain/fake_library/fake_compiler.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace samite {

struct NvrtcProgramState {
  std::string kernels;
};

}  // namespace samite

namespace {

constexpr char log_text[] = "the fake's words";
constexpr char ptx_text[] = "// the fake's PTX";

int number(const char *name) {
  const char *text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

samite::test::FakeCompiler &fake() {
  static samite::test::FakeCompiler instance("SAMITE_FAKE_NVRTC_FAIL");
  return instance;
}

}  // namespace

using samite::NvrtcProgram;
using samite::NvrtcProgramState;
using samite::NvrtcResult;

#define SAMITE_BEGIN(name) \
  if (const int result = fake().begin(name); result != 0) return static_cast<NvrtcResult>(result)

SAMITE_FAKE_COMPILER_CONTROLS(fake)

extern "C" {

NvrtcResult nvrtcVersion(int *major, int *minor) {
  SAMITE_BEGIN("nvrtcVersion");
  const char *text = std::getenv("SAMITE_FAKE_NVRTC");
  if (text == nullptr || std::sscanf(text, "%d.%d", major, minor) != 2) *major = 12, *minor = 4;
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  SAMITE_BEGIN("nvrtcGetNumSupportedArchs");
  return *count = 1, NvrtcResult::success;
}
NvrtcResult nvrtcGetSupportedArchs(int *architectures) {
  SAMITE_BEGIN("nvrtcGetSupportedArchs");
  const int chosen = number("SAMITE_FAKE_NVRTC_ARCHITECTURE");
  *architectures = chosen != 0 ? chosen : 80;
  return NvrtcResult::success;
}
NvrtcResult nvrtcCreateProgram(NvrtcProgram *program, const char *source, const char *, int, const char *const *,
                               const char *const *) {
  SAMITE_BEGIN("nvrtcCreateProgram");
  *program = std::make_unique<NvrtcProgramState>(NvrtcProgramState{samite::test::kernels_in(source)}).release();
  fake().made();
  return NvrtcResult::success;
}
NvrtcResult nvrtcDestroyProgram(NvrtcProgram *program) {
  const int result = fake().begin("nvrtcDestroyProgram");
  const std::unique_ptr<NvrtcProgramState> destroyed(*program);
  *program = nullptr;
  fake().destroyed();
  return static_cast<NvrtcResult>(result);
}
NvrtcResult nvrtcCompileProgram(NvrtcProgram, int, const char *const *) {
  SAMITE_BEGIN("nvrtcCompileProgram");
  return static_cast<NvrtcResult>(number("SAMITE_FAKE_NVRTC_RESULT"));
}
NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram, std::size_t *bytes) {
  SAMITE_BEGIN("nvrtcGetProgramLogSize");
  return *bytes = sizeof log_text, NvrtcResult::success;
}
NvrtcResult nvrtcGetProgramLog(NvrtcProgram, char *log) {
  SAMITE_BEGIN("nvrtcGetProgramLog");
  std::memcpy(log, log_text, sizeof log_text);
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetCUBINSize(NvrtcProgram program, std::size_t *bytes) {
  SAMITE_BEGIN("nvrtcGetCUBINSize");
  return *bytes = samite::test::image_of(program->kernels).size(), NvrtcResult::success;
}
NvrtcResult nvrtcGetCUBIN(NvrtcProgram program, char *cubin) {
  SAMITE_BEGIN("nvrtcGetCUBIN");
  const std::string image = samite::test::image_of(program->kernels);
  std::memcpy(cubin, image.data(), image.size());
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetPTXSize(NvrtcProgram, std::size_t *bytes) {
  SAMITE_BEGIN("nvrtcGetPTXSize");
  return *bytes = sizeof ptx_text, NvrtcResult::success;
}
NvrtcResult nvrtcGetPTX(NvrtcProgram, char *ptx) {
  SAMITE_BEGIN("nvrtcGetPTX");
  std::memcpy(ptx, ptx_text, sizeof ptx_text);
  return NvrtcResult::success;
}
const char *nvrtcGetErrorString(NvrtcResult) { return "NVRTC_ERROR_FAKE"; }
}
