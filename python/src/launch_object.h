// A recorded launch as Python calls it: arguments are read, checked and compiled for once.
//
// It keeps its arrays. Python's lock is not held while the launch runs.
#pragma once

#include "recorder.h"

#include <memory>
#include <string>
#include <vector>

namespace samite::python {

class LaunchObject {
 public:
  // Of arguments that are checked; `given` has the object of each parameter.
  LaunchObject(const Signature &signature, Bound bound, const std::vector<PyObject *> &given);
  LaunchObject(const LaunchObject &) = delete;
  LaunchObject &operator=(const LaunchObject &) = delete;

  void launch();
  // Exchanges arguments by their names, and extents.
  void set(const nb::kwargs &named);

  std::string to_string() const { return launch_.to_string(); }
  const Extents &extents() const { return launch_.extents(); }
  Launch &recorded() { return launch_; }

  // Gives the recorder a call with the arguments of now.
  void call_again(Recorder &recorder) const;
  // What keeps the arrays of now, whatever is exchanged later.
  struct Held {
    std::vector<nb::object> objects;
    std::vector<std::shared_ptr<Loan>> loans;
  };
  Held held() const { return {objects_, loans_}; }

 private:
  const Parameter &parameter(PyObject *name) const;

  Signature signature_;
  std::optional<Stream> stream_;
  std::optional<bool> debug_;
  bool deterministic_;
  std::vector<std::uint64_t> bits_;
  // By parameter, where it is an array: the object, and what its library has lent.
  std::vector<nb::object> objects_;
  std::vector<std::shared_ptr<Loan>> loans_;
  Launch launch_;  // goes first
};

// For launches of arguments that are read: buffers over their memory, which keep nothing alive.
AnyBuffer borrowed(const ArrayKey &key, const std::optional<Stream> &stream);
std::vector<jit::OwnedArgument> owned_arguments(const Signature &signature, const Bound &bound);

}  // namespace samite::python
