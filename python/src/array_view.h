// An array of another library, as a launch sees it: where its elements are, and how they lie.
//
// Read from NumPy and whatever has Python's buffers, from what has DLPack (torch, JAX, CuPy), and from what has
// __array_interface__ or __cuda_array_interface__. Nothing is copied.
#pragma once

#include "python_errors.h"
#include "samite/base/scalar_type.h"
#include "samite/runtime/borrow.h"

#include <array>
#include <optional>
#include <string_view>

namespace samite::python {

// What tells one array from another for a launch. What lies beyond the rank is 0.
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

// What must be given back to the array's library when its memory is not used any more; Python's lock is held then.
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

// `what` is what messages call the object: "diffuse(): argument 'now'". `stream` is the one to use memory of CUDA in:
// the array's library is told and makes it wait for its own. UserError where the object is no array, or one that Samite
// cannot use, such as of complex numbers.
ArrayView view_of(PyObject *object, const std::string &what, const std::optional<Stream> &stream);

// What messages say of a value that JAX traces, after its name.
inline constexpr const char *traced_by_jax =
    " is traced by JAX (under jit, grad or vmap), so it has no elements yet: call this outside of the transformation, "
    "or make a kernel a function of JAX with samite.jax.function()";

// Whether the object is on a CUDA device, and on which one; null where that is not known, or it is on none.
std::optional<int> cuda_device_of(PyObject *object);

// "torch.Tensor of float64 with shape (2, 3) on cuda:0", as far as it is known.
std::string describe(PyObject *object);

// The names that NumPy and torch have for types: "float32", "bfloat16".
const char *python_name(ScalarType type);
std::optional<ScalarType> scalar_type_of_python(std::string_view name);

}  // namespace samite::python
