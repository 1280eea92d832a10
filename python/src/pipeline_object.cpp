#include "pipeline_object.h"

#include "description.h"
#include "samite/jit/pipeline_page.h"
#include "samite/jit/pipeline_report.h"
#include "unlocked.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

namespace samite::python {
namespace {

// The text of a named schedule for a named device.
template <auto Text>
std::string text_of(const PipelineObject &self, const std::string &schedule, const std::string &device) {
  return at_python_line([&] {
    const Device found = device_named(device, self.name());
    const Unlocked unlocked;
    return Text(*self.signature().pipeline(), found, schedule);
  });
}

}  // namespace

void PipelineObject::call(PyObject *positional, PyObject *named) const {
  at_python_line([&] {
    Bound bound = signature_.bind(positional, named);
    const std::vector<PyObject *> given = signature_.objects(positional, named);
    if (Recorder *recorder = Recorder::current()) return recorder->call(signature_, std::move(bound), given);
    signature_.check(bound, given);
    const std::vector<jit::OwnedArgument> arguments = owned_arguments(signature_, bound);
    const Unlocked unlocked;
    jit::launch_pipeline(signature_.pipeline(), bound.pipeline_options(), jit::views(arguments), SourceLocation());
  });
}

std::unique_ptr<LaunchObject> PipelineObject::record(PyObject *positional, PyObject *named) const {
  return at_python_line([&] {
    Bound bound = signature_.bind(positional, named);
    const std::vector<PyObject *> given = signature_.objects(positional, named);
    signature_.check(bound, given);
    return std::make_unique<LaunchObject>(signature_, std::move(bound), given);
  });
}

void define_pipeline(nb::module_ &module) {
  static const PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void *>(&call_slot<PipelineObject>)}, {0, nullptr}};
  nb::class_<PipelineObject>(module, "Pipeline", nb::type_slots(slots),
                             "A scheduled pipeline. Call it with its arguments; the arrays' extents say what is "
                             "computed:\n\n    blur(out, image, schedule=\"tiled\")")
      .def_prop_ro("name", &PipelineObject::name)
      .def_prop_ro("documentation", &PipelineObject::documentation)
      .def_prop_ro(
          "parameters", [](const PipelineObject &self) { return parameters_of(self.signature()); },
          "Like a kernel's parameters.")
      .def(
          "record",
          [](const PipelineObject &self, const nb::args &positional, const nb::kwargs &named) {
            return self.record(positional.ptr(), named.ptr());
          },
          "Records the call as an object: checked, compiled and allocated now, to be launched many times.")
      .def("loop_nest", &text_of<&jit::loop_nest_text>, nb::arg("schedule") = "", nb::arg("device") = "cpu",
           "The loops of a schedule, one per line.")
      .def("program", &text_of<&jit::program_text>, nb::arg("schedule") = "", nb::arg("device") = "cpu",
           "The host's steps and the kernels of a schedule, as text.")
      .def(
          "report_html",
          [](const PipelineObject &self, const std::string &file, const std::string &schedule,
             const std::string &device) {
            at_python_line([&] {
              const Device found = device_named(device, self.name());
              const Unlocked unlocked;
              jit::write_page(*self.signature().pipeline(), file, found, schedule);
            });
          },
          nb::arg("file"), nb::arg("schedule") = "", nb::arg("device") = "cpu",
          "Writes an HTML page with the algorithm, its schedule, the loops, the memory and the kernels.")
      .def("report", [](const PipelineObject &self) { return jit::report(*self.signature().pipeline()).to_string(); })
      .def("__reduce__", &reduced<PipelineObject>)
      .def("__repr__", [](const PipelineObject &self) { return "<samite.Pipeline " + self.signature().text() + ">"; });
}

}  // namespace samite::python
