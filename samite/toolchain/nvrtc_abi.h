// The ABI of the NVRTC functions that Samite calls.
//
// Samite is built without a CUDA toolkit, so the facts are stated here. The list has each function's name and
// parameters; all return a result code.
#pragma once

#include <cstddef>

namespace samite {

enum class NvrtcResult : int {
  success = 0,
  out_of_memory = 1,
  invalid_option = 5,
  compilation = 6,
  builtin_operation_failure = 7,
};

using NvrtcProgram = struct NvrtcProgramState *;

#define SAMITE_NVRTC_FUNCTIONS(X)                                                                 \
  X(Version, int *major, int *minor)                                                              \
  X(GetNumSupportedArchs, int *count)                                                             \
  X(GetSupportedArchs, int *architectures)                                                        \
  X(CreateProgram, NvrtcProgram *program, const char *source, const char *name, int header_count, \
    const char *const *headers, const char *const *header_names)                                  \
  X(DestroyProgram, NvrtcProgram *program)                                                        \
  X(CompileProgram, NvrtcProgram program, int option_count, const char *const *options)           \
  X(GetProgramLogSize, NvrtcProgram program, std::size_t *bytes)                                  \
  X(GetProgramLog, NvrtcProgram program, char *log)                                               \
  X(GetCUBINSize, NvrtcProgram program, std::size_t *bytes)                                       \
  X(GetCUBIN, NvrtcProgram program, char *cubin)                                                  \
  X(GetPTXSize, NvrtcProgram program, std::size_t *bytes)                                         \
  X(GetPTX, NvrtcProgram program, char *ptx)

struct NvrtcFunctions {
#define SAMITE_POINTER(name, ...) NvrtcResult (*name)(__VA_ARGS__) = nullptr;
  SAMITE_NVRTC_FUNCTIONS(SAMITE_POINTER)
#undef SAMITE_POINTER
  const char *(*GetErrorString)(NvrtcResult result) = nullptr;
};

}  // namespace samite
