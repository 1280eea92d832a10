#include "protocols.h"

#include "streams.h"

#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

namespace samite::python {
namespace {

bool has(PyTypeObject *type, const char *attribute) {
  return PyObject_HasAttrString(reinterpret_cast<PyObject *>(type), attribute) != 0;
}

const dlpack::ExchangeApi *exchange_of(PyTypeObject *type) {
  const nb::object capsule =
      nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__dlpack_c_exchange_api__"));
  void *found = capsule.is_valid() ? PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api") : nullptr;
  PyErr_Clear();
  const auto *api = static_cast<const dlpack::ExchangeApi *>(found);
  while (api && api->header.version.major != 1)
    api = reinterpret_cast<const dlpack::ExchangeApi *>(api->header.previous);
  return api && api->tensor_of ? api : nullptr;
}

bool is_of_module(PyTypeObject *type, std::string_view package) {
  const nb::object name = nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__module__"));
  const char *text =
      name.is_valid() && PyUnicode_Check(name.ptr()) ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
  PyErr_Clear();
  if (!text) return false;
  const std::string_view module = text;
  return module == package || (module.starts_with(package) && module[package.size()] == '.');
}

bool is_traced_by_jax(PyTypeObject *type) {
  PyObject *modules = PySys_GetObject("modules");
  PyObject *core = modules ? PyDict_GetItemString(modules, "jax.core") : nullptr;
  const nb::object tracer = core ? nb::steal(PyObject_GetAttrString(core, "Tracer")) : nb::object();
  const bool is_traced =
      tracer.is_valid() && PyObject_IsSubclass(reinterpret_cast<PyObject *>(type), tracer.ptr()) == 1;
  PyErr_Clear();
  return is_traced;
}

TypeProtocol find(PyTypeObject *type) {
  TypeProtocol found{type, Protocol::none, exchange_of(type), false, false, false, false};
  if (found.exchange)
    found.protocol = Protocol::exchange;
  else if (is_of_module(type, "numpy") && has(type, "__array_interface__"))
    found.protocol = Protocol::buffer;  // NOLINT(bugprone-branch-clone): before DLPack, which it has too
  else if (has(type, "__dlpack__"))
    found.protocol = Protocol::dlpack;
  else if (has(type, "__cuda_array_interface__"))
    found.protocol = Protocol::cuda_array_interface;
  else if (has(type, "__array_interface__"))
    found.protocol = Protocol::array_interface;
  else if (PyType_GetSlot(type, Py_bf_getbuffer))
    found.protocol = Protocol::buffer;
  found.is_torch = has(type, "requires_grad") && has(type, "is_leaf");
  found.is_immutable = is_of_module(type, "jaxlib") || is_of_module(type, "jax");
  found.is_masked = has(type, "mask") && has(type, "filled") && has(type, "__array_interface__");
  found.is_traced = is_traced_by_jax(type);
  return found;
}

std::optional<ScalarType> type_of(const dlpack::DataType &type) {
  if (type.lanes != 1) return {};
  using enum ScalarType;
  switch (type.code << 8 | type.bits) {
    case dlpack::signed_integer << 8 | 8: return Int8;
    case dlpack::signed_integer << 8 | 16: return Int16;
    case dlpack::signed_integer << 8 | 32: return Int32;
    case dlpack::signed_integer << 8 | 64: return Int64;
    case dlpack::unsigned_integer << 8 | 8: return UInt8;
    case dlpack::unsigned_integer << 8 | 16: return UInt16;
    case dlpack::unsigned_integer << 8 | 32: return UInt32;
    case dlpack::unsigned_integer << 8 | 64: return UInt64;
    case dlpack::floating << 8 | 16: return Float16;
    case dlpack::floating << 8 | 32: return Float32;
    case dlpack::floating << 8 | 64: return Float64;
    case dlpack::bfloat << 8 | 16: return BFloat16;
    case dlpack::boolean << 8 | 8: return Bool;
    case dlpack::float8_e4m3fn << 8 | 8: return Float8E4M3;
    case dlpack::float8_e5m2 << 8 | 8: return Float8E5M2;
  }
  return {};
}

constexpr const char *no_such_type = "Samite has no type for its elements: convert it";

// Explains why Samite has no type for the elements: their byte order, several numbers in each, or another reason.
const char *why_no_type(bool is_big_endian, bool is_structure) {
  if (is_big_endian)
    return "its elements are big-endian, and this machine's are little-endian: convert it, as by "
           "array.astype(array.dtype.newbyteorder('='))";
  if (is_structure)
    return "its elements are structures, and a kernel's are numbers: give one field, as array['x'], or an array with "
           "one dimension more, as by numpy.lib.recfunctions.structured_to_unstructured()";
  return no_such_type;
}

ArrayKey key_of(PyObject *object, const dlpack::Tensor &tensor, const std::string &what) {
  ArrayKey key{};
  const auto type = type_of(tensor.type);
  if (!type) refuse_array(object, what, no_such_type);
  key.type = *type;
  switch (tensor.device.type) {
    case dlpack::cpu:
    case dlpack::cuda_host: break;
    case dlpack::cuda:
    case dlpack::cuda_managed:
      key.on_cuda = true;
      key.device_index = tensor.device.index;
      break;
    default:
      refuse_array(object, what,
                   "its memory is on a device that Samite does not know (DLPack's number " +
                       std::to_string(tensor.device.type) + "): copy it to the CPU or to CUDA");
  }
  set_layout(key, object, what, tensor.rank, tensor.extents, tensor.strides, static_cast<std::int64_t>(size_of(*type)));
  if (tensor.data) key.data = static_cast<std::byte *>(tensor.data) + tensor.byte_offset;
  return key;
}

// The type of a format of one letter, as in Python's struct module.
std::optional<ScalarType> type_of_letter(const char *format, Py_ssize_t bytes) {
  if (!format) return ScalarType::UInt8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;  // equal on the machines that Samite runs on
  if (std::strlen(format) != 1) return {};
  const bool is_signed = std::strchr("bhilqn", *format) != nullptr;
  using enum ScalarType;
  switch (*format) {
    case '?': return Bool;
    case 'e': return Float16;
    case 'f': return Float32;
    case 'd': return Float64;
    case 'b':
    case 'B':
    case 'h':
    case 'H':
    case 'i':
    case 'I':
    case 'l':
    case 'L':
    case 'q':
    case 'Q':
    case 'n':
    case 'N':
      switch (bytes) {
        case 1: return is_signed ? Int8 : UInt8;
        case 2: return is_signed ? Int16 : UInt16;
        case 4: return is_signed ? Int32 : UInt32;
        case 8: return is_signed ? Int64 : UInt64;
      }
  }
  return {};
}

// The type of a text such as "<f4", as NumPy's array interface spells it.
std::optional<ScalarType> type_of_string(std::string_view text) {
  if (text.size() < 3 || (text[0] == '>' && text.substr(2) != "1")) return {};
  int bytes = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), bytes);
  const char letter[2] = {text[1] == 'i' ? 'q' : 'Q', 0};
  switch (text[1]) {
    case 'b': return bytes == 1 ? std::optional(ScalarType::Bool) : std::nullopt;
    case 'i':
    case 'u': return type_of_letter(letter, bytes);
    case 'f':
      if (bytes == 2) return ScalarType::Float16;
      if (bytes == 4) return ScalarType::Float32;
      if (bytes == 8) return ScalarType::Float64;
  }
  return {};
}

std::vector<std::int64_t> integers(PyObject *sequence) {
  const nb::object tuple = nb::steal(checked(PySequence_Tuple(sequence)));
  std::vector<std::int64_t> values;
  for (Py_ssize_t i = 0; i < PyTuple_Size(tuple.ptr()); ++i) {
    values.push_back(PyLong_AsLongLong(PyTuple_GetItem(tuple.ptr(), i)));
    if (values.back() == -1 && PyErr_Occurred()) throw nb::python_error();
  }
  return values;
}

}  // namespace

const TypeProtocol &protocol_of(PyTypeObject *type) {
  static std::vector<TypeProtocol> known;
  for (const TypeProtocol &each : known)
    if (each.type == type) return each;
  // Bounds the memory of a program that makes types without end.
  constexpr std::size_t most = 64;
  if (known.size() == most) {
    Py_DECREF(reinterpret_cast<PyObject *>(known.back().type));
    known.pop_back();
  }
  const TypeProtocol found = find(type);
  Py_INCREF(reinterpret_cast<PyObject *>(type));
  known.push_back(found);
  return known.back();
}

std::optional<ArrayView> view_of_buffer(PyObject *object, const std::string &what) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    return {};
  }
  ArrayView view{{}, Loan(buffer)};
  const auto type = type_of_letter(buffer.format, buffer.itemsize);
  if (!type) {
    const std::string_view format = buffer.format ? buffer.format : "";
    refuse_array(object, what,
                 why_no_type(format.starts_with(">") || format.starts_with("!"), format.starts_with("T{")));
  }
  view.key.type = *type;
  view.key.read_only = buffer.readonly != 0;
  view.key.data = buffer.buf;
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));
  set_layout(view.key, object, what, buffer.ndim, reinterpret_cast<const std::int64_t *>(buffer.shape),
             reinterpret_cast<const std::int64_t *>(buffer.strides), 1);
  return view;
}

ArrayView view_by_exchange(PyObject *object, const dlpack::ExchangeApi &exchange, const std::string &what) {
  dlpack::Tensor tensor;
  if (exchange.tensor_of(object, &tensor) != 0) {
    nb::python_error why;
    refuse_array(object, what, std::string("it cannot be handed over: ") + why.what());
  }
  return {key_of(object, tensor, what), {}};
}

ArrayView view_by_dlpack(PyObject *object, const std::string &what, const std::optional<Stream> &stream) {
  const nb::object method = nb::steal(checked(PyObject_GetAttrString(object, "__dlpack__")));
  const nb::object positional = nb::steal(checked(PyTuple_New(0)));
  nb::dict named;
  if (stream && stream->cuda()) {
    // 1 means the legacy default stream, whose handle is null.
    const auto number = reinterpret_cast<std::uintptr_t>(stream->native());
    named["stream"] = nb::int_(number == 0 ? std::uintptr_t{1} : number);
  }
  named["max_version"] = nb::make_tuple(1, 0);
  nb::object capsule = nb::steal(PyObject_Call(method.ptr(), positional.ptr(), named.ptr()));
  if (!capsule.is_valid() && PyErr_ExceptionMatches(PyExc_TypeError)) {  // from before DLPack had versions
    PyErr_Clear();
    PyDict_DelItemString(named.ptr(), "max_version");
    capsule = nb::steal(PyObject_Call(method.ptr(), positional.ptr(), named.ptr()));
  }
  if (!capsule.is_valid()) {
    nb::python_error why;
    refuse_array(object, what, std::string("it cannot be handed over: ") + why.what());
  }
  ArrayView view{};
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    auto *tensor = static_cast<dlpack::VersionedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (tensor->version.major != 1) refuse_array(object, what, "it is of a DLPack that Samite does not know");
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    view.loan = Loan(tensor, true);
    view.key = key_of(object, tensor->tensor, what);
    view.key.read_only = (tensor->flags & dlpack::read_only_flag) != 0;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    auto *tensor = static_cast<dlpack::ManagedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    view.loan = Loan(tensor, false);
    view.key = key_of(object, tensor->tensor, what);
  } else {
    refuse_array(object, what, "its __dlpack__() returns no capsule of DLPack");
  }
  return view;
}

ArrayView view_by_interface(PyObject *object, bool of_cuda, const std::string &what) {
  const char *attribute = of_cuda ? "__cuda_array_interface__" : "__array_interface__";
  const nb::object interface = nb::steal(PyObject_GetAttrString(object, attribute));
  if (!interface.is_valid() || !PyDict_Check(interface.ptr())) {
    PyErr_Clear();
    refuse_array(object, what, std::string("it has no elements that can be read in place: no ") + attribute);
  }
  const auto entry = [&](const char *name) { return nb::borrow(PyDict_GetItemString(interface.ptr(), name)); };
  const nb::object shape = entry("shape"), type_text = entry("typestr"), data = entry("data"),
                   strides = entry("strides");
  ArrayView view{};
  const char *text = type_text.is_valid() ? PyUnicode_AsUTF8AndSize(type_text.ptr(), nullptr) : nullptr;
  auto type = text ? type_of_string(text) : std::nullopt;
  PyErr_Clear();
  // Types that other packages add to NumPy have a name, but no letter.
  if (!type && text && text[0] != '>') {
    const nb::object dtype = nb::steal(PyObject_GetAttrString(object, "dtype"));
    const nb::object name = dtype.is_valid() ? nb::steal(PyObject_GetAttrString(dtype.ptr(), "name")) : nb::object();
    const char *spelled =
        name.is_valid() && PyUnicode_Check(name.ptr()) ? PyUnicode_AsUTF8AndSize(name.ptr(), nullptr) : nullptr;
    PyErr_Clear();
    if (spelled) type = scalar_type_of_python(spelled);
  }
  if (!type) {
    const std::string_view letters = text ? text : "";
    refuse_array(object, what, why_no_type(letters.starts_with(">"), letters.substr(0, 2).ends_with("V")));
  }
  view.key.type = *type;
  if (!shape.is_valid() || !data.is_valid() || !PyTuple_Check(data.ptr()) || PyTuple_Size(data.ptr()) != 2)
    refuse_array(object, what, std::string("its ") + attribute + " has no shape and address");
  view.key.data = PyLong_AsVoidPtr(PyTuple_GetItem(data.ptr(), 0));
  if (PyErr_Occurred()) throw nb::python_error();
  view.key.read_only = PyObject_IsTrue(PyTuple_GetItem(data.ptr(), 1)) == 1;
  const auto extents = integers(shape.ptr());
  std::vector<std::int64_t> steps;
  if (strides.is_valid() && !strides.is_none()) steps = integers(strides.ptr());
  if (!steps.empty() && steps.size() != extents.size())
    refuse_array(object, what, std::string("its ") + attribute + " has not one stride for each dimension");
  if (of_cuda) {
    view.key.on_cuda = true;
    view.key.device_index = cuda_device_of(object).value_or(0);
  }
  set_layout(view.key, object, what, static_cast<int>(extents.size()), extents.data(),
             steps.empty() ? nullptr : steps.data(), 1);
  return view;
}

}  // namespace samite::python
