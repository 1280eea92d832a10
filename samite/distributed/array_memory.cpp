#include "samite/distributed/array_memory.h"

#include "samite/jit/graph_capture.h"
#include "samite/runtime/cuda_memory.h"

namespace samite::distributed {

void note_use(const Stream &stream, const AnyBuffer &buffer) {
  buffer.storage()->cuda()->used_by(stream.cuda_handle());
  if (jit::GraphCapture *capture = jit::GraphCapture::current()) capture->keep(buffer.storage());
}

}  // namespace samite::distributed
