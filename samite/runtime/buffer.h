// An array of T on a device: the buffer that programs hold and pass to kernels.
//
//   Buffer<float> a{device, {512, 512}};                       // zeros
//   Buffer<float> b{device, {512, 512}, Gradient::tracked};    // with a gradient, zeros too
//   Buffer<float> c{device, {3}, {1, 2, 3}};                   // row-major values
//   Buffer<float> row = a.slice(0, 7, 8);                      // a view: writing to it writes to a
//
// A buffer is a shared handle, see AnyBuffer: `Buffer<float> other = a` is the same array, a.clone() is another one.
// Functions of this class that read or write host memory have completed when they return; see transfer.h. Those that
// can fail take the caller's line as a defaulted last argument; the errors are UserErrors that name it.
#pragma once

#include "samite/base/error.h"
#include "samite/runtime/any_buffer.h"

#include <concepts>
#include <optional>
#include <utility>
#include <vector>

namespace samite {

// Scalars that can have a gradient.
template <class T>
concept Differentiable = FloatingScalar<T> && ArithmeticScalar<T>;

template <Scalar T>
  requires(!std::is_const_v<T>)
class Buffer : public AnyBuffer {
  using Here = std::source_location;

 public:
  Buffer() = default;
  explicit Buffer(Device device, const Extents &extents, SourceLocation where = Here::current())
      : AnyBuffer(device, scalar_type_of<T>, extents, Gradient::untracked, where) {}
  Buffer(Device device, const Extents &extents, Gradient gradient, SourceLocation where = Here::current())
    requires Differentiable<T>
      : AnyBuffer(device, scalar_type_of<T>, extents, gradient, where) {}

  // UserError unless there is one value for each element.
  Buffer(Device device, const Extents &extents, std::span<const T> values, SourceLocation where = Here::current())
      : Buffer(device, extents, where) {
    write_all(values.data(), values.size(), where);
  }
  Buffer(Device device, const Extents &extents, std::span<const T> values, Gradient gradient,
         SourceLocation where = Here::current())
    requires Differentiable<T>
      : Buffer(device, extents, gradient, where) {
    write_all(values.data(), values.size(), where);
  }
  Buffer(Device device, const Extents &extents, std::initializer_list<T> values, SourceLocation where = Here::current())
      : Buffer(device, extents, std::span(values.begin(), values.size()), where) {}
  Buffer(Device device, const Extents &extents, std::initializer_list<T> values, Gradient gradient,
         SourceLocation where = Here::current())
    requires Differentiable<T>
      : Buffer(device, extents, std::span(values.begin(), values.size()), gradient, where) {}

  // A handle to the same array. UserError if its elements are not T.
  explicit Buffer(AnyBuffer buffer, SourceLocation where = Here::current()) : AnyBuffer(std::move(buffer)) {
    if (valid() && type() != scalar_type_of<T>)
      throw UserError(where, "expected a buffer of " + std::string(samite::name(scalar_type_of<T>)) + ", " +
                                 to_string() + " given");
  }

  T *data() const noexcept { return static_cast<T *>(AnyBuffer::data()); }

  void fill(T value, SourceLocation where = Here::current()) { fill_with(&value, where); }
  // One value for each element, in row-major order.
  void copy_from(std::span<const T> values, SourceLocation where = Here::current()) {
    write_all(values.data(), values.size(), where);
  }
  void copy_from(std::initializer_list<T> values, SourceLocation where = Here::current()) {
    write_all(values.begin(), values.size(), where);
  }
  void copy_from(const Buffer &source, SourceLocation where = Here::current()) { AnyBuffer::copy_from(source, where); }
  // From pinned memory, in the order of a stream; see AnyBuffer, which has copy_to(), too.
  void copy_from(const AnyPinnedArray &source, const Stream &stream, SourceLocation where = Here::current()) {
    AnyBuffer::copy_from(source, stream, where);
  }

  // All elements in row-major order.
  std::vector<T> to_vector(SourceLocation where = Here::current()) const {
    require_valid(where);
    if constexpr (std::same_as<T, bool>) {  // std::vector<bool> does not store bools
      auto values = std::make_unique<bool[]>(static_cast<std::size_t>(count()));
      read_all(values.get(), where);
      return std::vector<bool>(values.get(), values.get() + count());
    } else {
      std::vector<T> values(static_cast<std::size_t>(count()));
      read_all(values.data(), where);
      return values;
    }
  }

  // One element: as many indices as the rank.
  T at(std::int64_t i, std::optional<std::int64_t> j = {}, std::optional<std::int64_t> k = {},
       std::optional<std::int64_t> l = {}, SourceLocation where = Here::current()) const {
    T value;
    read(Index{i, j, k, l}, &value, where);
    return value;
  }
  // The same with the indices in braces, as for set().
  T at(std::initializer_list<std::int64_t> index, SourceLocation where = Here::current()) const {
    T value;
    read(std::span(index.begin(), index.size()), &value, where);
    return value;
  }
  void set(std::initializer_list<std::int64_t> index, T value, SourceLocation where = Here::current()) {
    write(std::span(index.begin(), index.size()), &value, where);
  }

  Buffer gradient(SourceLocation where = Here::current()) const
    requires Differentiable<T>
  {
    return Buffer(AnyBuffer::gradient(where));
  }

  Buffer slice(int dimension, std::int64_t begin, std::int64_t end, std::int64_t step = 1,
               SourceLocation where = Here::current()) const {
    return Buffer(AnyBuffer::slice(dimension, begin, end, step, where));
  }
  Buffer permute(std::initializer_list<int> order, SourceLocation where = Here::current()) const {
    return Buffer(AnyBuffer::permute(order, where));
  }
  Buffer transpose() const { return Buffer(AnyBuffer::transpose()); }
  Buffer broadcast(const Extents &extents, SourceLocation where = Here::current()) const {
    return Buffer(AnyBuffer::broadcast(extents, where));
  }
  Buffer reshape(const Extents &extents, SourceLocation where = Here::current()) const {
    return Buffer(AnyBuffer::reshape(extents, where));
  }

  Buffer to(Device device, SourceLocation where = Here::current()) const {
    return Buffer(AnyBuffer::to(device, Gradient::untracked, where));
  }
  Buffer to(Device device, Gradient gradient, SourceLocation where = Here::current()) const
    requires Differentiable<T>
  {
    return Buffer(AnyBuffer::to(device, gradient, where));
  }

  Buffer clone(SourceLocation where = Here::current()) const {
    return Buffer(AnyBuffer::clone(Gradient::untracked, where));
  }
  Buffer clone(Gradient gradient, SourceLocation where = Here::current()) const
    requires Differentiable<T>
  {
    return Buffer(AnyBuffer::clone(gradient, where));
  }
};

}  // namespace samite
