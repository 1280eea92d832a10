// Releases Python's lock while an object lives, so that Python's other threads run.
// On Python's main thread Ctrl-C ends a kernel on the CPU at its next block: between blocks Python runs the handlers of
// the signals that have arrived, and an exception from a handler, such as KeyboardInterrupt, ends the launch.
//
// When the interpreter ends, it ends threads that take the lock again, in the middle of C++. So the end waits for the
// threads that have released the lock, and threads that release it later wait forever.
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

  // Makes the interpreter's end wait. Call it on the main thread.
  static void watch_end();

 private:
  static void run_signal_handlers(void *unlocked);

  PyThreadState *state_;
  std::optional<InterruptionCheck> check_;
};

}  // namespace samite::python
