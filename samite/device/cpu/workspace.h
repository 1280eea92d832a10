// Local arrays that are not on the stack. The host's side of the same layout is samite/codegen/workspace.h.
#pragma once

#include "samite/device/cpu/failure.h"

namespace samite {

struct Workspace {
  u8 *next, *end;  // the rest of the current chunk
  bool (*grow)(Workspace *workspace, i64 bytes);
};
static_assert(sizeof(Workspace) == 24 && __builtin_offsetof(Workspace, grow) == 16);

// Its destructor releases the memory that was allocated during its lifetime.
struct WorkspaceScope {
  Workspace *workspace;
  u8 *next, *end;

  SAMITE_INLINE_MEMBER explicit WorkspaceScope(Workspace *used) : workspace(used), next(used->next), end(used->end) {}
  WorkspaceScope(const WorkspaceScope &) = delete;
  SAMITE_INLINE_MEMBER ~WorkspaceScope() {
    workspace->next = next;
    workspace->end = end;
  }
};

// `count` vectors or scalars for each lane or instance, fewer than 2^31 scalars in all, so that offsets are i32. Null
// if there is no memory; then the failure is reported with the requested size.
template <class T>
SAMITE_INLINE T *allocate(Workspace *workspace, Failure *failure, i64 count, i64 lanes, u32 site) {
  constexpr i64 alignment = 64, most_scalars = (i64(1) << 31) - 1, unknown = ~(i64(1) << 63);
  i64 bytes;
  if (__builtin_mul_overflow(count, i64(sizeof(T)), &bytes)) bytes = unknown;
  if (count <= 0) bytes = alignment;  // an address, although it holds nothing
  if (__builtin_expect(count <= most_scalars / lanes, 1)) {
    bytes = (bytes + alignment - 1) & -alignment;
    if (__builtin_expect(workspace->end - workspace->next >= bytes, 1) || workspace->grow(workspace, bytes)) {
      T *memory = reinterpret_cast<T *>(workspace->next);
      workspace->next += bytes;
      return memory;
    }
  }
  report(failure, failure_memory, site, 0, bytes, 0, 0, 0);
  return nullptr;
}

}  // namespace samite
