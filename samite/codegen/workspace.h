// Memory for local arrays that are too large for the stack, or whose size is known only at run time: the host's side of
// samite/device/cpu/workspace.h, which is compiled into the kernel.
//
// A stack in chunks that never move. The kernel allocates from the current chunk by advancing `next`, and resets `next`
// and `end` when the allocating block ends. If the chunk is too small, it requests another. The caller of the entry
// passes a workspace that no other thread uses during the call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace samite::codegen {

struct Workspace {
  static constexpr std::size_t alignment = 64;  // of `next`, and of every allocation

  std::byte *next = nullptr, *end = nullptr;  // the free part of the current chunk
  // Makes the next chunk with at least `bytes` left, a multiple of the alignment, current. Returns false if memory runs
  // out. Must not throw: emitted code calls it.
  bool (*grow)(Workspace *workspace, std::int64_t bytes) = nullptr;
};
static_assert(sizeof(Workspace) == 24 && offsetof(Workspace, grow) == 16);

}  // namespace samite::codegen
