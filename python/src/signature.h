// A kernel's parameters as Python sees them, and the arguments of a call bound to them.
#pragma once

#include "array_view.h"
#include "samite/jit/definition.h"
#include "samite/jit/launch.h"
#include "samite/jit/pipeline_definition.h"
#include "samite/jit/pipeline_launch.h"

#include <string>
#include <vector>

namespace samite::python {

// One parameter of the user's C++ function.
struct Parameter {
  std::string name;
  std::string what;          // its name in messages: "diffuse(): argument 'now'"
  nb::object key;            // the name, for keyword arguments
  std::size_t first, count;  // among the kernel's parameters: a struct of scalars has several
  bool is_array, is_written;
  bool is_read;  // an array whose elements the kernel loads or adds to
};

// A call's options, besides the kernel's arguments.
struct CallOptions {
  PyObject *extents = nullptr, *stream = nullptr;  // borrowed
  std::string schedule;                            // for a pipeline
  std::optional<bool> debug;
  bool deterministic = false;
};

// The arguments of one call. Arrays are in the order of the kernel's array parameters.
struct Bound {
  std::vector<ArrayView> arrays;
  std::vector<std::uint64_t> bits;  // by the kernel's parameter; 0 for an array
  Extents extents;
  std::optional<Stream> stream;
  LaunchOptions options() const;
  PipelineOptions pipeline_options() const;
  std::string schedule;
  std::optional<bool> debug;
  bool deterministic = false;
};

class Signature {
 public:
  // `counts` is as in KernelForModule. UserError if a parameter has the name of a call's option.
  Signature(std::string function, std::shared_ptr<jit::KernelDefinition> definition,
            const std::vector<std::size_t> &counts);
  Signature(std::string function, std::shared_ptr<jit::PipelineDefinition> pipeline,
            const std::vector<std::size_t> &counts);

  const std::string &function() const { return function_; }  // its name in messages
  // One of these two is null.
  const std::shared_ptr<jit::KernelDefinition> &definition() const { return definition_; }
  const std::shared_ptr<jit::PipelineDefinition> &pipeline() const { return pipeline_; }
  const std::vector<ir::Parameter> &described() const {
    return definition_ ? definition_->parameters() : pipeline_->parameters();
  }
  const std::vector<Parameter> &parameters() const { return parameters_; }
  std::vector<std::size_t> counts() const;
  std::string text() const;  // "diffuse(next: float32[:, :], now: float32[:, :], rate: float32)"

  // Reads the arguments, and checks only as much as reading needs. TypeError if the call does not match the function's
  // parameters, UserError if an argument cannot be read.
  Bound bind(PyObject *positional, PyObject *named) const;
  // The object of each parameter, borrowed.
  std::vector<PyObject *> objects(PyObject *positional, PyObject *named) const;
  // Makes the other checks before a launch: types, dimensions, devices, and whether written arrays are writable.
  void check(const Bound &bound, const std::vector<PyObject *> &given) const;

  // Each reads or checks a single argument.
  ArrayView read_array(const Parameter &parameter, PyObject *object, const std::optional<Stream> &stream) const;
  void read_scalars(const Parameter &parameter, PyObject *object, std::uint64_t *bits) const;
  void check_array(const Parameter &parameter, const ArrayKey &key, PyObject *object) const;
  Extents read_extents(PyObject *object) const;

 private:
  void name_parameters(const std::vector<std::size_t> &counts, std::uint64_t written, std::uint64_t read,
                       SourceLocation where);
  jit::Callee callee() const { return definition_ ? jit::Callee(*definition_) : pipeline_->callee(); }
  // The object of each parameter, borrowed; fills `options`.
  std::vector<PyObject *> assign(PyObject *positional, PyObject *named, CallOptions &options) const;
  bool take_option(PyObject *name, PyObject *value, CallOptions &options) const;
  Extents extents_of(const Bound &bound) const;
  const ir::Parameter &described(const Parameter &parameter) const { return described()[parameter.first]; }

  std::string function_;
  std::shared_ptr<jit::KernelDefinition> definition_;
  std::shared_ptr<jit::PipelineDefinition> pipeline_;
  std::vector<Parameter> parameters_;
  std::size_t array_count_ = 0;
};

}  // namespace samite::python
