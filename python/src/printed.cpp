#include "printed.h"

#include "python_errors.h"
#include "samite/jit/print_sink.h"

#include <atomic>
#include <mutex>
#include <utility>

namespace samite::python {
namespace {

struct Printed {
  std::mutex mutex;
  std::string text;
  std::atomic<bool> any{false};  // whether there is text; read after each call
};
Printed &printed() {
  static Printed printed;
  return printed;
}

}  // namespace

void redirect_printed() {
  set_print_sink([](std::string_view line) {
    const std::lock_guard lock(printed().mutex);
    printed().text.append(line).append("\n");
    printed().any.store(true, std::memory_order_relaxed);
  });
}

void write_printed() {
  if (!printed().any.load(std::memory_order_relaxed)) return;
  std::string text;
  {
    const std::lock_guard lock(printed().mutex);
    text = std::exchange(printed().text, {});
    printed().any.store(false, std::memory_order_relaxed);
  }
  PyObject *out = PySys_GetObject("stdout");  // borrowed
  if (!out || out == Py_None) return;         // as for Python's own print()
  const nb::object kept = nb::borrow(out);
  // Kernels may print arbitrary bytes.
  const nb::object line =
      nb::steal(checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace")));
  nb::steal(checked(PyObject_CallMethod(kept.ptr(), "write", "O", line.ptr())));
}

void write_printed_quietly() noexcept {
  try {
    write_printed();
  } catch (nb::python_error &error) {
    error.discard_as_unraisable("what a kernel has printed");
  }
}

}  // namespace samite::python
