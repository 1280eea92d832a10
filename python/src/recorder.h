// Takes the calls of a thread, in place of launching them directly: a tape or the capture of a graph.
#pragma once

#include "signature.h"

namespace samite::python {

class LaunchObject;

class Recorder {
 public:
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;

  // The arguments are bound but not yet checked; `given` has the object of each parameter.
  virtual void call(const Signature &signature, Bound bound, const std::vector<PyObject *> &given) = 0;
  virtual void call(LaunchObject &launch) = 0;

  // This thread's recorder, or null. The caller holds Python's lock.
  static Recorder *current();

 protected:
  Recorder() = default;
  ~Recorder() = default;

  // Makes `recorder` this thread's; UserError if the thread has one. Keeps `self`, its Python object, until end().
  static void begin(Recorder &recorder, const nb::object &self, const char *what);
  static void end() noexcept;
};

}  // namespace samite::python
