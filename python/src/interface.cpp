#include "interface.h"

#include "kernel_object.h"
#include "pipeline_object.h"
#include "samite/python/module.h"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <deque>
#include <exception>

namespace samite::python {
namespace {

class PythonModule : public Module {
 public:
  explicit PythonModule(PyObject *module) : module_(nb::borrow<nb::module_>(module)) {}

 private:
  void add(KernelForModule kernel) override { add_as<KernelObject>(std::move(kernel)); }
  void add(PipelineForModule pipeline) override { add_as<PipelineObject>(std::move(pipeline)); }

  template <class Object, class ForModule>
  void add_as(ForModule given) {
    if (nb::hasattr(module_, given.name.c_str()))
      throw UserError(given.definition->where(), "module.def(): two kernels of the module are named '" + given.name +
                                                     "'; give one of them another name, as module.def(\"other\", …)");
    const std::string name = given.name;
    auto made = std::make_unique<Object>(std::move(given.name), std::move(given.documentation),
                                         std::move(given.definition), given.counts);
    made->set_origin(nb::make_tuple("kernel", module_.attr("__name__"), name));
    module_.attr(name.c_str()) = nb::cast(std::move(made));
  }

  nb::module_ module_;
};

std::string path_of(const void *address) {
  Dl_info found{};
  return address && dladdr(address, &found) != 0 && found.dli_fname ? found.dli_fname : "an unknown file";
}

// ImportError unless the module has the package's version and uses the same loaded library.
void check(const ModuleRequest &request) {
  const std::string name = request.name;
  if (request.interface_version != interface_version || std::string_view(request.library_version) != SAMITE_VERSION)
    throw nb::import_error(
        ("module '" + name + "' was compiled for Samite " + request.library_version + " (interface " +
         std::to_string(request.interface_version) + "), and the package samite is " + SAMITE_VERSION + " (interface " +
         std::to_string(interface_version) + "): compile the module again with the headers of the package")
            .c_str());
  const void *library = reinterpret_cast<const void *>(&jit::check_index);
  if (request.library != library)
    throw nb::import_error(("module '" + name + "' uses " + path_of(request.library) +
                            ", and the package samite uses " + path_of(library) +
                            ": a process has one of them, so build the module against the latter")
                               .c_str());
}

// Modules and Python refer to definitions forever, so they are never freed.
PyModuleDef &definition_of(const char *name) {
  static std::deque<PyModuleDef> definitions;
  static std::deque<std::string> names;
  PyModuleDef &definition = definitions.emplace_back();
  definition = PyModuleDef{};
  definition.m_base = PyModuleDef_HEAD_INIT;
  definition.m_name = names.emplace_back(name).c_str();
  definition.m_size = -1;
  return definition;
}

PyObject *make_module_of(const ModuleRequest &request) noexcept {
  try {
    check(request);
    nb::object module = nb::steal(checked(PyModule_Create(&definition_of(request.name))));
    PythonModule defined(module.ptr());
    request.define(defined);
    return module.release().ptr();
  } catch (nb::python_error &error) {
    error.restore();
  } catch (nb::builtin_exception &error) {
    PyErr_SetString(PyExc_ImportError, error.what());
  } catch (const std::exception &error) {
    PyErr_Format(PyExc_ImportError, "module '%s': %s", request.name, error.what());
  } catch (...) {
    PyErr_Format(PyExc_ImportError, "module '%s': its definition throws what is no std::exception", request.name);
  }
  return nullptr;
}

Interface interface{&make_module_of};

}  // namespace

void define_interface(nb::module_ &module) {
  module.attr("interface") = nb::steal(checked(PyCapsule_New(&interface, interface_name, nullptr)));
}

}  // namespace samite::python
