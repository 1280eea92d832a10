// Python's lock is not held while one of these lives, so that its other threads run.
// On Python's main thread Ctrl-C ends a kernel on the CPU at its next block: between blocks Python runs the handlers of
// the signals that have arrived, and KeyboardInterrupt, or what else a handler raises, ends the launch.
//
// When the interpreter ends, a thread that would take the lock again is ended by it, in the midst of C++. So the end
// waits for the threads that are in here, and those that come later stay in here for good.
#pragma once

#include "python_errors.h"

#include "samite/jit/interruption.h"

#include <optional>

namespace samite::python {

class Unlocked {
 public:
  Unlocked();
  Unlocked(const Unlocked &) = delete;
  Unlocked &operator=(const Unlocked &) = delete;
  ~Unlocked();

  // Lets the end of the interpreter wait. Called on the main thread.
  static void watch_end();

 private:
  static void run_signal_handlers(void *unlocked);

  PyThreadState *state_;
  std::optional<InterruptionCheck> check_;
};

}  // namespace samite::python
