// A recorded launch as Python calls it: arguments are read, checked and compiled for once.
//
// It keeps its arrays. Python's lock is not held while the launch runs.
#pragma once

#include "signature.h"

#include <string>
#include <vector>

namespace samite::python {

class LaunchObject {
 public:
  // Of arguments that are checked; `positional` and `named` are what they were read from.
  LaunchObject(const Signature &signature, Bound bound, PyObject *positional, PyObject *named);
  LaunchObject(const LaunchObject &) = delete;
  LaunchObject &operator=(const LaunchObject &) = delete;

  void launch();
  // Exchanges arguments by their names, and extents.
  void set(const nb::kwargs &named);

  std::string to_string() const { return launch_.to_string(); }
  const Extents &extents() const { return launch_.extents(); }

 private:
  const Parameter &parameter(PyObject *name) const;

  Signature signature_;
  std::optional<Stream> stream_;
  std::vector<std::uint64_t> bits_;
  // By parameter, where it is an array: the object, and what its library has lent.
  std::vector<nb::object> objects_;
  std::vector<Loan> loans_;
  Launch launch_;  // goes first
};

// For launches of arguments that are read: buffers over their memory, which keep nothing alive.
AnyBuffer borrowed(const ArrayKey &key, const std::optional<Stream> &stream);
std::vector<jit::OwnedArgument> owned_arguments(const Signature &signature, const Bound &bound);

}  // namespace samite::python
