#include "samite/distributed/array_memory.h"

#include "samite/jit/graph_capture.h"
#include "samite/runtime/cuda_memory.h"

namespace samite::distributed {

void *used_in(const Stream &stream, const AnyBuffer &buffer) {
  if (!buffer.valid()) return nullptr;
  if (CudaMemory *cuda = buffer.storage()->cuda()) {
    cuda->used_by(stream.cuda_handle());
    if (jit::GraphCapture *capture = jit::GraphCapture::current()) capture->keep(buffer.storage());
  }
  return buffer.data();
}

}  // namespace samite::distributed
