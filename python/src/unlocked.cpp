#include "unlocked.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

namespace samite::python {
namespace {

// Counts the threads without Python's lock; the caller holds the lock.
struct Threads {
  int unlocked = 0;
  std::optional<std::thread::id> ending;  // the one that ends the interpreter
};
Threads &threads() {
  static Threads threads;
  return threads;
}

std::thread::id &main_thread() {
  static std::thread::id id;
  return id;
}

void wait_for_threads() {
  threads().ending = std::this_thread::get_id();
  while (threads().unlocked > 0) {
    PyThreadState *state = PyEval_SaveThread();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    PyEval_RestoreThread(state);
  }
  write_printed_quietly();
}

}  // namespace

Unlocked::Unlocked() {
  const bool too_late = threads().ending && *threads().ending != std::this_thread::get_id();
  if (too_late)
    nb::set_leak_warnings(false);  // this thread never frees its objects
  else
    ++threads().unlocked;
  state_ = PyEval_SaveThread();
  if (std::this_thread::get_id() == main_thread()) check_.emplace(run_signal_handlers, this);
  while (too_late) pause();  // NOLINT(bugprone-infinite-loop): the process ends around it
}

Unlocked::~Unlocked() {
  PyEval_RestoreThread(state_);
  --threads().unlocked;
}

void Unlocked::run_signal_handlers(void *unlocked) {
  auto &self = *static_cast<Unlocked *>(unlocked);
  PyEval_RestoreThread(self.state_);
  std::optional<nb::python_error> error;
  if (PyErr_CheckSignals() != 0) error.emplace();  // takes the error from Python
  self.state_ = PyEval_SaveThread();
  if (error) throw std::move(*error);
}

void Unlocked::watch_end() {
  main_thread() = std::this_thread::get_id();
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&wait_for_threads));
}

}  // namespace samite::python
