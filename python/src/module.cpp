// The module samite._samite: kernels, launches, devices and errors. The part in Python is in python/samite/.
#include "archive.h"
#include "description.h"
#include "graph_object.h"
#include "interface.h"
#include "jax_calls.h"
#include "kernel_object.h"
#include "launch_object.h"
#include "loading.h"
#include "pipeline_object.h"
#include "ready.h"
#include "requirements.h"
#include "samite/jit/definition.h"
#include "samite/jit/report.h"
#include "tape_object.h"
#include "unlocked.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace samite::python {
namespace {

PyObject *call_launch(PyObject *self, PyObject *positional, PyObject *named) noexcept {
  return as_slot([&] {
    if (PyTuple_Size(positional) != 0 || (named && PyDict_Size(named) != 0))
      throw_type_error("a recorded launch is called without arguments; change them with set(name=value)");
    nb::inst_ptr<LaunchObject>(self)->launch();
  });
}

const PyType_Slot kernel_slots[] = {{Py_tp_call, reinterpret_cast<void *>(&call_slot<KernelObject>)}, {0, nullptr}};
const PyType_Slot launch_slots[] = {{Py_tp_call, reinterpret_cast<void *>(&call_launch)}, {0, nullptr}};

// A report on the compiled variants of a kernel.
struct Report {
  KernelReport report;
};

nb::object tuple_of(const Extents &extents) {
  nb::list list;
  for (const std::int64_t extent : extents) list.append(extent);
  return nb::tuple(list);
}

template <auto Derive>
nb::object derivative(const nb::object &self, const nb::args &names, const char *kind) {
  const auto &kernel = nb::cast<const KernelObject &>(self);
  auto made = (kernel.*Derive)(names);
  if (!kernel.origin().is_none()) made->set_origin(nb::make_tuple("derivative", self, kind, names));
  return nb::cast(std::move(made));
}

// A named tuple, so that users can unpack it.
void define_parameter(nb::module_ &module) {
  const nb::object make = nb::module_::import_("collections").attr("namedtuple");
  nb::object type = make("Parameter", "name dtype rank is_written count is_read", nb::arg("module") = "samite");
  type.attr("__doc__") =
      "A parameter of a kernel. An array that is written and not read is an output; one that is both is changed in "
      "place.";
  module.attr("Parameter") = type;
}

void define_kernel(nb::module_ &module) {
  nb::class_<Report>(module, "Report", "The compiled variants of a kernel, their origins and their compile times.")
      .def("__str__", [](const Report &self) { return self.report.to_string(); })
      .def("__repr__", [](const Report &self) { return self.report.to_string(); })
      .def(
          "json", [](const Report &self) { return self.report.to_json(); }, "The report as a JSON object.")
      .def_prop_ro("variants", [](const Report &self) { return self.report.variants.size(); });

  nb::class_<KernelObject>(module, "Kernel", nb::type_slots(kernel_slots),
                           "A kernel. Call it with its arguments and the extents of the launch:\n\n"
                           "    diffuse(next, now, rate=0.2, extents=(512, 512))\n\n"
                           "Without extents it runs over the extents of the first array that it writes.")
      .def_prop_ro("name", &KernelObject::name)
      .def_prop_ro("documentation", &KernelObject::documentation)
      .def_prop_ro(
          "parameters", [](const KernelObject &self) { return parameters_of(self.signature()); },
          "For each parameter: name, type, dimensions (0: a number), whether it is written, its count of numbers, and\n"
          "whether its elements are read or added to.")
      .def_prop_ro("launch_rank", [](const KernelObject &self) { return self.signature().definition()->launch_rank(); })
      .def_prop_ro(
          "is_tile_kernel",
          [](const KernelObject &self) { return ir::is_tile_kernel(self.signature().definition()->structured()); })
      .def(
          "record",
          [](KernelObject &self, const nb::args &positional, const nb::kwargs &named) {
            return self.record(positional.ptr(), named.ptr());
          },
          "Records the call as an object: it is checked and compiled now, and can be launched many times.")
      .def(
          "adjoint",
          [](const nb::object &self, const nb::args &names) {
            return derivative<&KernelObject::adjoint>(self, names, "adjoint");
          },
          "The adjoint with respect to the named arrays, or to all floating arrays, as a kernel: its arguments are\n"
          "this kernel's, then a gradient for each of those arrays.")
      .def(
          "tangent",
          [](const nb::object &self, const nb::args &names) {
            return derivative<&KernelObject::tangent>(self, names, "tangent");
          },
          "The tangent, with the same arguments as adjoint().")
      .def("__reduce__", &reduced<KernelObject>,
           "Pickles a kernel by its module and name, and a derivative by its kernel.")
      .def("report", [](const KernelObject &self) { return Report{jit::report(*self.signature().definition())}; })
      .def("__repr__", [](const KernelObject &self) { return "<samite.Kernel " + self.signature().text() + ">"; });

  nb::class_<LaunchObject>(module, "Launch", nb::type_slots(launch_slots),
                           "A recorded launch: call it without arguments. It keeps its arrays.")
      .def("set", &LaunchObject::set, "Changes arguments by name, and extents.")
      .def_prop_ro("extents", [](const LaunchObject &self) { return tuple_of(self.extents()); })
      .def("__repr__", [](const LaunchObject &self) { return "<samite." + self.to_string() + ">"; });
}

void define_devices(nb::module_ &module) {
  module.def(
      "devices",
      [] {
        std::vector<std::string> names;
        for (const Device &device : Device::list()) names.push_back(device.to_string());
        return names;
      },
      "The devices of this machine, the preferred one first: \"cuda:0\", \"cpu\".");
  module.def(
      "synchronize",
      [] {
        at_python_line([] {
          for (const Device &device : Device::list()) {
            const Unlocked unlocked;
            device.synchronize();
          }
        });
      },
      "Waits until all work on all devices has completed; raises its errors.");
  module.def("set_debug_mode", &set_debug_mode, nb::arg("on"),
             "Sets whether calls that do not set `debug` check every index and look for instances that race.");
  module.def("debug_mode", &debug_mode);
  module.def(
      "set_leak_warnings", [](bool on) { nb::set_leak_warnings(on); }, nb::arg("on"),
      "Sets whether the interpreter reports kernels that are still in use when it ends.");
}

}  // namespace

NB_MODULE(_samite, module) {
#ifdef Py_GIL_DISABLED
  throw nb::import_error("samite needs Python's global lock, which free-threaded Python has not");
#endif
  module.attr("version") = SAMITE_VERSION;
  watch_forks();
  Unlocked::watch_end();
  redirect_printed();
  define_errors(module);
  define_parameter(module);
  define_kernel(module);
  define_devices(module);
  define_pipeline(module);
  define_tape(module);
  define_graph(module);
  define_ready(module);
  define_requirements(module);
  define_loading(module);
  define_archive(module);
  define_jax_calls(module);
  define_interface(module);
}

}  // namespace samite::python
