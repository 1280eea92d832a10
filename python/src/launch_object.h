// A recorded launch of a kernel or a pipeline as Python calls it: arguments are read, checked and compiled for once.
//
// It keeps its arrays. Python's lock is not held while the launch runs.
#pragma once

#include "recorder.h"

#include <memory>
#include <string>
#include <variant>
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

  std::string to_string() const;
  Extents extents() const;  // of no dimension for a pipeline
  // Runs it, or puts it into the graph that this thread captures.
  void run(SourceLocation where);
  // UserError for a pipeline's.
  const Launch &of_kernel() const;

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
  std::string schedule_;
  std::vector<std::uint64_t> bits_;
  // By parameter, where it is an array: the object, and what its library has lent.
  std::vector<nb::object> objects_;
  std::vector<std::shared_ptr<Loan>> loans_;
  std::variant<Launch, PipelineLaunch> launch_;  // goes first
};

// For launches of arguments that are read: buffers over their memory, which keep nothing alive.
AnyBuffer borrowed(const ArrayKey &key, const std::optional<Stream> &stream);
std::vector<jit::OwnedArgument> owned_arguments(const Signature &signature, const Bound &bound);

}  // namespace samite::python
