#include "recorder.h"

#include <utility>

namespace samite::python {
namespace {

struct Current {
  Recorder *recorder = nullptr;
  PyObject *self = nullptr;
};
thread_local Current now;

}  // namespace

Recorder *Recorder::current() { return now.recorder; }

void Recorder::begin(Recorder &recorder, const nb::object &self, const char *what) {
  if (now.recorder)
    throw UserError(std::string(what) +
                    " cannot begin while this thread records another tape or captures a graph: end " + "that first");
  now = {&recorder, nb::object(self).release().ptr()};
}

void Recorder::end() noexcept { Py_XDECREF(std::exchange(now, Current{}).self); }

}  // namespace samite::python
