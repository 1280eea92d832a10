// The library's exceptions in Python.
//
//   samite.Error            Exception
//   ├ samite.UserError      also a ValueError
//   ├ samite.DeviceError    also a RuntimeError
//   └ samite.InternalError  also a RuntimeError
//
// Their messages end with the line of the Python program that made the call.
#pragma once

#include "fork.h"
#include "printed.h"
#include "samite/base/error.h"

#include <nanobind/nanobind.h>

#include <string>
#include <type_traits>

namespace samite::python {

namespace nb = nanobind;

// Adds the classes to the module, and translates the library's exceptions to them from then on.
void define_errors(nb::module_ &module);

// In a catch block: sets Python's error to the caught exception.
void raise_current() noexcept;

// The current line of the Python program: the innermost one outside this package and the frameworks that call it, or
// else the innermost of all. Unknown if there is none.
SourceLocation python_line();

// Makes a call from Python into the library. Adds Python's line to the library's errors that `call` throws, and writes
// the lines that kernels have printed by its end. UserError in a process that was forked from one that had run kernels.
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

// Throws Python's TypeError, for missing, extra or unknown arguments.
[[noreturn]] void throw_type_error(const std::string &message);

// Throws the error that a Python function has set, if it returned null.
inline PyObject *checked(PyObject *object) {
  if (!object) throw nb::python_error();
  return object;
}

}  // namespace samite::python
