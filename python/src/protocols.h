// How a type hands its arrays over: found when the first of the type is seen, and kept.
#pragma once

#include "array_view.h"
#include "dlpack.h"

namespace samite::python {

enum class Protocol : std::uint8_t { none, buffer, exchange, dlpack, array_interface, cuda_array_interface };

struct TypeProtocol {
  PyTypeObject *type;
  Protocol protocol;
  const dlpack::ExchangeApi *exchange;  // null unless the protocol is `exchange`
  bool is_torch;                        // a tensor of torch's may require a gradient
  bool is_immutable;                    // JAX arrays are immutable: inputs only
  bool is_masked;                       // NumPy's masked arrays, whose mask no protocol hands over
  bool is_traced;                       // what JAX traces under jit, grad and vmap, which has no elements yet
};
// Python's lock is held. The reference holds until the next call.
const TypeProtocol &protocol_of(PyTypeObject *type);

// Each reads an object of a type that has the protocol; `what` and `stream` are those of view_of(). The first returns
// nothing where the object's elements are of a type that Python's buffers have no letter for.
std::optional<ArrayView> view_of_buffer(PyObject *object, const std::string &what);
ArrayView view_by_exchange(PyObject *object, const dlpack::ExchangeApi &exchange, const std::string &what);
ArrayView view_by_dlpack(PyObject *object, const std::string &what, const std::optional<Stream> &stream);
ArrayView view_by_interface(PyObject *object, bool of_cuda, const std::string &what);

// UserError that says what the object is and why it cannot be used.
[[noreturn]] void refuse_array(PyObject *object, const std::string &what, const std::string &why);

// Extents and strides, of which null is row-major; the latter are counted in units of `stride_unit` bytes. Refuses more
// than four dimensions, and strides that are no multiple of an element.
void set_layout(ArrayKey &key, PyObject *object, const std::string &what, int rank, const std::int64_t *extents,
                const std::int64_t *strides, std::int64_t stride_unit);

}  // namespace samite::python
