// Ranks with one CUDA device each, over NCCL: processes, or threads of one process.
#pragma once

#include "samite/distributed/nccl_library.h"
#include "samite/distributed/transport.h"

#include <vector>

namespace samite::distributed {

struct NcclOptions {
  Timeout timeout{0};     // of synchronize() and barrier(); 0 waits forever
  bool verified = false;  // each collective call first gathers all ranks' names of it, and waits for them
  bool borrowed = false;  // the communicator is the program's, which destroys it
};

NcclId new_nccl_id();

// A collective call, in which each rank has its own device. DeviceError.
std::shared_ptr<Transport> nccl_transport(const NcclId &id, int rank, int size, Device device,
                                          const NcclOptions &options);

// With the program's own communicator, and its rank, size and device.
std::shared_ptr<Transport> nccl_transport(NcclComm *comm, NcclOptions options);

// The ranks of one process, in order: one for each device.
std::vector<std::shared_ptr<Transport>> nccl_transports(std::span<const Device> devices, const NcclOptions &options);

}  // namespace samite::distributed
