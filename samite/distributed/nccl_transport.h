// Ranks that have a CUDA device each, over NCCL: processes, or threads of one process.
#pragma once

#include "samite/distributed/nccl_library.h"
#include "samite/distributed/transport.h"

#include <vector>

namespace samite::distributed {

NcclId new_nccl_id();

// A call of all ranks, each with its own device. DeviceError.
std::shared_ptr<Transport> nccl_transport(const NcclId &id, int rank, int size, Device device, Timeout timeout);

// The ranks of one process, in order: one for each device.
std::vector<std::shared_ptr<Transport>> nccl_transports(std::span<const Device> devices, Timeout timeout);

}  // namespace samite::distributed
