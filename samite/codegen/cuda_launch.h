// The parameters of a CUDA launch besides its arguments: the host's side of samite/device/cuda/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace samite::codegen {

// The instances of a launch: [begin, end) in each of its dimensions. Dimensions beyond the launch's rank are ignored.
struct CudaBox {
  std::int64_t begin[4] = {}, end[4] = {};
};
static_assert(sizeof(CudaBox) == 64 && offsetof(CudaBox, end) == 32);

// Device memory for local arrays that do not fit a thread's own memory: `bytes_per_thread`, a multiple of 8, for each
// thread of the grid (blocks × threads of a block). The threads' shares are interleaved: see
// samite/device/cuda/workspace.h. The memory may be uninitialised.
struct CudaWorkspace {
  std::byte *base = nullptr;
  std::int64_t bytes_per_thread = 0;
};
static_assert(sizeof(CudaWorkspace) == 16 && offsetof(CudaWorkspace, bytes_per_thread) == 8);

}  // namespace samite::codegen
