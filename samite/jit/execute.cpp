#include "samite/jit/execute.h"

#include "samite/base/error.h"
#include "samite/jit/failure_report.h"
#include "samite/jit/interruption.h"
#include "samite/jit/launch_trace.h"
#include "samite/jit/messages.h"
#include "samite/jit/private_sums.h"
#include "samite/jit/race_shadows.h"
#include "samite/runtime/task_pool.h"
#include "samite/shipped/workspaces.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

namespace samite::jit {
namespace {

// The check of the launching thread, for the blocks of one launch.
class Interruption {
 public:
  explicit Interruption(const InterruptionCheck &check) : check_(check) {}

  // Before each block, on any thread. False once the check has thrown.
  bool may_run_next() {
    if (stopped_.load(std::memory_order_relaxed)) return false;
    if (std::this_thread::get_id() != caller_) return true;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return true;
    stopped_ = true;  // for the other threads, if the check throws
    check_.call();
    stopped_ = false;
    next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    return true;
  }

 private:
  const InterruptionCheck &check_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  std::atomic<bool> stopped_ = false;
};

struct Box {
  const Variant &variant;
  const std::byte *arguments;
  PrivateSums *sums;                // null if the launch is one box
  shipped::Workspaces *workspaces;  // null if the kernel needs none
  const Extents &extents;
  const Partition &partition;
  LaunchMessages &failure;
  Interruption *interruption;  // null if the launch cannot be interrupted
};

// Race shadows with their memory.
class HostRaceShadows {
 public:
  HostRaceShadows(const Variant &variant, const std::byte *arguments, const Extents &extents)
      : shadows_(variant, arguments, extents), memory_(std::calloc(std::max<std::size_t>(shadows_.bytes(), 1), 1)) {
    if (!memory_)
      throw DeviceError("allocating " + std::to_string(shadows_.bytes()) +
                            " bytes on cpu, in which debug mode notes who touches which element",
                        "out of memory; debug mode takes 8 to 40 bytes for each element of an array that is written");
  }

  const std::byte *block() { return shadows_.block(reinterpret_cast<std::uintptr_t>(memory_.get())); }

 private:
  struct Free {
    void operator()(void *memory) const noexcept { std::free(memory); }
  };

  RaceShadows shadows_;
  std::unique_ptr<void, Free> memory_;  // untouched pages take no memory
};

void run_instances(Box &box, std::int64_t begin, std::int64_t end) {
  long long low[maximum_rank] = {}, high[maximum_rank] = {};
  for (int d = 0; d < box.extents.rank(); ++d) high[d] = box.extents[d];
  low[box.partition.dimension] = begin, high[box.partition.dimension] = end;
  box.variant.host.entry(box.sums ? box.sums->block() : box.arguments, low, high, &box.failure,
                         box.workspaces ? box.workspaces->of_worker() : nullptr);
}

// The pool gives a thread many instances at once, and a kernel's estimated cost may be far from its true one: parts of
// some milliseconds are found by their times. They are whole vectors.
void run_box(void *context, std::int64_t begin, std::int64_t end) {
  using Clock = std::chrono::steady_clock;
  auto &box = *static_cast<Box *>(context);
  if (!box.interruption) return run_instances(box, begin, end);
  const std::int64_t least = box.partition.dimension == box.extents.rank() - 1 ? box.variant.host.lanes : 1;
  std::int64_t part = least;
  for (std::int64_t at = begin; at < end && box.interruption->may_run_next();) {
    const Clock::time_point start = Clock::now();
    const std::int64_t to = std::min(end, at + part);
    run_instances(box, at, to);
    at = to;
    const Clock::duration taken = Clock::now() - start;
    if (taken < std::chrono::milliseconds(1)) part = std::min(2 * part, end - begin + least);
    if (taken > std::chrono::milliseconds(10)) part = std::max(least, part / (2 * least) * least);
  }
}

}  // namespace

Partition partition(const Variant &variant, const Extents &extents) {
  if (variant.execution.one_thread) return {0, 0, true};
  return shipped::partition(extents, variant.execution.cost, variant.host.lanes,
                            InterruptionCheck::current() != nullptr);
}

void execute(const Variant &variant, const std::string &kernel, const std::byte *arguments, const Extents &extents,
             const Partition &partition) {
  if (!variant.host.entry || extents.count() == 0) return;
  std::optional<TraceSpan> traced;
  if (is_tracing()) traced.emplace("kernel", traced_name(variant, kernel, "cpu"), traced_bytes(variant, arguments));
  std::optional<HostRaceShadows> shadows;
  if (variant.races.any()) arguments = shadows.emplace(variant, arguments, extents).block();
  LaunchMessages failure(variant, extents);  // outside of the box, since the compiler would clear all its bytes first
  Box box{variant, arguments, nullptr, nullptr, extents, partition, failure, nullptr};
  std::optional<shipped::Workspaces> workspaces;
  if (variant.execution.uses_workspace) box.workspaces = &workspaces.emplace();
  std::optional<Interruption> interruption;
  if (const InterruptionCheck *check = InterruptionCheck::current(); check && !partition.whole)
    box.interruption = &interruption.emplace(*check);
  if (partition.whole) {
    run_box(&box, 0, extents[partition.dimension]);
  } else {
    std::optional<PrivateSums> sums;
    if (!variant.summed.empty()) box.sums = &sums.emplace(variant, arguments);
    parallel_for_blocks(extents[partition.dimension], run_box, &box, partition.minimum);
    if (sums) sums->merge();
  }
  traced.reset();
  if (box.failure.state != 0) throw_failure(variant, kernel, "cpu", box.failure);
  if (box.failure.failed()) box.failure.throw_first(opening(variant, kernel));
  if (const Variant *next = variant.afterwards.get())
    execute(*next, kernel, arguments, extents, jit::partition(*next, extents));
}

}  // namespace samite::jit
