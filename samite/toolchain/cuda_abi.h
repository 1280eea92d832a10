// The functions of NVRTC and nvJitLink that Samite calls, as their binary interfaces have them.
//
// Samite is built where there is no CUDA toolkit, so the facts are stated here. Each list has a function's name and its
// parameters; all return a result code. nvJitLink exports a function once for each version of CUDA, as
// "__nvJitLinkCreate_12_4", and the ones here are those of 12.4 or 13.0, which every later version of the same major
// number has.
#pragma once

#include <cstddef>
#include <cstdint>

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
  X(GetLTOIRSize, NvrtcProgram program, std::size_t *bytes)                                       \
  X(GetLTOIR, NvrtcProgram program, char *ir)

struct NvrtcFunctions {
#define SAMITE_POINTER(name, ...) NvrtcResult (*name)(__VA_ARGS__) = nullptr;
  SAMITE_NVRTC_FUNCTIONS(SAMITE_POINTER)
#undef SAMITE_POINTER
  const char *(*GetErrorString)(NvrtcResult result) = nullptr;
};

enum class NvJitLinkResult : int { success = 0, internal = 6, thread_pool = 7 };
enum class NvJitLinkInput : int { lto_ir = 3 };

using NvJitLinkHandle = struct NvJitLinkState *;

#define SAMITE_NVJITLINK_FUNCTIONS(X)                                                                          \
  X(Create, NvJitLinkHandle *link, std::uint32_t option_count, const char **options)                           \
  X(Destroy, NvJitLinkHandle *link)                                                                            \
  X(AddData, NvJitLinkHandle link, NvJitLinkInput type, const void *data, std::size_t bytes, const char *name) \
  X(Complete, NvJitLinkHandle link)                                                                            \
  X(GetErrorLogSize, NvJitLinkHandle link, std::size_t *bytes)                                                 \
  X(GetErrorLog, NvJitLinkHandle link, char *log)                                                              \
  X(GetInfoLogSize, NvJitLinkHandle link, std::size_t *bytes)                                                  \
  X(GetInfoLog, NvJitLinkHandle link, char *log)                                                               \
  X(GetLinkedCubinSize, NvJitLinkHandle link, std::size_t *bytes)                                              \
  X(GetLinkedCubin, NvJitLinkHandle link, void *cubin)

struct NvJitLinkFunctions {
#define SAMITE_POINTER(name, ...) NvJitLinkResult (*name)(__VA_ARGS__) = nullptr;
  SAMITE_NVJITLINK_FUNCTIONS(SAMITE_POINTER)
#undef SAMITE_POINTER
};

}  // namespace samite
