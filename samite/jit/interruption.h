// Ends a kernel that runs on the CPU before all of its instances have run, e.g. on Ctrl-C.
//
// The library installs no signal handler. A program gives its thread a check, which the thread calls between blocks of
// instances of the kernels that it launches, about every 20 ms or when a block has ended. An exception from the check
// ends the launch: blocks that run are finished, the others are dropped, and the launch throws that exception. The
// kernel's output is then incomplete.
//
// A launch that runs as one block is not interrupted: a short one, and one that sums in a fixed order on one thread
// (LaunchOptions::deterministic).
#pragma once

namespace samite {

// The check of this thread's launches, during its lifetime. An inner one replaces an outer one.
class InterruptionCheck {
 public:
  using Function = void (*)(void *context);

  InterruptionCheck(Function function, void *context);
  InterruptionCheck(const InterruptionCheck &) = delete;
  InterruptionCheck &operator=(const InterruptionCheck &) = delete;
  ~InterruptionCheck();

  // This thread's; null if it has none.
  static const InterruptionCheck *current();

  void call() const { function_(context_); }

 private:
  Function function_;
  void *context_;
  const InterruptionCheck *outer_;
};

}  // namespace samite
