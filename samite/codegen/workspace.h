// Memory for local arrays that are too large for the stack, or whose size is known only when the kernel runs: the
// host's side of samite/device/cpu/workspace.h, which the kernel is compiled with.
//
// A stack in chunks that never move. The kernel allocates from the current chunk by moving `next`, and resets `next`
// and `end` when the block that allocated ends. Where the chunk is too small, it asks for another. Whoever calls the
// entry hands in a workspace that no other thread uses meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

namespace samite::codegen {

struct Workspace {
  static constexpr std::size_t alignment = 64;  // of `next`, and of every allocation

  std::byte *next = nullptr, *end = nullptr;  // what is left of the current chunk
  // Makes the next chunk current that has at least `bytes` left, a multiple of the alignment. False where there is no
  // more memory. Must not throw: emitted code calls it.
  bool (*grow)(Workspace *workspace, std::int64_t bytes) = nullptr;
};
static_assert(sizeof(Workspace) == 24 && offsetof(Workspace, grow) == 16);

}  // namespace samite::codegen
