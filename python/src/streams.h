// The stream in which a call uses CUDA memory: the caller's current one.
#pragma once

#include "python_errors.h"
#include "samite/runtime/stream.h"

#include <optional>
#include <span>

namespace samite::python {

// `given` is the caller's stream: a number (a cudaStream_t), an object of torch or CuPy, or one with __cuda_stream__.
// If it is null or None, the result is the current stream of the arrays' library, or the device's standard stream if
// the library has none; null if no array is on CUDA. UserError if `given` is not a stream, or no array is on CUDA.
std::optional<Stream> stream_for(PyObject *given, std::span<PyObject *const> arrays);

// The stream `given`, on this device.
Stream stream_of(const Device &device, PyObject *given);

// Makes stream_for() return this stream in this thread if none is given, whatever a library's current stream is.
void set_stream_of_thread(const std::optional<Stream> &stream);

}  // namespace samite::python
