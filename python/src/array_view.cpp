#include "array_view.h"

#include "protocols.h"

#include <cstring>
#include <utility>

namespace samite::python {
namespace {

struct TypeName {
  const char *name;
  ScalarType type;
};
constexpr TypeName type_names[] = {
    {"bool", ScalarType::Bool},
    {"int8", ScalarType::Int8},
    {"int16", ScalarType::Int16},
    {"int32", ScalarType::Int32},
    {"int64", ScalarType::Int64},
    {"uint8", ScalarType::UInt8},
    {"uint16", ScalarType::UInt16},
    {"uint32", ScalarType::UInt32},
    {"uint64", ScalarType::UInt64},
    {"float8_e4m3fn", ScalarType::Float8E4M3},
    {"float8_e5m2", ScalarType::Float8E5M2},
    {"float16", ScalarType::Float16},
    {"bfloat16", ScalarType::BFloat16},
    {"float32", ScalarType::Float32},
    {"float64", ScalarType::Float64},
};

// The attribute as text; empty if the object has no such attribute, or the attribute has no text.
std::string spelled(PyObject *object, const char *attribute) {
  const nb::object value = nb::steal(PyObject_GetAttrString(object, attribute));
  const nb::object text = value.is_valid() ? nb::steal(PyObject_Str(value.ptr())) : nb::object();
  const char *bytes = text.is_valid() ? PyUnicode_AsUTF8AndSize(text.ptr(), nullptr) : nullptr;
  if (bytes) return bytes;
  PyErr_Clear();
  return {};
}

}  // namespace

Loan::Loan(Loan &&other) noexcept : holds_(std::exchange(other.holds_, Holds::nothing)) {
  std::memcpy(&buffer_, &other.buffer_, sizeof buffer_);
}

Loan &Loan::operator=(Loan &&other) noexcept {
  std::swap(holds_, other.holds_);
  Py_buffer mine;
  std::memcpy(&mine, &buffer_, sizeof mine);
  std::memcpy(&buffer_, &other.buffer_, sizeof mine);
  std::memcpy(&other.buffer_, &mine, sizeof mine);
  return *this;
}

Loan::~Loan() {
  switch (holds_) {
    case Holds::nothing: return;
    case Holds::buffer: PyBuffer_Release(&buffer_); return;
    case Holds::managed: {
      auto *tensor = static_cast<dlpack::ManagedTensor *>(managed_);
      if (tensor->deleter) tensor->deleter(tensor);
      return;
    }
    case Holds::versioned: {
      auto *tensor = static_cast<dlpack::VersionedTensor *>(managed_);
      if (tensor->deleter) tensor->deleter(tensor);
      return;
    }
  }
}

const char *python_name(ScalarType type) {
  for (const TypeName &row : type_names)
    if (row.type == type) return row.name;
  return "unknown";
}

std::optional<ScalarType> scalar_type_of_python(std::string_view name) {
  for (const TypeName &row : type_names)
    if (name == row.name) return row.type;
  return {};
}

std::string describe(PyObject *object) {
  if (object == Py_None) return "None";
  PyObject *type = reinterpret_cast<PyObject *>(Py_TYPE(object));
  std::string text = spelled(type, "__module__"), name = spelled(type, "__qualname__");
  text = text.empty() || text == "builtins" ? name : text + "." + name;
  std::string elements = spelled(object, "dtype");
  if (elements.starts_with("torch.")) elements.erase(0, 6);
  if (!elements.empty()) text += " of " + elements;
  std::string shape = spelled(object, "shape");
  if (shape.starts_with("torch.Size([")) shape = "(" + shape.substr(12, shape.size() - 14) + ")";
  if (!shape.empty()) text += " with shape " + shape;
  if (const auto device = cuda_device_of(object)) text += " on cuda:" + std::to_string(*device);
  return text;
}

void refuse_array(PyObject *object, const std::string &what, const std::string &why) {
  throw UserError(what + ": " + describe(object) + " is given; " + why);
}

void set_layout(ArrayKey &key, PyObject *object, const std::string &what, int rank, const std::int64_t *extents,
                const std::int64_t *strides, std::int64_t stride_unit) {
  if (rank > maximum_rank)
    refuse_array(object, what, "an array has at most " + std::to_string(maximum_rank) + " dimensions: reshape it");
  key.rank = rank;
  const auto element_bytes = static_cast<std::int64_t>(size_of(key.type));
  std::int64_t row_major = 1;
  for (int d = rank - 1; d >= 0; --d) {
    const auto axis = static_cast<std::size_t>(d);
    key.extents[axis] = extents[d];
    if (!strides) {
      key.strides[axis] = row_major;
      if (__builtin_mul_overflow(row_major, extents[d], &row_major)) row_major = 0;  // it has no elements, or too many
      continue;
    }
    // CuPy divides a negative stride in bytes as an unsigned number; the product is right modulo 2^64.
    const auto bytes =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(strides[d]) * static_cast<std::uint64_t>(stride_unit));
    if (bytes % element_bytes != 0)
      refuse_array(object, what,
                   "its stride " + std::to_string(strides[d]) + " in dimension " + std::to_string(d) +
                       " is no multiple of an element's " + std::to_string(element_bytes) + " bytes: copy it");
    key.strides[axis] = bytes / element_bytes;
  }
}

ArrayView view_of(PyObject *object, const std::string &what, const std::optional<Stream> &stream) {
  const TypeProtocol found = protocol_of(Py_TYPE(object));
  if (found.is_traced) throw UserError(what + traced_by_jax);
  if (found.is_masked)
    refuse_array(object, what,
                 "its mask would be ignored: give array.filled(value), or array.data and the mask as two arrays");
  const auto read = [&]() -> ArrayView {
    switch (found.protocol) {
      case Protocol::buffer:
        if (auto view = view_of_buffer(object, what)) return std::move(*view);
        return view_by_interface(object, false, what);
      case Protocol::exchange: return view_by_exchange(object, *found.exchange, what);
      case Protocol::dlpack: return view_by_dlpack(object, what, stream);
      case Protocol::array_interface: return view_by_interface(object, false, what);
      case Protocol::cuda_array_interface: return view_by_interface(object, true, what);
      case Protocol::none: break;
    }
    throw UserError(what + " expects an array: of NumPy, torch, JAX, CuPy, or whatever has DLPack or an array " +
                    "interface; " + describe(object) + " is given");
  };
  ArrayView view = read();
  view.key.read_only |= found.is_immutable;
  return view;
}

}  // namespace samite::python
