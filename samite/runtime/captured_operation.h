// Buffer operations of the host on a CUDA device, in a stream that is being captured.
//
// Outside of a capture such an operation runs in the device's standard stream, and may wait and allocate
// (runtime/transfer.h). In a capture it consists of kernels, copies within the device and fills, which the body of a
// condition may contain as well.
#pragma once

#include "samite/runtime/cuda_stream.h"
#include "samite/runtime/host_operation.h"

#include <memory>
#include <vector>

namespace samite {

// A copy within the device, a write or a fill. Host values are copied to device memory now. The operation's additional
// memory is appended to `kept`, which must live as long as the graph. DeviceError.
void put_captured(const HostOperation &operation, const CudaStream &stream,
                  std::vector<std::shared_ptr<Storage>> &kept);

}  // namespace samite
