// The stream in which a call uses memory of CUDA: the caller's current one.
#pragma once

#include "python_errors.h"
#include "samite/runtime/stream.h"

#include <optional>
#include <span>

namespace samite::python {

// `given` is what the caller has named, which may be null or None: a number (a cudaStream_t), or an object of torch's,
// CuPy's, or with __cuda_stream__. Else it is the current stream of the library that the arrays are of; the standard
// one of the device where that has none. Nothing where no array is on CUDA. UserError where `given` is no stream.
std::optional<Stream> stream_for(PyObject *given, std::span<PyObject *const> arrays);

// The stream that is given, of this device.
Stream stream_of(const Device &device, PyObject *given);

// From now on stream_for() returns this one in this thread where none is given, whatever a library's current one is.
void set_stream_of_thread(const std::optional<Stream> &stream);

}  // namespace samite::python
