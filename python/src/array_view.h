// An array of another library as a launch sees it: the address and the layout of its elements.
//
// Samite reads NumPy's arrays and other objects with Python's buffers, objects with DLPack (torch, JAX, CuPy), and
// objects with __array_interface__ or __cuda_array_interface__. It copies nothing.
#pragma once

#include "python_errors.h"
#include "samite/base/scalar_type.h"
#include "samite/runtime/borrow.h"

#include <array>
#include <optional>
#include <string_view>

namespace samite::python {

// Identifies an array for a launch. Extents and strides beyond the rank are 0.
struct ArrayKey {
  void *data;
  std::int32_t rank;
  ScalarType type;
  bool read_only, on_cuda;
  std::int32_t device_index;
  std::array<std::int64_t, maximum_rank> extents, strides;  // in elements

  Device device() const { return on_cuda ? Device::cuda(device_index) : Device::cpu(); }

  friend bool operator==(const ArrayKey &, const ArrayKey &) = default;
};

// Memory on loan from the array's library. The destructor returns it, while the caller holds Python's lock.
class Loan {
 public:
  Loan() = default;
  explicit Loan(const Py_buffer &buffer) : holds_(Holds::buffer), buffer_(buffer) {}
  Loan(void *tensor, bool is_versioned) : holds_(is_versioned ? Holds::versioned : Holds::managed), managed_(tensor) {}
  Loan(Loan &&other) noexcept;
  Loan &operator=(Loan &&other) noexcept;
  ~Loan();

 private:
  enum class Holds : std::uint8_t { nothing, buffer, managed, versioned } holds_ = Holds::nothing;
  union {
    Py_buffer buffer_;
    void *managed_;
  };
};

struct ArrayView {
  ArrayKey key;
  Loan loan;
};

// `what` names the object in messages: "diffuse(): argument 'now'". `stream` is the stream that will use CUDA memory:
// the array's library makes it wait for the library's own stream. UserError if the object is not an array, or is one
// that Samite cannot use, such as an array of complex numbers.
ArrayView view_of(PyObject *object, const std::string &what, const std::optional<Stream> &stream);

// The text of messages about a value that JAX traces, after the value's name.
inline constexpr const char *traced_by_jax =
    " is traced by JAX (under jit, grad or vmap), so it has no elements yet: call this outside of the transformation, "
    "or make a kernel a function of JAX with samite.jax.function()";

// The CUDA device that the object is on; null if the device is unknown or not a CUDA device.
std::optional<int> cuda_device_of(PyObject *object);

// "torch.Tensor of float64 with shape (2, 3) on cuda:0", as far as known.
std::string describe(PyObject *object);

// The names of types in NumPy and torch: "float32", "bfloat16".
const char *python_name(ScalarType type);
std::optional<ScalarType> scalar_type_of_python(std::string_view name);

}  // namespace samite::python
