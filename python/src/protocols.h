// How a type hands over its arrays: found when its first object is seen, and kept.
#pragma once

#include "array_view.h"
#include "dlpack.h"

namespace samite::python {

enum class Protocol : std::uint8_t { none, buffer, exchange, dlpack, array_interface, cuda_array_interface };

struct TypeProtocol {
  PyTypeObject *type;
  Protocol protocol;
  const dlpack::ExchangeApi *exchange;  // null unless the protocol is `exchange`
  bool is_torch;                        // torch's tensors may require a gradient
  bool is_immutable;                    // JAX arrays are immutable: inputs only
  bool is_masked;                       // NumPy's masked arrays, whose mask no protocol hands over
  bool is_traced;                       // a value that JAX traces under jit, grad or vmap, without elements yet
};
// The caller holds Python's lock. The reference is valid until the next call.
const TypeProtocol &protocol_of(PyTypeObject *type);

// Each reads an object whose type has the protocol; `what` and `stream` are as in view_of(). The first returns null if
// Python's buffers have no letter for the type of the elements.
std::optional<ArrayView> view_of_buffer(PyObject *object, const std::string &what);
ArrayView view_by_exchange(PyObject *object, const dlpack::ExchangeApi &exchange, const std::string &what);
ArrayView view_by_dlpack(PyObject *object, const std::string &what, const std::optional<Stream> &stream);
ArrayView view_by_interface(PyObject *object, bool of_cuda, const std::string &what);

// Throws a UserError that says what the object is and why it cannot be used.
[[noreturn]] void refuse_array(PyObject *object, const std::string &what, const std::string &why);

// Sets extents and strides. Null strides mean row-major; others are in units of `stride_unit` bytes. Refuses more than
// four dimensions, and strides that are not multiples of an element's size.
void set_layout(ArrayKey &key, PyObject *object, const std::string &what, int rank, const std::int64_t *extents,
                const std::int64_t *strides, std::int64_t stride_unit);

}  // namespace samite::python
