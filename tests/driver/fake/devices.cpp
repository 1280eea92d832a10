// The fake's devices and contexts.
#include "tests/driver/fake/state.h"

#include <algorithm>
#include <cstring>

namespace samite::driver::fake {
namespace {

bool exists(CUdevice device) { return device >= 0 && device < state().options.devices; }

}  // namespace

Result Init(unsigned) {
  if (state().options.devices == 0) return Result::no_device;
  state().initialized = true;
  return Result::success;
}

Result DriverGetVersion(int *version) {
  *version = state().options.version;
  return Result::success;
}

Result GetErrorName(Result error, const char **text) {
  switch (error) {
#define SAMITE_NAME(name, driver_name, value, kind) \
  case Result::name: *text = "CUDA_ERROR_" #driver_name; return Result::success;
    SAMITE_DRIVER_RESULTS(SAMITE_NAME)
#undef SAMITE_NAME
    default: *text = nullptr; return Result::invalid_value;
  }
}

Result GetErrorString(Result error, const char **text) {
  switch (error) {
#define SAMITE_NAME(name, driver_name, value, kind) \
  case Result::name: *text = "the fake's words for " #name; return Result::success;
    SAMITE_DRIVER_RESULTS(SAMITE_NAME)
#undef SAMITE_NAME
    default: *text = nullptr; return Result::invalid_value;
  }
}

Result DeviceGetCount(int *count) {
  *count = state().options.devices;
  return Result::success;
}

Result DeviceGet(CUdevice *device, int ordinal) {
  if (!exists(ordinal)) return Result::invalid_device;
  *device = ordinal;
  return Result::success;
}

Result DeviceGetName(char *name, int bytes, CUdevice) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes));
  return Result::success;
}

Result DeviceGetAttribute(int *value, DeviceAttribute attribute, CUdevice device) {
  if (!exists(device)) return Result::invalid_device;
  const int capability = state().options.compute_capability;
  switch (attribute) {
    case DeviceAttribute::max_threads_per_block: *value = 1024; break;
    case DeviceAttribute::max_block_x:
    case DeviceAttribute::max_block_y: *value = 1024; break;
    case DeviceAttribute::max_block_z: *value = 64; break;
    case DeviceAttribute::max_grid_x: *value = 2147483647; break;
    case DeviceAttribute::max_grid_y:
    case DeviceAttribute::max_grid_z: *value = 65535; break;
    case DeviceAttribute::max_shared_memory_per_block: *value = 48 * 1024; break;
    case DeviceAttribute::max_shared_memory_per_block_optin: *value = 227 * 1024; break;
    case DeviceAttribute::max_shared_memory_per_multiprocessor: *value = 228 * 1024; break;
    case DeviceAttribute::warp_size: *value = 32; break;
    case DeviceAttribute::multiprocessor_count: *value = 4; break;
    case DeviceAttribute::memory_clock_rate: *value = 1'000'000; break;
    case DeviceAttribute::memory_bus_width: *value = 64; break;
    case DeviceAttribute::compute_capability_major: *value = capability / 10; break;
    case DeviceAttribute::compute_capability_minor: *value = capability % 10; break;
    case DeviceAttribute::cluster_launch:
    case DeviceAttribute::tensor_map_access_supported: *value = capability >= 90; break;
    default: *value = 1; break;
  }
  return Result::success;
}

Result DeviceTotalMem(std::size_t *bytes, CUdevice) {
  *bytes = state().options.device_bytes;
  return Result::success;
}

Result DeviceGetUuid(Uuid *uuid, CUdevice device) {
  *uuid = {};
  uuid->bytes[15] = static_cast<char>(device);
  return Result::success;
}

Result DeviceGetPCIBusId(char *bus_id, int bytes, CUdevice) {
  std::strncpy(bus_id, "0000:01:00.0", static_cast<std::size_t>(bytes));
  return Result::success;
}

Result DeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  *can = exists(device) && exists(peer) && device != peer && device < 2 && peer < 2;
  return Result::success;
}

Result DeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
  *pool = handle_of<CUmemoryPool>(*state().standard_pools[static_cast<std::size_t>(device)]);
  return Result::success;
}

Result DevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (!state().initialized) return state().mistake("cuInit was not called", Result::not_initialized);
  Context &primary = *state().primary[static_cast<std::size_t>(device)];
  ++primary.retained;
  *context = handle_of<CUcontext>(primary);
  return Result::success;
}

Result DevicePrimaryCtxRelease(CUdevice device) {
  Context &primary = *state().primary[static_cast<std::size_t>(device)];
  if (primary.retained == 0) return state().mistake("the context was not retained", Result::invalid_context);
  --primary.retained;
  return primary.fault;
}

Result CtxGetCurrent(CUcontext *context) {
  *context = context_stack().empty() ? nullptr : handle_of<CUcontext>(*context_stack().back());
  return Result::success;
}

Result CtxPushCurrent(CUcontext context) {
  context_stack().push_back(reinterpret_cast<Context *>(context));
  if (current() != nullptr) return Result::success;
  context_stack().pop_back();
  return Result::invalid_context;
}

Result CtxPopCurrent(CUcontext *context) {
  if (context_stack().empty()) return state().mistake("no context is current", Result::invalid_context);
  *context = handle_of<CUcontext>(*context_stack().back());
  context_stack().pop_back();
  return Result::success;
}

Result CtxSynchronize() {
  const Context *context = current();
  if (context == nullptr) return Result::invalid_context;
  for (const auto &stream : state().streams) {
    if (stream->context != context) continue;
    if (const Result code = refuse_in_capture(*stream); code != Result::success) return code;
    state().host.join(stream->clock);
  }
  return Result::success;
}

Result CtxEnablePeerAccess(CUcontext peer, unsigned) {
  Context *context = current();
  if (context == nullptr) return Result::invalid_context;
  const bool added = context->peers.insert(reinterpret_cast<Context *>(peer)).second;
  return added ? Result::success : Result::peer_access_already_enabled;
}

Result CtxDisablePeerAccess(CUcontext peer) {
  Context *context = current();
  if (context == nullptr) return Result::invalid_context;
  const bool removed = context->peers.erase(reinterpret_cast<Context *>(peer)) > 0;
  return removed ? Result::success : Result::peer_access_not_enabled;
}

Result CtxGetStreamPriorityRange(int *least, int *greatest) {
  if (current() == nullptr) return Result::invalid_context;
  *least = 0;
  *greatest = -5;
  return Result::success;
}

}  // namespace samite::driver::fake
