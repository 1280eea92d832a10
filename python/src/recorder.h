// What takes the calls of a thread, instead of running each by itself: a tape or the capture of a graph.
#pragma once

#include "signature.h"

namespace samite::python {

class LaunchObject;

class Recorder {
 public:
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;

  // Of arguments that are bound and not yet checked; `given` has the object of each parameter.
  virtual void call(const Signature &signature, Bound bound, const std::vector<PyObject *> &given) = 0;
  virtual void call(LaunchObject &launch) = 0;

  // That of this thread, or null. Python's lock is held.
  static Recorder *current();

 protected:
  Recorder() = default;
  ~Recorder() = default;

  // Makes `recorder` this thread's, which has none; `self` is its object in Python, which lives until end().
  static void begin(Recorder &recorder, const nb::object &self, const char *what);
  static void end() noexcept;
};

}  // namespace samite::python
