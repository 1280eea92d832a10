// The CUDA driver's handles, result codes and small types, as its binary interface has them.
//
// Samite builds without a CUDA toolkit, so the facts are stated here; a test compares each of them with cuda.h if one
// is installed. Handles are the same C++ types as cuda.h's, so a program that includes both may pass its own.
// Enumerations and structures are Samite's: equal in size and value.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUlib_st;
struct CUkern_st;
struct CUstream_st;
struct CUevent_st;
struct CUmemPoolHandle_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;

namespace samite::driver {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = CUctx_st *;
using CUmodule = CUmod_st *;
using CUfunction = CUfunc_st *;
using CUlibrary = CUlib_st *;
using CUkernel = CUkern_st *;
using CUstream = CUstream_st *;
using CUevent = CUevent_st *;
using CUmemoryPool = CUmemPoolHandle_st *;
using CUgraph = CUgraph_st *;
using CUgraphNode = CUgraphNode_st *;
using CUgraphExec = CUgraphExec_st *;
using CUgraphConditionalHandle = std::uint64_t;
using CUhostFn = void (*)(void *);

// The codes that Samite explains or acts on; a driver may return others. A code's meaning for later calls:
//   call    this call failed, others are not touched
//   fault   earlier asynchronous work failed; the context is lost, and every later call in it meets the same code
//   lost    the device itself is gone or cannot be used
//                          enumerator, CUDA_ERROR_ name, value, kind
#define SAMITE_DRIVER_RESULTS(X)                                           \
  X(invalid_value, INVALID_VALUE, 1, call)                                 \
  X(out_of_memory, OUT_OF_MEMORY, 2, call)                                 \
  X(not_initialized, NOT_INITIALIZED, 3, call)                             \
  X(deinitialized, DEINITIALIZED, 4, call)                                 \
  X(stub_library, STUB_LIBRARY, 34, call)                                  \
  X(device_unavailable, DEVICE_UNAVAILABLE, 46, lost)                      \
  X(no_device, NO_DEVICE, 100, call)                                       \
  X(invalid_device, INVALID_DEVICE, 101, call)                             \
  X(invalid_image, INVALID_IMAGE, 200, call)                               \
  X(invalid_context, INVALID_CONTEXT, 201, call)                           \
  X(no_binary_for_gpu, NO_BINARY_FOR_GPU, 209, call)                       \
  X(ecc_uncorrectable, ECC_UNCORRECTABLE, 214, lost)                       \
  X(peer_access_unsupported, PEER_ACCESS_UNSUPPORTED, 217, call)           \
  X(invalid_ptx, INVALID_PTX, 218, call)                                   \
  X(nvlink_uncorrectable, NVLINK_UNCORRECTABLE, 220, lost)                 \
  X(unsupported_ptx_version, UNSUPPORTED_PTX_VERSION, 222, call)           \
  X(contained, CONTAINED, 226, fault)                                      \
  X(operating_system, OPERATING_SYSTEM, 304, call)                         \
  X(invalid_handle, INVALID_HANDLE, 400, call)                             \
  X(illegal_state, ILLEGAL_STATE, 401, call)                               \
  X(not_found, NOT_FOUND, 500, call)                                       \
  X(not_ready, NOT_READY, 600, call)                                       \
  X(illegal_address, ILLEGAL_ADDRESS, 700, fault)                          \
  X(launch_out_of_resources, LAUNCH_OUT_OF_RESOURCES, 701, call)           \
  X(launch_timeout, LAUNCH_TIMEOUT, 702, fault)                            \
  X(peer_access_already_enabled, PEER_ACCESS_ALREADY_ENABLED, 704, call)   \
  X(peer_access_not_enabled, PEER_ACCESS_NOT_ENABLED, 705, call)           \
  X(context_is_destroyed, CONTEXT_IS_DESTROYED, 709, lost)                 \
  X(device_assert, ASSERT, 710, fault)                                     \
  X(hardware_stack_error, HARDWARE_STACK_ERROR, 714, fault)                \
  X(illegal_instruction, ILLEGAL_INSTRUCTION, 715, fault)                  \
  X(misaligned_address, MISALIGNED_ADDRESS, 716, fault)                    \
  X(invalid_address_space, INVALID_ADDRESS_SPACE, 717, fault)              \
  X(invalid_pc, INVALID_PC, 718, fault)                                    \
  X(launch_failed, LAUNCH_FAILED, 719, fault)                              \
  X(cooperative_launch_too_large, COOPERATIVE_LAUNCH_TOO_LARGE, 720, call) \
  X(tensor_memory_leak, TENSOR_MEMORY_LEAK, 721, fault)                    \
  X(not_permitted, NOT_PERMITTED, 800, call)                               \
  X(not_supported, NOT_SUPPORTED, 801, call)                               \
  X(system_not_ready, SYSTEM_NOT_READY, 802, call)                         \
  X(system_driver_mismatch, SYSTEM_DRIVER_MISMATCH, 803, call)             \
  X(compat_not_supported, COMPAT_NOT_SUPPORTED_ON_DEVICE, 804, call)       \
  X(stream_capture_unsupported, STREAM_CAPTURE_UNSUPPORTED, 900, call)     \
  X(stream_capture_invalidated, STREAM_CAPTURE_INVALIDATED, 901, call)     \
  X(stream_capture_merge, STREAM_CAPTURE_MERGE, 902, call)                 \
  X(stream_capture_unmatched, STREAM_CAPTURE_UNMATCHED, 903, call)         \
  X(stream_capture_unjoined, STREAM_CAPTURE_UNJOINED, 904, call)           \
  X(stream_capture_isolation, STREAM_CAPTURE_ISOLATION, 905, call)         \
  X(stream_capture_implicit, STREAM_CAPTURE_IMPLICIT, 906, call)           \
  X(captured_event, CAPTURED_EVENT, 907, call)                             \
  X(stream_capture_wrong_thread, STREAM_CAPTURE_WRONG_THREAD, 908, call)   \
  X(graph_exec_update_failure, GRAPH_EXEC_UPDATE_FAILURE, 910, call)       \
  X(external_device, EXTERNAL_DEVICE, 911, fault)                          \
  X(invalid_cluster_size, INVALID_CLUSTER_SIZE, 912, call)                 \
  X(unknown, UNKNOWN, 999, call)

enum class Result : int {
  success = 0,
#define SAMITE_ENUMERATOR(name, driver_name, value, kind) name = value,
  SAMITE_DRIVER_RESULTS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

enum class DeviceAttribute : int {
  max_threads_per_block = 1,
  max_block_x = 2,
  max_block_y = 3,
  max_block_z = 4,
  max_grid_x = 5,
  max_grid_y = 6,
  max_grid_z = 7,
  max_shared_memory_per_block = 8,
  warp_size = 10,
  multiprocessor_count = 16,
  memory_clock_rate = 36,
  memory_bus_width = 37,
  l2_cache_bytes = 38,
  unified_addressing = 41,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  max_shared_memory_per_multiprocessor = 81,
  cooperative_launch = 95,
  max_shared_memory_per_block_optin = 97,
  memory_pools_supported = 115,
  cluster_launch = 120,
  tensor_map_access_supported = 127,
};

enum class FunctionAttribute : int {
  max_threads_per_block = 0,
  shared_bytes = 1,
  constant_bytes = 2,
  local_bytes = 3,
  registers = 4,
  binary_version = 6,
  max_dynamic_shared_bytes = 8,
  preferred_shared_carveout = 9,
  non_portable_cluster_size_allowed = 14,
};

// Options of loading an image; the values travel as void *.
enum class JitOption : int { error_log_buffer = 5, error_log_buffer_bytes = 6 };
enum class LibraryOption : int { binary_is_preserved = 1 };

enum class ProcAddressResult : int { success = 0, symbol_not_found = 1, version_not_sufficient = 2 };

// Flags are bit sets and travel as integers.
inline constexpr std::uint64_t legacy_stream_entry_points = 1;
inline constexpr unsigned stream_non_blocking = 1;
inline constexpr unsigned event_blocking_sync = 1;
inline constexpr unsigned event_disable_timing = 2;

struct Uuid {
  char bytes[16];
};

}  // namespace samite::driver
