#include "streams.h"

#include "array_view.h"
#include "protocols.h"

#include <cstdint>
#include <vector>

namespace samite::python {
namespace {

// Borrowing a stream queries the driver, so borrowed streams are kept.
Stream borrowed(int device_index, std::uintptr_t handle) {
  struct Known {
    int device_index;
    std::uintptr_t handle;
    Stream stream;
  };
  static std::vector<Known> all;
  for (const Known &each : all)
    if (each.device_index == device_index && each.handle == handle) return each.stream;
  constexpr std::size_t most = 64;
  if (all.size() == most) all.erase(all.begin());
  void *const raw = reinterpret_cast<void *>(handle);  // NOLINT(performance-no-int-to-ptr): as Python has it
  const Stream stream = Stream::borrow(Device::cuda(device_index), raw, SourceLocation());
  all.push_back({device_index, handle, stream});
  return stream;
}

// The number that an attribute has or a call has returned; null if it is not a number.
std::optional<std::uintptr_t> number_of(const nb::object &value) {
  if (!value.is_valid() || !PyLong_Check(value.ptr())) {
    PyErr_Clear();
    return {};
  }
  const auto number = PyLong_AsUnsignedLongLong(value.ptr());
  if (!PyErr_Occurred()) return number;
  PyErr_Clear();
  return {};
}

std::optional<std::uintptr_t> number_at(PyObject *object, const char *attribute) {
  return number_of(nb::steal(PyObject_GetAttrString(object, attribute)));
}

std::uintptr_t handle_of(PyObject *given) {
  if (PyLong_Check(given) && !PyBool_Check(given))
    if (const auto number = number_of(nb::borrow(given))) return *number;
  for (const char *attribute : {"cuda_stream", "ptr"})  // torch's, CuPy's
    if (const auto number = number_at(given, attribute)) return *number;
  const nb::object protocol = nb::steal(PyObject_GetAttrString(given, "__cuda_stream__"));
  const nb::object pair = protocol.is_valid() ? nb::steal(PyObject_CallObject(protocol.ptr(), nullptr)) : nb::object();
  PyErr_Clear();
  if (pair.is_valid() && PyTuple_Check(pair.ptr()) && PyTuple_Size(pair.ptr()) == 2)
    if (const auto number = number_of(nb::borrow(PyTuple_GetItem(pair.ptr(), 1)))) return *number;
  throw UserError(
      "stream expects a stream of CUDA: a number, a stream of torch or CuPy, or what has __cuda_stream__; " +
      describe(given) + " is given");
}

// CuPy's current stream, which its arrays do not tell.
std::optional<std::uintptr_t> current_of_cupy() {
  PyObject *modules = PySys_GetObject("modules");
  PyObject *cupy = modules ? PyDict_GetItemString(modules, "cupy") : nullptr;
  if (!cupy) return {};
  const nb::object cuda = nb::steal(PyObject_GetAttrString(cupy, "cuda"));
  const nb::object get =
      cuda.is_valid() ? nb::steal(PyObject_GetAttrString(cuda.ptr(), "get_current_stream")) : nb::object();
  const nb::object stream = get.is_valid() ? nb::steal(PyObject_CallObject(get.ptr(), nullptr)) : nb::object();
  PyErr_Clear();
  return stream.is_valid() ? number_at(stream.ptr(), "ptr") : std::nullopt;
}

// torch's current stream, for versions whose types have no exchange functions.
std::optional<std::uintptr_t> current_of_torch(int device_index) {
  PyObject *modules = PySys_GetObject("modules");
  PyObject *native = modules ? PyDict_GetItemString(modules, "torch._C") : nullptr;
  const nb::object get = native ? nb::steal(PyObject_GetAttrString(native, "_cuda_getCurrentRawStream")) : nb::object();
  const nb::object number =
      get.is_valid() ? nb::steal(PyObject_CallFunction(get.ptr(), "i", device_index)) : nb::object();
  PyErr_Clear();
  return number_of(number);
}

thread_local std::optional<Stream> of_thread;

}  // namespace

Stream stream_of(const Device &device, PyObject *given) { return borrowed(device.index(), handle_of(given)); }

void set_stream_of_thread(const std::optional<Stream> &stream) { of_thread = stream; }

std::optional<Stream> stream_for(PyObject *given, std::span<PyObject *const> arrays) {
  for (PyObject *array : arrays) {
    const auto device = cuda_device_of(array);
    if (!device) continue;
    if (given && given != Py_None) return borrowed(*device, handle_of(given));
    if (of_thread) return of_thread;
    const TypeProtocol found = protocol_of(Py_TYPE(array));
    if (found.exchange && found.exchange->current_stream) {
      void *current = nullptr;
      if (found.exchange->current_stream(dlpack::cuda, *device, &current) != 0) throw nb::python_error();
      return borrowed(*device, reinterpret_cast<std::uintptr_t>(current));
    }
    if (found.is_torch) {
      if (const auto current = current_of_torch(*device)) return borrowed(*device, *current);
    } else if (const auto current = current_of_cupy()) {
      return borrowed(*device, *current);
    }
    return Stream::standard(Device::cuda(*device));
  }
  if (given && given != Py_None)
    throw UserError("stream is for arrays on CUDA, and none is given: on the CPU a call has completed when it returns");
  return {};
}

std::optional<int> cuda_device_of(PyObject *object) {
  const TypeProtocol found = protocol_of(Py_TYPE(object));
  if (found.exchange) {
    dlpack::Tensor tensor;
    if (found.exchange->tensor_of(object, &tensor) == 0) {
      const bool on_cuda = tensor.device.type == dlpack::cuda || tensor.device.type == dlpack::cuda_managed;
      return on_cuda ? std::optional<int>(tensor.device.index) : std::nullopt;
    }
    PyErr_Clear();
    return {};
  }
  if (found.protocol == Protocol::dlpack) {
    const nb::object pair = nb::steal(PyObject_CallMethod(object, "__dlpack_device__", nullptr));
    PyErr_Clear();
    if (!pair.is_valid() || !PyTuple_Check(pair.ptr()) || PyTuple_Size(pair.ptr()) != 2) return {};
    const long type = PyLong_AsLong(PyTuple_GetItem(pair.ptr(), 0));
    const long index = PyLong_AsLong(PyTuple_GetItem(pair.ptr(), 1));
    PyErr_Clear();
    if (type != dlpack::cuda && type != dlpack::cuda_managed) return {};
    return static_cast<int>(index);
  }
  if (found.protocol == Protocol::cuda_array_interface) {
    for (const char *attribute : {"device_index", "device"})
      if (const auto number = number_at(object, attribute)) return static_cast<int>(*number);
    return 0;
  }
  return {};
}

}  // namespace samite::python
