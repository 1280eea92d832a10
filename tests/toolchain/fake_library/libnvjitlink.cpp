// A library that calls itself nvJitLink, of the version in SAMITE_FAKE_NVJITLINK ("12.1"). It links what the fake of
// NVRTC has made into an image without code.
#include "samite/toolchain/cuda_abi.h"
#include "tests/toolchain/fake_library/fake_compiler.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace samite {

struct NvJitLinkState {
  std::string kernels;
};

}  // namespace samite

namespace {

constexpr char log_text[] = "the fake's words";

samite::test::FakeCompiler &fake() {
  static samite::test::FakeCompiler instance("SAMITE_FAKE_NVJITLINK_FAIL");
  return instance;
}

}  // namespace

using samite::NvJitLinkHandle;
using samite::NvJitLinkInput;
using samite::NvJitLinkResult;
using samite::NvJitLinkState;

#define SAMITE_BEGIN(name) \
  if (const int result = fake().begin(name); result != 0) return static_cast<NvJitLinkResult>(result)

SAMITE_FAKE_COMPILER_CONTROLS(fake)

extern "C" {

NvJitLinkResult nvJitLinkVersion(unsigned *major, unsigned *minor) {
  SAMITE_BEGIN("nvJitLinkVersion");
  const char *text = std::getenv("SAMITE_FAKE_NVJITLINK");
  if (text == nullptr || std::sscanf(text, "%u.%u", major, minor) != 2) *major = 12, *minor = 4;
  return NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkCreate_12_4(NvJitLinkHandle *link, std::uint32_t, const char **) {
  SAMITE_BEGIN("nvJitLinkCreate");
  *link = std::make_unique<NvJitLinkState>().release();
  fake().made();
  return NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkDestroy_12_4(NvJitLinkHandle *link) {
  const int result = fake().begin("nvJitLinkDestroy");
  const std::unique_ptr<NvJitLinkState> destroyed(*link);
  *link = nullptr;
  fake().destroyed();
  return static_cast<NvJitLinkResult>(result);
}
NvJitLinkResult __nvJitLinkAddData_12_4(NvJitLinkHandle link, NvJitLinkInput, const void *data, std::size_t bytes,
                                        const char *) {
  SAMITE_BEGIN("nvJitLinkAddData");
  link->kernels += samite::test::kernels_in({static_cast<const char *>(data), bytes});
  return NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkComplete_12_4(NvJitLinkHandle) {
  SAMITE_BEGIN("nvJitLinkComplete");
  return NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkGetErrorLogSize_12_4(NvJitLinkHandle, std::size_t *bytes) {
  SAMITE_BEGIN("nvJitLinkGetErrorLogSize");
  return *bytes = sizeof log_text, NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkGetErrorLog_12_4(NvJitLinkHandle, char *log) {
  SAMITE_BEGIN("nvJitLinkGetErrorLog");
  std::memcpy(log, log_text, sizeof log_text);
  return NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkGetInfoLogSize_12_4(NvJitLinkHandle, std::size_t *bytes) {
  SAMITE_BEGIN("nvJitLinkGetInfoLogSize");
  return *bytes = 0, NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkGetInfoLog_12_4(NvJitLinkHandle, char *) {
  SAMITE_BEGIN("nvJitLinkGetInfoLog");
  return NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkGetLinkedCubinSize_12_4(NvJitLinkHandle link, std::size_t *bytes) {
  SAMITE_BEGIN("nvJitLinkGetLinkedCubinSize");
  return *bytes = samite::test::image_of(link->kernels).size(), NvJitLinkResult::success;
}
NvJitLinkResult __nvJitLinkGetLinkedCubin_12_4(NvJitLinkHandle link, void *cubin) {
  SAMITE_BEGIN("nvJitLinkGetLinkedCubin");
  const std::string image = samite::test::image_of(link->kernels);
  std::memcpy(cubin, image.data(), image.size());
  return NvJitLinkResult::success;
}
}
