// Functions that kernels and pipelines share as Python objects.
#pragma once

#include "signature.h"

namespace samite::python {

// Runs `call` as a type's slot: nanobind's look-up of overloads takes longer than a launch. `call` returns nothing.
template <class Call>
PyObject *as_slot(const Call &call) noexcept {
  try {
    call();
    Py_RETURN_NONE;
  } catch (nb::python_error &error) {
    error.restore();
  } catch (...) {
    raise_current();
  }
  return nullptr;
}

template <class Object>
PyObject *call_slot(PyObject *self, PyObject *positional, PyObject *named) noexcept {
  return as_slot([&] { nb::inst_ptr<Object>(self)->call(positional, named); });
}

// One named tuple for each parameter.
nb::object parameters_of(const Signature &signature);

// Finds a device of samite.devices() by name; messages begin with `what`.
Device device_named(const std::string &name, const std::string &what);

// A function of samite/_restore.py and its arguments, as pickle expects them. TypeError without an origin.
nb::object reduced_from(const nb::object &origin, const std::string &name);
template <class Object>
nb::object reduced(const Object &object) {
  return reduced_from(object.origin(), object.name());
}

}  // namespace samite::python
