// Exceptions on their way from the library to Python.
//
//   samite.Error            Exception
//   ├ samite.UserError      and a ValueError
//   ├ samite.DeviceError    and a RuntimeError
//   └ samite.InternalError  and a RuntimeError
//
// Their messages end with the line of the Python program that called.
#pragma once

#include "fork.h"
#include "printed.h"
#include "samite/base/error.h"

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>

namespace samite::python {

namespace nb = nanobind;

// Adds the classes to the module, and from then on the library's exceptions become these.
void define_errors(nb::module_ &module);

// In a catch block: sets Python's error to the library's, which must be one.
void raise_current() noexcept;

// The line of the Python program that runs now: the innermost one outside of this package and of the frameworks that
// call it. Unknown where there is none.
SourceLocation python_line();

// A call from Python into the library. The lines of the library's errors that are thrown in `call` are Python's, and
// what kernels have printed by its end is written. UserError in a process that was forked after it had run kernels.
template <class F>
decltype(auto) at_python_line(const F &call) {
  try {
    refuse_after_fork();
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      write_printed();
    } else {
      decltype(auto) result = call();
      write_printed();
      return result;
    }
  } catch (Error &error) {
    write_printed_quietly();
    error.add_call("called", python_line());
    throw;
  }
}

// For missing, extra or unknown arguments: Python's TypeError.
[[noreturn]] void throw_type_error(const std::string &message);

// Throws the error that a function of Python's has set, if it returned null.
inline PyObject *checked(PyObject *object) {
  if (!object) throw nb::python_error();
  return object;
}

}  // namespace samite::python
