// A recorded launch of a kernel or a pipeline, as Python calls it: its arguments are read and checked once, and its
// code is compiled once.
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
  // The arguments are already checked; `given` has the object of each parameter.
  LaunchObject(const Signature &signature, Bound bound, const std::vector<PyObject *> &given);
  LaunchObject(const LaunchObject &) = delete;
  LaunchObject &operator=(const LaunchObject &) = delete;

  void launch();
  // Changes arguments by name, and extents.
  void set(const nb::kwargs &named);

  std::string to_string() const;
  Extents extents() const;  // without dimensions for a pipeline
  // Runs the launch, or adds it to the graph that this thread captures.
  void run(SourceLocation where);
  // UserError for a pipeline's launch.
  const Launch &of_kernel() const;

  // Gives the recorder a call with the current arguments.
  void call_again(Recorder &recorder) const;
  // Keeps the current arrays alive, even after set() changes them.
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
  // For each parameter: an array's object and the loan of its memory; null for numbers.
  std::vector<nb::object> objects_;
  std::vector<std::shared_ptr<Loan>> loans_;
  std::variant<Launch, PipelineLaunch> launch_;  // destroyed first
};

// Buffers over the memory of arguments that have been read. They keep nothing alive.
AnyBuffer borrowed(const ArrayKey &key, const std::optional<Stream> &stream);
std::vector<jit::OwnedArgument> owned_arguments(const Signature &signature, const Bound &bound);

}  // namespace samite::python
