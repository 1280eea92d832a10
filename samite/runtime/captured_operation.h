// Operations of the host on buffers of a CUDA device, put into a stream that is being captured.
//
// Outside of a capture such an operation runs in the device's standard stream, and may wait and allocate on the way
// (runtime/transfer.h). In a capture it is kernels, copies within the device and fills, which the body of a condition
// may have as well.
#pragma once

#include "samite/runtime/cuda_stream.h"
#include "samite/runtime/host_operation.h"

#include <memory>
#include <vector>

namespace samite {

// A copy within the device, a write or a fill. Values of the host are put into memory of the device now. What the
// operation needs of memory beside its buffers is added to `kept`, which must live as long as the graph. DeviceError.
void put_captured(const HostOperation &operation, const CudaStream &stream,
                  std::vector<std::shared_ptr<Storage>> &kept);

}  // namespace samite
