// A scheduled pipeline, as Python calls it. Each call checks its arguments and runs; record() checks them once.
#pragma once

#include "launch_object.h"

namespace samite::python {

class PipelineObject {
 public:
  PipelineObject(std::string name, std::string documentation, std::shared_ptr<jit::PipelineDefinition> definition,
                 const std::vector<std::size_t> &counts)
      : signature_(std::move(name), std::move(definition), counts), documentation_(std::move(documentation)) {}

  const Signature &signature() const { return signature_; }
  const std::string &name() const { return signature_.function(); }
  const std::string &documentation() const { return documentation_; }
  // As in KernelObject.
  const nb::object &origin() const { return origin_; }
  void set_origin(nb::object origin) { origin_ = std::move(origin); }

  void call(PyObject *positional, PyObject *named) const;
  std::unique_ptr<LaunchObject> record(PyObject *positional, PyObject *named) const;

 private:
  Signature signature_;
  std::string documentation_;
  nb::object origin_ = nb::none();
};

void define_pipeline(nb::module_ &module);

}  // namespace samite::python
