#include "samite/distributed/array_memory.h"

#include "samite/runtime/cuda_memory.h"

namespace samite::distributed {

void *used_in(const Stream &stream, const AnyBuffer &buffer) {
  if (!buffer.valid()) return nullptr;
  if (CudaMemory *cuda = buffer.storage()->cuda()) cuda->used_by(stream.cuda_handle());
  return buffer.data();
}

}  // namespace samite::distributed
