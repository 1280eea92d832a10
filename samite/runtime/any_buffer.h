// An array on a device whose element type is known at run time: launches and tapes hold these. Buffer<T> in buffer.h is
// the same with the type known to the compiler.
//
// A buffer is a handle: copies and views share one storage, its version, its gradient and its name; the last of them
// frees it. A view has its own extents and strides over that storage, and is made without a copy. Strides are in
// elements; a broadcast view has stride 0, a reversed one a negative stride.
//
// The gradient belongs to the storage, has the same layout and starts as zeros, so that views, and handles copied
// before track_gradient() was called, share it. In the gradient of a broadcast view the contributions of all indices
// that share an element are summed.
//
// A default-constructed buffer is empty: valid() is false, and functions that need memory throw a UserError. Different
// handles may be used from different threads, even if they share a storage; accesses to the same elements must be
// synchronised by the caller.
#pragma once

#include "samite/base/scalar_type.h"
#include "samite/runtime/device.h"
#include "samite/runtime/extents.h"
#include "samite/runtime/storage.h"
#include "samite/runtime/strided.h"

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace samite {

class AnyPinnedArray;
class Stream;
struct BorrowedMemory;

enum class Gradient { untracked, tracked };

class AnyBuffer {
 public:
  AnyBuffer() = default;
  // New zeroed memory. UserError if a gradient is requested for elements that are not floating point.
  AnyBuffer(Device device, ScalarType type, const Extents &extents, Gradient gradient = Gradient::untracked,
            SourceLocation where = std::source_location::current());

  // The elements of `storage` from its first one on, contiguous, the last dimension fastest; they must fit.
  AnyBuffer(std::shared_ptr<Storage> storage, ScalarType type, const Extents &extents) noexcept;

  bool valid() const noexcept { return storage_ != nullptr; }
  ScalarType type() const noexcept { return type_; }
  Device device(SourceLocation where = std::source_location::current()) const;
  int rank() const noexcept { return extents_.rank(); }
  const Extents &extents() const noexcept { return extents_; }
  std::int64_t extent(int dimension, SourceLocation where = std::source_location::current()) const;
  std::span<const std::int64_t> strides() const noexcept {
    return {strides_.data(), static_cast<std::size_t>(extents_.rank())};
  }
  std::int64_t stride(int dimension, SourceLocation where = std::source_location::current()) const;
  std::int64_t count() const noexcept { return extents_.count(); }

  bool is_contiguous() const noexcept { return is_row_major(extents_, strides_); }  // row-major, without gaps
  // Whether several indices share an element. Such a view is read-only.
  bool is_broadcast() const noexcept;
  // Whether the two may share an element: never false if they do, and true for interleaved views of one storage as
  // well. Their gradients overlap accordingly.
  bool overlaps(const AnyBuffer &other) const noexcept {
    return storage_ && other.storage_ && storage_->may_share(*other.storage_) && overlaps_within(other);
  }
  // The address range that contains the elements, [first, second), on device(); empty if there are none.
  std::pair<const std::byte *, const std::byte *> memory_range() const noexcept;

  const std::shared_ptr<Storage> &storage() const noexcept { return storage_; }
  // The element at index (0, …, 0), an address on device(). Call mark_written() after writing through it.
  void *data() const noexcept { return data_; }
  std::uint64_t version() const noexcept { return storage_ ? storage_->version() : 0; }
  void mark_written() const noexcept { storage_->mark_written(*this); }

  bool tracks_gradient() const noexcept { return storage_ && storage_->gradient_data() != nullptr; }
  // The gradient of the element at data(); null if none is tracked.
  void *gradient_data() const noexcept {
    std::byte *gradient = storage_ ? storage_->gradient_data() : nullptr;
    return gradient ? gradient + (data_ - storage_->data()) : nullptr;
  }
  std::shared_ptr<Storage> gradient_storage() const { return storage_ ? storage_->gradient() : nullptr; }
  // The gradient as a buffer of this view's extents and strides. UserError if none is tracked.
  AnyBuffer gradient(SourceLocation where = std::source_location::current()) const;
  // Sets only the gradient of this view's elements to zero.
  void zero_gradient(SourceLocation where = std::source_location::current());
  // Makes all handles of this storage track. UserError for elements that are not floating point.
  void track_gradient(SourceLocation where = std::source_location::current());

  // The indices begin, begin + step, … before `end`; a negative step counts down, with `end` as low as -1.
  AnyBuffer slice(int dimension, std::int64_t begin, std::int64_t end, std::int64_t step = 1,
                  SourceLocation where = std::source_location::current()) const;
  // Dimension d of the result is dimension order[d] of this buffer.
  AnyBuffer permute(std::initializer_list<int> order, SourceLocation where = std::source_location::current()) const;
  AnyBuffer transpose() const;  // all dimensions in reverse order
  // As in numpy: dimensions are matched from the last, an extent of 1 or a missing dimension is repeated.
  AnyBuffer broadcast(const Extents &extents, SourceLocation where = std::source_location::current()) const;
  // The same elements in row-major order. Contiguous buffers only.
  AnyBuffer reshape(const Extents &extents, SourceLocation where = std::source_location::current()) const;

  // The same view over other memory of the same size and layout.
  AnyBuffer over(std::shared_ptr<Storage> storage) const;

  // New contiguous memory with the same elements. The gradient is not copied.
  AnyBuffer clone(Gradient gradient = Gradient::untracked,
                  SourceLocation where = std::source_location::current()) const;
  // The same on another device, or on this one; it keeps this buffer's name.
  AnyBuffer to(Device device, Gradient gradient = Gradient::untracked,
               SourceLocation where = std::source_location::current()) const;
  // Same type and extents; any strides; any devices; overlap is allowed. UserError if this is a broadcast view.
  void copy_from(const AnyBuffer &source, SourceLocation where = std::source_location::current());

  // Asynchronous copies from and to host memory, in the order of `stream`: the call returns when the copy is queued,
  // and until it has completed, the array must not be accessed. Both are kept alive until then. Contiguous buffers of
  // the same type and extents, all three on one device; not while the stream is captured: UserError. DeviceError.
  void copy_from(const AnyPinnedArray &source, const Stream &stream,
                 SourceLocation where = std::source_location::current());
  void copy_to(const AnyPinnedArray &target, const Stream &stream,
               SourceLocation where = std::source_location::current()) const;

  // This buffer's name in messages; shared by all handles of the storage.
  const std::string &name(SourceLocation where = std::source_location::current()) const;
  void set_name(std::string name, SourceLocation where = std::source_location::current());
  std::string to_string() const;  // "Buffer<f32>(512, 512) on cpu, gradient tracked"

 protected:
  // `other` is on the same device.
  bool overlaps_within(const AnyBuffer &other) const noexcept;

  // An index of up to four dimensions; the first missing one ends it.
  using Index = std::array<std::optional<std::int64_t>, maximum_rank>;

  void read(const Index &index, void *value, SourceLocation where) const;
  void read(std::span<const std::int64_t> index, void *value, SourceLocation where) const;
  void write(std::span<const std::int64_t> index, const void *value, SourceLocation where);
  void require_valid(SourceLocation where) const;
  void require_writable(SourceLocation where) const;
  void require_copyable(const AnyPinnedArray &array, const Stream &stream, SourceLocation where) const;
  void read_all(void *values, SourceLocation where) const;  // count() elements, row-major
  void write_all(const void *values, std::size_t count, SourceLocation where);
  void fill_with(const void *value, SourceLocation where);

 private:
  friend AnyBuffer borrow(const BorrowedMemory &memory, SourceLocation where);

  // A view of one element, of one dimension.
  AnyBuffer element(std::span<const std::int64_t> index, SourceLocation where) const;

  std::shared_ptr<Storage> storage_;
  std::byte *data_ = nullptr;
  Extents extents_;
  Strides strides_{};
  ScalarType type_ = ScalarType::Float32;  // meaningless while empty
};

// The text of to_string() and, below it, the elements as nested rows; long rows are shortened in the middle.
std::ostream &operator<<(std::ostream &stream, const AnyBuffer &buffer);

}  // namespace samite
