// Exceptions on their way from the library to Python.
//
//   samite.Error            Exception
//   ├ samite.UserError      and a ValueError
//   ├ samite.DeviceError    and a RuntimeError
//   └ samite.InternalError  and a RuntimeError
//
// Their messages end with the line of the Python program that called.
#pragma once

#include "samite/base/error.h"

#include <nanobind/nanobind.h>

#include <string>

namespace samite::python {

namespace nb = nanobind;

// Adds the classes to the module, and from then on the library's exceptions become these.
void define_errors(nb::module_ &module);

// In a catch block: sets Python's error to the library's, which must be one.
void raise_current() noexcept;

// The line of the Python program that runs now; unknown where there is none.
SourceLocation python_line();

// The lines of the library's errors that are thrown in `call` are Python's.
template <class F>
decltype(auto) at_python_line(const F &call) {
  try {
    return call();
  } catch (Error &error) {
    error.add_call("called", python_line());
    throw;
  }
}

// A call that has not the form of the function: a TypeError of Python's.
[[noreturn]] void throw_type_error(const std::string &message);

// Throws the error that a function of Python's has set, if it returned null.
inline PyObject *checked(PyObject *object) {
  if (!object) throw nb::python_error();
  return object;
}

}  // namespace samite::python
