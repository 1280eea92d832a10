#include "samite/shipped/workspaces.h"

#include "samite/base/error.h"
#include "samite/runtime/task_pool.h"

#include <algorithm>
#include <new>

namespace samite::shipped {
namespace {

constexpr std::size_t smallest_chunk = std::size_t{1} << 20;
constexpr std::int64_t largest_chunk = std::int64_t{1} << 46;  // more than any machine has

}  // namespace

bool ScratchWorkspace::take_chunk(codegen::Workspace *workspace, std::int64_t bytes) noexcept {
  if (bytes > largest_chunk) return false;
  auto &self = *static_cast<ScratchWorkspace *>(workspace);
  auto wanted = std::max(smallest_chunk, static_cast<std::size_t>(bytes));
  std::size_t above = 0;  // the lowest chunk above the current one
  for (std::size_t i = 0; i < self.chunks_.size(); ++i)
    if (self.chunks_[i].memory.data() + self.chunks_[i].bytes == self.end) above = i + 1;
  try {
    // A free chunk that is too small would be too small the next time, too.
    if (above == self.chunks_.size() || self.chunks_[above].bytes < wanted) {
      while (self.chunks_.size() > above) self.chunks_.pop_back();
      self.chunks_.push_back({Scratch(wanted), wanted});
    }
  } catch (const DeviceError &) {
    return false;
  } catch (const std::bad_alloc &) {
    return false;
  }
  self.next = self.chunks_[above].memory.data();
  self.end = self.next + self.chunks_[above].bytes;
  return true;
}

Workspaces::Workspaces() : workers_(static_cast<std::size_t>(worker_slots())) {}

codegen::Workspace *Workspaces::of_worker() {
  std::unique_ptr<ScratchWorkspace> &worker = workers_[static_cast<std::size_t>(worker_index())];
  if (!worker) worker = std::make_unique<ScratchWorkspace>();
  return worker.get();
}

}  // namespace samite::shipped
