// Compares samite/driver/'s declarations of the CUDA driver's interface with the driver's own header. Nearly all of it
// happens when this file is compiled.
#include "samite/driver/entry_points.h"

#include <gtest/gtest.h>

#include <type_traits>

// After Samite's headers: it defines macros of its functions' names.
#include <cuda.h>
#include <cudaTypedefs.h>

namespace samite::driver {
namespace {

// Whether an argument of type A may be passed as a B of the driver's binary interface: the same type, a pair of
// enumerations or structures that are compared below, or pointers to such.
template <class A, class B>
struct Matches : std::is_same<A, B> {};
template <class A, class B>
struct Matches<A *, B *> : std::bool_constant<std::is_const_v<A> == std::is_const_v<B> &&
                                              Matches<std::remove_const_t<A>, std::remove_const_t<B>>::value> {};
template <class A, class B>
struct SameSignature : std::false_type {};
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameSignature<R (*)(A...), S (*)(B...)>
    : std::bool_constant<Matches<R, S>::value && (Matches<A, B>::value && ...)> {};

#define SAMITE_SAME_TYPE(ours, theirs)                                                            \
  template <>                                                                                     \
  struct Matches<ours, theirs> : std::true_type {                                                 \
    static_assert(sizeof(ours) == sizeof(theirs) && alignof(ours) % alignof(theirs) == 0, #ours); \
  };
SAMITE_SAME_TYPE(Result, CUresult)
SAMITE_SAME_TYPE(DeviceAttribute, CUdevice_attribute)
SAMITE_SAME_TYPE(FunctionAttribute, CUfunction_attribute)
SAMITE_SAME_TYPE(JitOption, CUjit_option)
SAMITE_SAME_TYPE(LibraryOption, CUlibraryOption)
SAMITE_SAME_TYPE(ProcAddressResult, CUdriverProcAddressQueryResult)
SAMITE_SAME_TYPE(LaunchAttributeId, CUlaunchAttributeID)
SAMITE_SAME_TYPE(MemoryLocationType, CUmemLocationType)
SAMITE_SAME_TYPE(MemoryAllocationType, CUmemAllocationType)
SAMITE_SAME_TYPE(MemoryHandleType, CUmemAllocationHandleType)
SAMITE_SAME_TYPE(MemoryAccess, CUmemAccess_flags)
SAMITE_SAME_TYPE(MemoryPoolAttribute, CUmemPool_attribute)
SAMITE_SAME_TYPE(PointerAttribute, CUpointer_attribute)
SAMITE_SAME_TYPE(CaptureStatus, CUstreamCaptureStatus)
SAMITE_SAME_TYPE(CaptureMode, CUstreamCaptureMode)
SAMITE_SAME_TYPE(GraphNodeType, CUgraphNodeType)
SAMITE_SAME_TYPE(GraphUpdateResult, CUgraphExecUpdateResult)
SAMITE_SAME_TYPE(ConditionalType, CUgraphConditionalNodeType)
SAMITE_SAME_TYPE(TensorType, CUtensorMapDataType)
SAMITE_SAME_TYPE(Interleave, CUtensorMapInterleave)
SAMITE_SAME_TYPE(Swizzle, CUtensorMapSwizzle)
SAMITE_SAME_TYPE(L2Promotion, CUtensorMapL2promotion)
SAMITE_SAME_TYPE(OutOfBounds, CUtensorMapFloatOOBfill)
SAMITE_SAME_TYPE(Im2colWideMode, CUtensorMapIm2ColWideMode)
SAMITE_SAME_TYPE(Uuid, CUuuid)
SAMITE_SAME_TYPE(LaunchAttributeValue, CUlaunchAttributeValue)
SAMITE_SAME_TYPE(LaunchAttribute, CUlaunchAttribute)
SAMITE_SAME_TYPE(LaunchConfig, CUlaunchConfig)
SAMITE_SAME_TYPE(MemoryLocation, CUmemLocation)
SAMITE_SAME_TYPE(MemoryAccessDescription, CUmemAccessDesc)
SAMITE_SAME_TYPE(MemoryPoolProperties, CUmemPoolProps)
SAMITE_SAME_TYPE(GraphUpdateInfo, CUgraphExecUpdateResultInfo)
SAMITE_SAME_TYPE(KernelNodeParameters, CUDA_KERNEL_NODE_PARAMS_v2)
SAMITE_SAME_TYPE(GraphEdgeData, CUgraphEdgeData)
SAMITE_SAME_TYPE(ConditionalNodeParameters, CUDA_CONDITIONAL_NODE_PARAMS)
SAMITE_SAME_TYPE(GraphNodeParameters, CUgraphNodeParams)
SAMITE_SAME_TYPE(TensorMapBits, CUtensorMap)
#undef SAMITE_SAME_TYPE

#define SAMITE_SAME_VALUE(ours, theirs) \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #ours);
#define SAMITE_RESULT(name, driver_name, value, kind) SAMITE_SAME_VALUE(Result::name, CUDA_ERROR_##driver_name)
SAMITE_DRIVER_RESULTS(SAMITE_RESULT)
#undef SAMITE_RESULT
#define SAMITE_TENSOR_TYPE(name, driver_name, value, bits, kind) \
  SAMITE_SAME_VALUE(TensorType::name, CU_TENSOR_MAP_DATA_TYPE_##driver_name)
SAMITE_TENSOR_TYPES(SAMITE_TENSOR_TYPE)
#undef SAMITE_TENSOR_TYPE
SAMITE_SAME_VALUE(DeviceAttribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
SAMITE_SAME_VALUE(DeviceAttribute::max_block_x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)
SAMITE_SAME_VALUE(DeviceAttribute::max_block_y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)
SAMITE_SAME_VALUE(DeviceAttribute::max_block_z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)
SAMITE_SAME_VALUE(DeviceAttribute::max_grid_x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)
SAMITE_SAME_VALUE(DeviceAttribute::max_grid_y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)
SAMITE_SAME_VALUE(DeviceAttribute::max_grid_z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)
SAMITE_SAME_VALUE(DeviceAttribute::max_shared_memory_per_block, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
SAMITE_SAME_VALUE(DeviceAttribute::warp_size, CU_DEVICE_ATTRIBUTE_WARP_SIZE)
SAMITE_SAME_VALUE(DeviceAttribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
SAMITE_SAME_VALUE(DeviceAttribute::l2_cache_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
SAMITE_SAME_VALUE(DeviceAttribute::unified_addressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)
SAMITE_SAME_VALUE(DeviceAttribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAMITE_SAME_VALUE(DeviceAttribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAMITE_SAME_VALUE(DeviceAttribute::max_shared_memory_per_multiprocessor,
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)
SAMITE_SAME_VALUE(DeviceAttribute::cooperative_launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)
SAMITE_SAME_VALUE(DeviceAttribute::max_shared_memory_per_block_optin,
                  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
SAMITE_SAME_VALUE(DeviceAttribute::memory_pools_supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)
SAMITE_SAME_VALUE(DeviceAttribute::cluster_launch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH)
SAMITE_SAME_VALUE(DeviceAttribute::tensor_map_access_supported, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED)
SAMITE_SAME_VALUE(FunctionAttribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
SAMITE_SAME_VALUE(FunctionAttribute::shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
SAMITE_SAME_VALUE(FunctionAttribute::constant_bytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)
SAMITE_SAME_VALUE(FunctionAttribute::local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
SAMITE_SAME_VALUE(FunctionAttribute::registers, CU_FUNC_ATTRIBUTE_NUM_REGS)
SAMITE_SAME_VALUE(FunctionAttribute::binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION)
SAMITE_SAME_VALUE(FunctionAttribute::max_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SAMITE_SAME_VALUE(FunctionAttribute::preferred_shared_carveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
SAMITE_SAME_VALUE(FunctionAttribute::non_portable_cluster_size_allowed,
                  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
SAMITE_SAME_VALUE(JitOption::error_log_buffer, CU_JIT_ERROR_LOG_BUFFER)
SAMITE_SAME_VALUE(JitOption::error_log_buffer_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
SAMITE_SAME_VALUE(LibraryOption::binary_is_preserved, CU_LIBRARY_BINARY_IS_PRESERVED)
SAMITE_SAME_VALUE(ProcAddressResult::success, CU_GET_PROC_ADDRESS_SUCCESS)
SAMITE_SAME_VALUE(ProcAddressResult::symbol_not_found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
SAMITE_SAME_VALUE(ProcAddressResult::version_not_sufficient, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT)
SAMITE_SAME_VALUE(LaunchAttributeId::ignore, CU_LAUNCH_ATTRIBUTE_IGNORE)
SAMITE_SAME_VALUE(LaunchAttributeId::cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
SAMITE_SAME_VALUE(LaunchAttributeId::cluster_dimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
SAMITE_SAME_VALUE(LaunchAttributeId::programmatic_stream_serialization,
                  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
SAMITE_SAME_VALUE(LaunchAttributeId::priority, CU_LAUNCH_ATTRIBUTE_PRIORITY)
SAMITE_SAME_VALUE(LaunchAttributeId::preferred_shared_carveout, CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
SAMITE_SAME_VALUE(MemoryLocationType::invalid, CU_MEM_LOCATION_TYPE_INVALID)
SAMITE_SAME_VALUE(MemoryLocationType::device, CU_MEM_LOCATION_TYPE_DEVICE)
SAMITE_SAME_VALUE(MemoryLocationType::host, CU_MEM_LOCATION_TYPE_HOST)
SAMITE_SAME_VALUE(MemoryAllocationType::invalid, CU_MEM_ALLOCATION_TYPE_INVALID)
SAMITE_SAME_VALUE(MemoryAllocationType::pinned, CU_MEM_ALLOCATION_TYPE_PINNED)
SAMITE_SAME_VALUE(MemoryHandleType::none, CU_MEM_HANDLE_TYPE_NONE)
SAMITE_SAME_VALUE(MemoryHandleType::posix_file_descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
SAMITE_SAME_VALUE(MemoryAccess::none, CU_MEM_ACCESS_FLAGS_PROT_NONE)
SAMITE_SAME_VALUE(MemoryAccess::read, CU_MEM_ACCESS_FLAGS_PROT_READ)
SAMITE_SAME_VALUE(MemoryAccess::read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
SAMITE_SAME_VALUE(MemoryPoolAttribute::reuse_follow_event_dependencies, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES)
SAMITE_SAME_VALUE(MemoryPoolAttribute::reuse_allow_opportunistic, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC)
SAMITE_SAME_VALUE(MemoryPoolAttribute::reuse_allow_internal_dependencies,
                  CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES)
SAMITE_SAME_VALUE(MemoryPoolAttribute::release_threshold, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
SAMITE_SAME_VALUE(MemoryPoolAttribute::reserved_now, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
SAMITE_SAME_VALUE(MemoryPoolAttribute::reserved_high, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
SAMITE_SAME_VALUE(MemoryPoolAttribute::used_now, CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
SAMITE_SAME_VALUE(MemoryPoolAttribute::used_high, CU_MEMPOOL_ATTR_USED_MEM_HIGH)
SAMITE_SAME_VALUE(PointerAttribute::context, CU_POINTER_ATTRIBUTE_CONTEXT)
SAMITE_SAME_VALUE(PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
SAMITE_SAME_VALUE(PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
SAMITE_SAME_VALUE(CaptureStatus::none, CU_STREAM_CAPTURE_STATUS_NONE)
SAMITE_SAME_VALUE(CaptureStatus::active, CU_STREAM_CAPTURE_STATUS_ACTIVE)
SAMITE_SAME_VALUE(CaptureStatus::invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED)
SAMITE_SAME_VALUE(CaptureMode::global, CU_STREAM_CAPTURE_MODE_GLOBAL)
SAMITE_SAME_VALUE(CaptureMode::thread_local_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
SAMITE_SAME_VALUE(CaptureMode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED)
SAMITE_SAME_VALUE(GraphNodeType::kernel, CU_GRAPH_NODE_TYPE_KERNEL)
SAMITE_SAME_VALUE(GraphNodeType::copy, CU_GRAPH_NODE_TYPE_MEMCPY)
SAMITE_SAME_VALUE(GraphNodeType::set_memory, CU_GRAPH_NODE_TYPE_MEMSET)
SAMITE_SAME_VALUE(GraphNodeType::host, CU_GRAPH_NODE_TYPE_HOST)
SAMITE_SAME_VALUE(GraphNodeType::child_graph, CU_GRAPH_NODE_TYPE_GRAPH)
SAMITE_SAME_VALUE(GraphNodeType::empty, CU_GRAPH_NODE_TYPE_EMPTY)
SAMITE_SAME_VALUE(GraphNodeType::wait_event, CU_GRAPH_NODE_TYPE_WAIT_EVENT)
SAMITE_SAME_VALUE(GraphNodeType::record_event, CU_GRAPH_NODE_TYPE_EVENT_RECORD)
SAMITE_SAME_VALUE(GraphNodeType::allocate, CU_GRAPH_NODE_TYPE_MEM_ALLOC)
SAMITE_SAME_VALUE(GraphNodeType::free, CU_GRAPH_NODE_TYPE_MEM_FREE)
SAMITE_SAME_VALUE(GraphNodeType::conditional, CU_GRAPH_NODE_TYPE_CONDITIONAL)
SAMITE_SAME_VALUE(GraphUpdateResult::success, CU_GRAPH_EXEC_UPDATE_SUCCESS)
SAMITE_SAME_VALUE(GraphUpdateResult::error, CU_GRAPH_EXEC_UPDATE_ERROR)
SAMITE_SAME_VALUE(GraphUpdateResult::topology_changed, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED)
SAMITE_SAME_VALUE(GraphUpdateResult::node_type_changed, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED)
SAMITE_SAME_VALUE(GraphUpdateResult::function_changed, CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED)
SAMITE_SAME_VALUE(GraphUpdateResult::parameters_changed, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED)
SAMITE_SAME_VALUE(GraphUpdateResult::not_supported, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
SAMITE_SAME_VALUE(GraphUpdateResult::unsupported_function_change,
                  CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE)
SAMITE_SAME_VALUE(GraphUpdateResult::attributes_changed, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED)
SAMITE_SAME_VALUE(ConditionalType::if_, CU_GRAPH_COND_TYPE_IF)
SAMITE_SAME_VALUE(ConditionalType::while_, CU_GRAPH_COND_TYPE_WHILE)
SAMITE_SAME_VALUE(ConditionalType::switch_, CU_GRAPH_COND_TYPE_SWITCH)
SAMITE_SAME_VALUE(Interleave::none, CU_TENSOR_MAP_INTERLEAVE_NONE)
SAMITE_SAME_VALUE(Interleave::bytes_16, CU_TENSOR_MAP_INTERLEAVE_16B)
SAMITE_SAME_VALUE(Interleave::bytes_32, CU_TENSOR_MAP_INTERLEAVE_32B)
SAMITE_SAME_VALUE(Swizzle::none, CU_TENSOR_MAP_SWIZZLE_NONE)
SAMITE_SAME_VALUE(Swizzle::bytes_32, CU_TENSOR_MAP_SWIZZLE_32B)
SAMITE_SAME_VALUE(Swizzle::bytes_64, CU_TENSOR_MAP_SWIZZLE_64B)
SAMITE_SAME_VALUE(Swizzle::bytes_128, CU_TENSOR_MAP_SWIZZLE_128B)
SAMITE_SAME_VALUE(Swizzle::bytes_128_atom_32, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B)
SAMITE_SAME_VALUE(Swizzle::bytes_128_atom_32_flip_8, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B)
SAMITE_SAME_VALUE(Swizzle::bytes_128_atom_64, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
SAMITE_SAME_VALUE(L2Promotion::none, CU_TENSOR_MAP_L2_PROMOTION_NONE)
SAMITE_SAME_VALUE(L2Promotion::bytes_64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B)
SAMITE_SAME_VALUE(L2Promotion::bytes_128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B)
SAMITE_SAME_VALUE(L2Promotion::bytes_256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
SAMITE_SAME_VALUE(OutOfBounds::zero, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
SAMITE_SAME_VALUE(OutOfBounds::nan, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
SAMITE_SAME_VALUE(Im2colWideMode::w, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W)
SAMITE_SAME_VALUE(Im2colWideMode::w128, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
SAMITE_SAME_VALUE(legacy_stream_entry_points, CU_GET_PROC_ADDRESS_LEGACY_STREAM)
SAMITE_SAME_VALUE(stream_non_blocking, CU_STREAM_NON_BLOCKING)
SAMITE_SAME_VALUE(event_blocking_sync, CU_EVENT_BLOCKING_SYNC)
SAMITE_SAME_VALUE(event_disable_timing, CU_EVENT_DISABLE_TIMING)
SAMITE_SAME_VALUE(conditional_assign_default, CU_GRAPH_COND_ASSIGN_DEFAULT)
#undef SAMITE_SAME_VALUE

#define SAMITE_SAME_PLACE(ours, member, theirs, their_member)               \
  static_assert(offsetof(ours, member) == offsetof(theirs, their_member) && \
                    sizeof(ours::member) == sizeof(theirs::their_member),   \
                #ours "::" #member);
SAMITE_SAME_PLACE(LaunchAttribute, id, CUlaunchAttribute, id)
SAMITE_SAME_PLACE(LaunchAttribute, value, CUlaunchAttribute, value)
SAMITE_SAME_PLACE(LaunchAttributeValue, cooperative, CUlaunchAttributeValue, cooperative)
SAMITE_SAME_PLACE(LaunchAttributeValue, cluster_dimension, CUlaunchAttributeValue, clusterDim)
SAMITE_SAME_PLACE(LaunchAttributeValue, programmatic_stream_serialization_allowed, CUlaunchAttributeValue,
                  programmaticStreamSerializationAllowed)
SAMITE_SAME_PLACE(LaunchAttributeValue, priority, CUlaunchAttributeValue, priority)
SAMITE_SAME_PLACE(LaunchAttributeValue, shared_carveout, CUlaunchAttributeValue, sharedMemCarveout)
SAMITE_SAME_PLACE(LaunchConfig, grid_x, CUlaunchConfig, gridDimX)
SAMITE_SAME_PLACE(LaunchConfig, grid_y, CUlaunchConfig, gridDimY)
SAMITE_SAME_PLACE(LaunchConfig, grid_z, CUlaunchConfig, gridDimZ)
SAMITE_SAME_PLACE(LaunchConfig, block_x, CUlaunchConfig, blockDimX)
SAMITE_SAME_PLACE(LaunchConfig, block_y, CUlaunchConfig, blockDimY)
SAMITE_SAME_PLACE(LaunchConfig, block_z, CUlaunchConfig, blockDimZ)
SAMITE_SAME_PLACE(LaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes)
SAMITE_SAME_PLACE(LaunchConfig, stream, CUlaunchConfig, hStream)
SAMITE_SAME_PLACE(LaunchConfig, attributes, CUlaunchConfig, attrs)
SAMITE_SAME_PLACE(LaunchConfig, attribute_count, CUlaunchConfig, numAttrs)
SAMITE_SAME_PLACE(MemoryLocation, type, CUmemLocation, type)
SAMITE_SAME_PLACE(MemoryLocation, device, CUmemLocation, id)
SAMITE_SAME_PLACE(MemoryAccessDescription, location, CUmemAccessDesc, location)
SAMITE_SAME_PLACE(MemoryAccessDescription, access, CUmemAccessDesc, flags)
SAMITE_SAME_PLACE(MemoryPoolProperties, allocation_type, CUmemPoolProps, allocType)
SAMITE_SAME_PLACE(MemoryPoolProperties, handle_types, CUmemPoolProps, handleTypes)
SAMITE_SAME_PLACE(MemoryPoolProperties, location, CUmemPoolProps, location)
SAMITE_SAME_PLACE(MemoryPoolProperties, max_bytes, CUmemPoolProps, maxSize)
SAMITE_SAME_PLACE(MemoryPoolProperties, usage, CUmemPoolProps, usage)
SAMITE_SAME_PLACE(GraphUpdateInfo, result, CUgraphExecUpdateResultInfo, result)
SAMITE_SAME_PLACE(GraphUpdateInfo, error_node, CUgraphExecUpdateResultInfo, errorNode)
SAMITE_SAME_PLACE(GraphUpdateInfo, error_from_node, CUgraphExecUpdateResultInfo, errorFromNode)
SAMITE_SAME_PLACE(KernelNodeParameters, function, CUDA_KERNEL_NODE_PARAMS_v2, func)
SAMITE_SAME_PLACE(KernelNodeParameters, grid_x, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX)
SAMITE_SAME_PLACE(KernelNodeParameters, grid_y, CUDA_KERNEL_NODE_PARAMS_v2, gridDimY)
SAMITE_SAME_PLACE(KernelNodeParameters, grid_z, CUDA_KERNEL_NODE_PARAMS_v2, gridDimZ)
SAMITE_SAME_PLACE(KernelNodeParameters, block_x, CUDA_KERNEL_NODE_PARAMS_v2, blockDimX)
SAMITE_SAME_PLACE(KernelNodeParameters, block_y, CUDA_KERNEL_NODE_PARAMS_v2, blockDimY)
SAMITE_SAME_PLACE(KernelNodeParameters, block_z, CUDA_KERNEL_NODE_PARAMS_v2, blockDimZ)
SAMITE_SAME_PLACE(KernelNodeParameters, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes)
SAMITE_SAME_PLACE(KernelNodeParameters, parameters, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams)
SAMITE_SAME_PLACE(KernelNodeParameters, extra, CUDA_KERNEL_NODE_PARAMS_v2, extra)
SAMITE_SAME_PLACE(KernelNodeParameters, kernel, CUDA_KERNEL_NODE_PARAMS_v2, kern)
SAMITE_SAME_PLACE(KernelNodeParameters, context, CUDA_KERNEL_NODE_PARAMS_v2, ctx)
SAMITE_SAME_PLACE(KernelNodeParameters, function, CUDA_KERNEL_NODE_PARAMS_v3, func)
SAMITE_SAME_PLACE(KernelNodeParameters, grid_x, CUDA_KERNEL_NODE_PARAMS_v3, gridDimX)
SAMITE_SAME_PLACE(KernelNodeParameters, grid_y, CUDA_KERNEL_NODE_PARAMS_v3, gridDimY)
SAMITE_SAME_PLACE(KernelNodeParameters, grid_z, CUDA_KERNEL_NODE_PARAMS_v3, gridDimZ)
SAMITE_SAME_PLACE(KernelNodeParameters, block_x, CUDA_KERNEL_NODE_PARAMS_v3, blockDimX)
SAMITE_SAME_PLACE(KernelNodeParameters, block_y, CUDA_KERNEL_NODE_PARAMS_v3, blockDimY)
SAMITE_SAME_PLACE(KernelNodeParameters, block_z, CUDA_KERNEL_NODE_PARAMS_v3, blockDimZ)
SAMITE_SAME_PLACE(KernelNodeParameters, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v3, sharedMemBytes)
SAMITE_SAME_PLACE(KernelNodeParameters, parameters, CUDA_KERNEL_NODE_PARAMS_v3, kernelParams)
SAMITE_SAME_PLACE(KernelNodeParameters, extra, CUDA_KERNEL_NODE_PARAMS_v3, extra)
SAMITE_SAME_PLACE(KernelNodeParameters, kernel, CUDA_KERNEL_NODE_PARAMS_v3, kern)
SAMITE_SAME_PLACE(KernelNodeParameters, context, CUDA_KERNEL_NODE_PARAMS_v3, ctx)
SAMITE_SAME_PLACE(GraphEdgeData, from_port, CUgraphEdgeData, from_port)
SAMITE_SAME_PLACE(GraphEdgeData, to_port, CUgraphEdgeData, to_port)
SAMITE_SAME_PLACE(GraphEdgeData, type, CUgraphEdgeData, type)
SAMITE_SAME_PLACE(ConditionalNodeParameters, handle, CUDA_CONDITIONAL_NODE_PARAMS, handle)
SAMITE_SAME_PLACE(ConditionalNodeParameters, type, CUDA_CONDITIONAL_NODE_PARAMS, type)
SAMITE_SAME_PLACE(ConditionalNodeParameters, size, CUDA_CONDITIONAL_NODE_PARAMS, size)
SAMITE_SAME_PLACE(ConditionalNodeParameters, bodies, CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out)
SAMITE_SAME_PLACE(ConditionalNodeParameters, context, CUDA_CONDITIONAL_NODE_PARAMS, ctx)
SAMITE_SAME_PLACE(GraphNodeParameters, type, CUgraphNodeParams, type)
SAMITE_SAME_PLACE(GraphNodeParameters, kernel, CUgraphNodeParams, kernel)
SAMITE_SAME_PLACE(GraphNodeParameters, conditional, CUgraphNodeParams, conditional)
#undef SAMITE_SAME_PLACE

// The toolkit names a typedef for each function and version, so a row is right if it matches that of its version.
#define SAMITE_SAME_FUNCTION(name, version, need, parameters) \
  static_assert(SameSignature<decltype(EntryPoints::name), PFN_cu##name##_v##version>::value, "cu" #name);
SAMITE_DRIVER_ENTRY_POINTS(SAMITE_SAME_FUNCTION)
#undef SAMITE_SAME_FUNCTION

TEST(Abi, HandlesAreTheDriversOwnTypes) {
  EXPECT_TRUE((std::is_same_v<driver::CUcontext, ::CUcontext>));
  EXPECT_TRUE((std::is_same_v<driver::CUstream, ::CUstream>));
  EXPECT_TRUE((std::is_same_v<driver::CUdeviceptr, ::CUdeviceptr>));
}

}  // namespace
}  // namespace samite::driver
