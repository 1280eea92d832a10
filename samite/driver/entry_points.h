// The driver's functions that Samite calls, one row each; a new call is a new row.
//
// `version` is the driver version whose binary interface the signature was written for, 1000 * major + 10 * minor, and
// the lowest that has it. cuGetProcAddress is asked for exactly that version, so that a newer driver cannot bind a
// newer signature. If a required function is missing, the driver cannot be used; an optional one is checked where it is
// used.
#pragma once

#include "samite/driver/abi.h"
#include "samite/driver/abi_graph.h"
#include "samite/driver/abi_launch.h"
#include "samite/driver/abi_memory.h"
#include "samite/driver/abi_tensor_map.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace samite::driver {

// clang-format off
//  name without "cu", version, need, parameters
#define SAMITE_DRIVER_ENTRY_POINTS(X) \
  X(Init, 2000, required, (unsigned flags)) \
  X(DriverGetVersion, 2020, required, (int *version)) \
  X(GetErrorName, 6000, required, (Result error, const char **text)) \
  X(GetErrorString, 6000, required, (Result error, const char **text)) \
  \
  X(DeviceGetCount, 2000, required, (int *count)) \
  X(DeviceGet, 2000, required, (CUdevice *device, int ordinal)) \
  X(DeviceGetName, 2000, required, (char *name, int bytes, CUdevice device)) \
  X(DeviceGetAttribute, 2000, required, (int *value, DeviceAttribute attribute, CUdevice device)) \
  X(DeviceTotalMem, 3020, required, (std::size_t *bytes, CUdevice device)) \
  X(DeviceGetUuid, 11040, required, (Uuid *uuid, CUdevice device)) \
  X(DeviceGetPCIBusId, 4010, required, (char *bus_id, int bytes, CUdevice device)) \
  X(DeviceCanAccessPeer, 4000, required, (int *can, CUdevice device, CUdevice peer)) \
  X(DeviceGetDefaultMemPool, 11020, required, (CUmemoryPool *pool, CUdevice device)) \
  \
  X(DevicePrimaryCtxRetain, 7000, required, (CUcontext *context, CUdevice device)) \
  X(DevicePrimaryCtxRelease, 11000, required, (CUdevice device)) \
  X(CtxGetCurrent, 4000, required, (CUcontext *context)) \
  X(CtxPushCurrent, 4000, required, (CUcontext context)) \
  X(CtxPopCurrent, 4000, required, (CUcontext *context)) \
  X(CtxSynchronize, 2000, required, ()) \
  X(CtxEnablePeerAccess, 4000, required, (CUcontext peer, unsigned flags)) \
  X(CtxDisablePeerAccess, 4000, required, (CUcontext peer)) \
  X(CtxGetStreamPriorityRange, 5050, required, (int *least, int *greatest)) \
  \
  X(LibraryLoadData, 12000, required, (CUlibrary *library, const void *image, JitOption *jit_options, void **jit_values, unsigned jit_count, LibraryOption *library_options, void **library_values, unsigned library_count)) \
  X(LibraryUnload, 12000, required, (CUlibrary library)) \
  X(LibraryGetModule, 12000, required, (CUmodule *module, CUlibrary library)) \
  X(LibraryGetKernel, 12000, required, (CUkernel *kernel, CUlibrary library, const char *name)) \
  X(LibraryGetGlobal, 12000, required, (CUdeviceptr *address, std::size_t *bytes, CUlibrary library, const char *name)) \
  X(KernelGetFunction, 12000, required, (CUfunction *function, CUkernel kernel)) \
  X(KernelGetAttribute, 12000, required, (int *value, FunctionAttribute attribute, CUkernel kernel, CUdevice device)) \
  X(KernelSetAttribute, 12000, required, (FunctionAttribute attribute, int value, CUkernel kernel, CUdevice device)) \
  X(KernelGetParamInfo, 12040, optional, (CUkernel kernel, std::size_t index, std::size_t *offset, std::size_t *bytes)) \
  \
  X(LaunchKernelEx, 11060, required, (const LaunchConfig *config, CUfunction function, void **parameters, void **extra)) \
  X(LaunchHostFunc, 10000, required, (CUstream stream, CUhostFn function, void *data)) \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050, required, (int *blocks, CUfunction function, int threads, std::size_t shared_bytes)) \
  X(OccupancyMaxActiveClusters, 11070, required, (int *clusters, CUfunction function, const LaunchConfig *config)) \
  X(OccupancyMaxPotentialClusterSize, 11070, required, (int *blocks, CUfunction function, const LaunchConfig *config)) \
  \
  X(StreamCreateWithPriority, 5050, required, (CUstream *stream, unsigned flags, int priority)) \
  X(StreamDestroy, 4000, required, (CUstream stream)) \
  X(StreamSynchronize, 2000, required, (CUstream stream)) \
  X(StreamQuery, 2000, required, (CUstream stream)) \
  X(StreamWaitEvent, 3020, required, (CUstream stream, CUevent event, unsigned flags)) \
  X(StreamGetCtx, 9020, required, (CUstream stream, CUcontext *context)) \
  X(StreamGetPriority, 5050, required, (CUstream stream, int *priority)) \
  X(StreamGetFlags, 5050, required, (CUstream stream, unsigned *flags)) \
  X(StreamBeginCapture, 10010, required, (CUstream stream, CaptureMode mode)) \
  X(StreamBeginCaptureToGraph, 12030, optional, (CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const GraphEdgeData *edges, std::size_t count, CaptureMode mode)) \
  X(StreamEndCapture, 10000, required, (CUstream stream, CUgraph *graph)) \
  X(StreamGetCaptureInfo, 11030, required, (CUstream stream, CaptureStatus *status, std::uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, std::size_t *count)) \
  X(StreamUpdateCaptureDependencies, 11030, required, (CUstream stream, CUgraphNode *dependencies, std::size_t count, unsigned flags)) \
  X(ThreadExchangeStreamCaptureMode, 10010, required, (CaptureMode *mode)) \
  \
  X(EventCreate, 2000, required, (CUevent *event, unsigned flags)) \
  X(EventDestroy, 4000, required, (CUevent event)) \
  X(EventRecord, 2000, required, (CUevent event, CUstream stream)) \
  X(EventQuery, 2000, required, (CUevent event)) \
  X(EventSynchronize, 2000, required, (CUevent event)) \
  X(EventElapsedTime, 2000, required, (float *milliseconds, CUevent start, CUevent end)) \
  \
  X(MemGetInfo, 3020, required, (std::size_t *free, std::size_t *total)) \
  X(MemPoolCreate, 11020, required, (CUmemoryPool *pool, const MemoryPoolProperties *properties)) \
  X(MemPoolDestroy, 11020, required, (CUmemoryPool pool)) \
  X(MemPoolTrimTo, 11020, required, (CUmemoryPool pool, std::size_t bytes_to_keep)) \
  X(MemPoolSetAttribute, 11020, required, (CUmemoryPool pool, MemoryPoolAttribute attribute, void *value)) \
  X(MemPoolGetAttribute, 11020, required, (CUmemoryPool pool, MemoryPoolAttribute attribute, void *value)) \
  X(MemPoolSetAccess, 11020, required, (CUmemoryPool pool, const MemoryAccessDescription *access, std::size_t count)) \
  X(MemAllocFromPoolAsync, 11020, required, (CUdeviceptr *address, std::size_t bytes, CUmemoryPool pool, CUstream stream)) \
  X(MemFreeAsync, 11020, required, (CUdeviceptr address, CUstream stream)) \
  X(MemHostAlloc, 2020, required, (void **address, std::size_t bytes, unsigned flags)) \
  X(MemFreeHost, 2000, required, (void *address)) \
  X(PointerGetAttribute, 4000, required, (void *value, PointerAttribute attribute, CUdeviceptr address)) \
  X(MemcpyAsync, 4000, required, (CUdeviceptr target, CUdeviceptr source, std::size_t bytes, CUstream stream)) \
  X(MemcpyHtoDAsync, 3020, required, (CUdeviceptr target, const void *source, std::size_t bytes, CUstream stream)) \
  X(MemcpyDtoHAsync, 3020, required, (void *target, CUdeviceptr source, std::size_t bytes, CUstream stream)) \
  X(MemcpyDtoDAsync, 3020, required, (CUdeviceptr target, CUdeviceptr source, std::size_t bytes, CUstream stream)) \
  X(MemcpyPeerAsync, 4000, required, (CUdeviceptr target, CUcontext target_context, CUdeviceptr source, CUcontext source_context, std::size_t bytes, CUstream stream)) \
  X(MemsetD8Async, 3020, required, (CUdeviceptr target, unsigned char value, std::size_t count, CUstream stream)) \
  X(MemsetD32Async, 3020, required, (CUdeviceptr target, unsigned value, std::size_t count, CUstream stream)) \
  \
  X(GraphCreate, 10000, required, (CUgraph *graph, unsigned flags)) \
  X(GraphDestroy, 10000, required, (CUgraph graph)) \
  X(GraphGetNodes, 10000, required, (CUgraph graph, CUgraphNode *nodes, std::size_t *count)) \
  X(GraphNodeGetType, 10000, required, (CUgraphNode node, GraphNodeType *type)) \
  X(GraphNodeGetDependencies, 10000, required, (CUgraphNode node, CUgraphNode *dependencies, std::size_t *count)) \
  X(GraphDestroyNode, 10000, required, (CUgraphNode node)) \
  X(GraphAddKernelNode, 12000, required, (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, std::size_t count, const KernelNodeParameters *parameters)) \
  X(GraphAddEmptyNode, 10000, required, (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, std::size_t count)) \
  X(GraphAddChildGraphNode, 10000, required, (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, std::size_t count, CUgraph child)) \
  X(GraphAddNode, 12030, optional, (CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, const GraphEdgeData *edges, std::size_t count, GraphNodeParameters *parameters)) \
  X(GraphConditionalHandleCreate, 12030, optional, (CUgraphConditionalHandle *handle, CUgraph graph, CUcontext context, unsigned default_value, unsigned flags)) \
  X(GraphKernelNodeGetParams, 12000, required, (CUgraphNode node, KernelNodeParameters *parameters)) \
  X(GraphKernelNodeSetParams, 12000, required, (CUgraphNode node, const KernelNodeParameters *parameters)) \
  X(GraphKernelNodeSetAttribute, 11000, required, (CUgraphNode node, LaunchAttributeId attribute, const LaunchAttributeValue *value)) \
  X(GraphInstantiateWithFlags, 11040, required, (CUgraphExec *executable, CUgraph graph, unsigned long long flags)) \
  X(GraphExecDestroy, 10000, required, (CUgraphExec executable)) \
  X(GraphExecKernelNodeSetParams, 12000, required, (CUgraphExec executable, CUgraphNode node, const KernelNodeParameters *parameters)) \
  X(GraphExecUpdate, 12000, required, (CUgraphExec executable, CUgraph graph, GraphUpdateInfo *info)) \
  X(GraphNodeSetEnabled, 11060, required, (CUgraphExec executable, CUgraphNode node, unsigned enabled)) \
  X(GraphUpload, 11010, required, (CUgraphExec executable, CUstream stream)) \
  X(GraphLaunch, 10000, required, (CUgraphExec executable, CUstream stream)) \
  \
  X(TensorMapEncodeTiled, 12000, required, (TensorMapBits *map, TensorType type, std::uint32_t rank, void *address, const std::uint64_t *extents, const std::uint64_t *strides, const std::uint32_t *box, const std::uint32_t *element_strides, Interleave interleave, Swizzle swizzle, L2Promotion promotion, OutOfBounds out_of_bounds)) \
  X(TensorMapEncodeIm2col, 12000, required, (TensorMapBits *map, TensorType type, std::uint32_t rank, void *address, const std::uint64_t *extents, const std::uint64_t *strides, const int *lower_corner, const int *upper_corner, std::uint32_t channels, std::uint32_t pixels, const std::uint32_t *element_strides, Interleave interleave, Swizzle swizzle, L2Promotion promotion, OutOfBounds out_of_bounds)) \
  X(TensorMapEncodeIm2colWide, 12080, optional, (TensorMapBits *map, TensorType type, std::uint32_t rank, void *address, const std::uint64_t *extents, const std::uint64_t *strides, int lower_width, int upper_width, std::uint32_t channels, std::uint32_t pixels, const std::uint32_t *element_strides, Interleave interleave, Im2colWideMode mode, Swizzle swizzle, L2Promotion promotion, OutOfBounds out_of_bounds)) \
  X(TensorMapReplaceAddress, 12000, required, (TensorMapBits *map, void *address))
// clang-format on

enum class Entry : int {
#define SAMITE_ENUMERATOR(name, version, need, parameters) name,
  SAMITE_DRIVER_ENTRY_POINTS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

// The table: a pointer for each row, null if the driver has no such function. A caller that already has the driver's
// entry points fills one and passes it in; see driver.h.
struct EntryPoints {
#define SAMITE_POINTER(name, version, need, parameters) Result(*name) parameters = nullptr;
  SAMITE_DRIVER_ENTRY_POINTS(SAMITE_POINTER)
#undef SAMITE_POINTER
};

enum class Need : bool { optional, required };

struct EntryInfo {
  const char *symbol;      // "cuInit"
  const char *parameters;  // "(unsigned flags)"
  int version;
  Need need;
  bool required() const { return need == Need::required; }
};

const EntryInfo &info(Entry entry);
inline constexpr int entry_count = 0
#define SAMITE_COUNT(name, version, need, parameters) +1
    SAMITE_DRIVER_ENTRY_POINTS(SAMITE_COUNT)
#undef SAMITE_COUNT
    ;

// The function of a row by its enumerator: EntryTraits<Entry::Init>::pointer(table).
template <Entry entry>
struct EntryTraits;
#define SAMITE_TRAITS(name_, version_, need_, parameters_)                         \
  template <>                                                                      \
  struct EntryTraits<Entry::name_> {                                               \
    static constexpr Need need = Need::need_;                                      \
    static auto pointer(const EntryPoints &table) noexcept { return table.name_; } \
  };
SAMITE_DRIVER_ENTRY_POINTS(SAMITE_TRAITS)
#undef SAMITE_TRAITS

// Fills a table with what `find` returns for a symbol and the version it is pinned to.
template <class Find>
EntryPoints fill_entry_points(Find find) {
  EntryPoints table;
#define SAMITE_FILL(name, version, need, parameters) \
  table.name = reinterpret_cast<decltype(table.name)>(find("cu" #name, version));
  SAMITE_DRIVER_ENTRY_POINTS(SAMITE_FILL)
#undef SAMITE_FILL
  return table;
}

// The rows whose pointer is null.
template <class Report>
void for_each_missing(const EntryPoints &table, Report report) {
#define SAMITE_REPORT(name, version, need, parameters) \
  if (table.name == nullptr) report(Entry::name);
  SAMITE_DRIVER_ENTRY_POINTS(SAMITE_REPORT)
#undef SAMITE_REPORT
}

// The oldest driver that has every required function: the newest version among their rows.
constexpr int oldest_usable_version() {
  int newest = 0;
#define SAMITE_NEWEST(name, version, need_, parameters) \
  if (Need::need_ == Need::required && version > newest) newest = version;
  SAMITE_DRIVER_ENTRY_POINTS(SAMITE_NEWEST)
#undef SAMITE_NEWEST
  return newest;
}

}  // namespace samite::driver
