// Python's lock is not held while one of these lives, so that its other threads run.
//
// When the interpreter ends, a thread that would take the lock again is ended by it, in the midst of C++. So the end
// waits for the threads that are in here, and those that come later stay in here for good.
#pragma once

#include "python_errors.h"

namespace samite::python {

class Unlocked {
 public:
  Unlocked();
  Unlocked(const Unlocked &) = delete;
  Unlocked &operator=(const Unlocked &) = delete;
  ~Unlocked();

  // Lets the end of the interpreter wait.
  static void watch_end();

 private:
  PyThreadState *state_;
};

}  // namespace samite::python
