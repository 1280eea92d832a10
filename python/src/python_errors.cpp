#include "python_errors.h"

#include <nanobind/stl/string.h>

#include <exception>
#include <new>
#include <string_view>

namespace samite::python {
namespace {

// Kept for the life of the process, like the module.
struct Classes {
  PyObject *error, *user, *device, *internal;
};
Classes &classes() {
  static Classes classes{};
  return classes;
}

// Sets Python's error to the caught exception. Returns false if that is not the library's.
bool set_error() {
  try {
    throw;
  } catch (const UserError &error) {
    PyErr_SetString(classes().user, error.what());
  } catch (const DeviceError &error) {
    PyErr_SetString(classes().device, error.what());
  } catch (const InternalError &error) {
    PyErr_SetString(classes().internal, error.what());
  } catch (const Error &error) {
    PyErr_SetString(classes().error, error.what());
  } catch (...) {
    return false;
  }
  return true;
}

void translate(const std::exception_ptr &exception, void *) {
  try {
    std::rethrow_exception(exception);
  } catch (...) {
    if (!set_error()) throw;
  }
}

PyObject *make(nb::module_ &module, const char *name, PyObject *base, PyObject *second, const char *documentation) {
  const nb::object bases = second ? nb::steal(PyTuple_Pack(2, base, second)) : nb::steal(PyTuple_Pack(1, base));
  const std::string full = std::string("samite.") + name;
  PyObject *made = checked(PyErr_NewExceptionWithDoc(full.c_str(), documentation, bases.ptr(), nullptr));
  module.attr(name) = nb::borrow(made);
  return made;
}

// The frame's line; unknown if the frame does not tell it.
SourceLocation line_of(const nb::object &frame) {
  auto *raw = reinterpret_cast<PyFrameObject *>(frame.ptr());
  const nb::object code = nb::steal(reinterpret_cast<PyObject *>(PyFrame_GetCode(raw)));
  const nb::object file = nb::steal(PyObject_GetAttrString(code.ptr(), "co_filename"));
  const char *text = file.is_valid() ? PyUnicode_AsUTF8AndSize(file.ptr(), nullptr) : nullptr;
  PyErr_Clear();
  const int line = PyFrame_GetLineNumber(raw);
  if (!text || line <= 0) return {};
  return {intern_file(text), static_cast<std::uint32_t>(line)};
}

// Whether the frame's module belongs to this package, or to one that calls kernels for the user.
bool is_of_framework(const nb::object &frame) {
  const nb::object globals = nb::steal(PyObject_GetAttrString(frame.ptr(), "f_globals"));
  PyObject *name =
      globals.is_valid() && PyDict_Check(globals.ptr()) ? PyDict_GetItemString(globals.ptr(), "__name__") : nullptr;
  const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  PyErr_Clear();
  if (!text) return false;
  const std::string_view module = text;
  const std::string_view package = module.substr(0, module.find('.'));
  return package == "samite" || package == "torch" || package == "jax" || package == "functools" ||
         package == "contextlib";
}

}  // namespace

void define_errors(nb::module_ &module) {
  Classes &all = classes();
  all.error = make(module, "Error", PyExc_Exception, nullptr, "The base of Samite's errors.");
  all.user = make(module, "UserError", all.error, PyExc_ValueError,
                  "The program is wrong: the message says where, what was expected and given, and how to fix it.");
  all.device = make(module, "DeviceError", all.error, PyExc_RuntimeError,
                    "A driver, a compiler or a device has failed: the message has the call and its error text.");
  all.internal =
      make(module, "InternalError", all.error, PyExc_RuntimeError, "Samite itself has a defect: please report it.");
  nb::register_exception_translator(translate);
  module.def(
      "called_at", [] { return python_line().to_string(); },
      "The line of the program that called the package, as in its errors.");
}

void raise_current() noexcept {
  if (set_error()) return;
  try {
    throw;
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an exception that is no std::exception");
  }
}

SourceLocation python_line() {
  nb::object frame = nb::borrow(reinterpret_cast<PyObject *>(PyEval_GetFrame()));
  SourceLocation innermost;
  while (frame.is_valid() && !frame.is_none()) {
    const SourceLocation here = line_of(frame);
    if (here.known() && !is_of_framework(frame)) return here;
    if (!innermost.known()) innermost = here;
    frame = nb::steal(PyObject_GetAttrString(frame.ptr(), "f_back"));
  }
  PyErr_Clear();
  return innermost;
}

void throw_type_error(const std::string &message) {
  PyErr_SetString(PyExc_TypeError, message.c_str());
  throw nb::python_error();
}

}  // namespace samite::python
