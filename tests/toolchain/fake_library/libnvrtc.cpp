// A library that calls itself NVRTC, of the version in SAMITE_FAKE_NVRTC ("12.1"), and compiles nothing: for tests of
// what Samite says of libraries that it finds. Compiling ends with the
// result in SAMITE_FAKE_NVRTC_RESULT; the one architecture is that in SAMITE_FAKE_NVRTC_ARCHITECTURE, else 80.
#include "samite/toolchain/cuda_abi.h"

#include <cstdio>
#include <cstdlib>

namespace {

constexpr char log_text[] = "the fake's words";

int number(const char *name) {
  const char *text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

}  // namespace

using samite::NvrtcProgram;
using samite::NvrtcResult;

extern "C" {

NvrtcResult nvrtcVersion(int *major, int *minor) {
  const char *text = std::getenv("SAMITE_FAKE_NVRTC");
  if (text == nullptr || std::sscanf(text, "%d.%d", major, minor) != 2) *major = 12, *minor = 4;
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetNumSupportedArchs(int *count) { return *count = 1, NvrtcResult::success; }
NvrtcResult nvrtcGetSupportedArchs(int *architectures) {
  const int chosen = number("SAMITE_FAKE_NVRTC_ARCHITECTURE");
  *architectures = chosen != 0 ? chosen : 80;
  return NvrtcResult::success;
}
NvrtcResult nvrtcCreateProgram(NvrtcProgram *program, const char *, const char *, int, const char *const *,
                               const char *const *) {
  *program = nullptr;
  return NvrtcResult::success;
}
NvrtcResult nvrtcDestroyProgram(NvrtcProgram *) { return NvrtcResult::success; }
NvrtcResult nvrtcCompileProgram(NvrtcProgram, int, const char *const *) {
  return static_cast<NvrtcResult>(number("SAMITE_FAKE_NVRTC_RESULT"));
}
NvrtcResult nvrtcGetProgramLogSize(NvrtcProgram, std::size_t *bytes) {
  return *bytes = sizeof log_text, NvrtcResult::success;
}
NvrtcResult nvrtcGetProgramLog(NvrtcProgram, char *log) {
  std::snprintf(log, sizeof log_text, "%s", log_text);
  return NvrtcResult::success;
}
NvrtcResult nvrtcGetCUBINSize(NvrtcProgram, std::size_t *bytes) { return *bytes = 0, NvrtcResult::success; }
NvrtcResult nvrtcGetCUBIN(NvrtcProgram, char *) { return NvrtcResult::success; }
NvrtcResult nvrtcGetLTOIRSize(NvrtcProgram, std::size_t *bytes) { return *bytes = 0, NvrtcResult::success; }
NvrtcResult nvrtcGetLTOIR(NvrtcProgram, char *) { return NvrtcResult::success; }
const char *nvrtcGetErrorString(NvrtcResult) { return "NVRTC_ERROR_FAKE"; }
}
