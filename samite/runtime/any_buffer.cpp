#include "samite/runtime/any_buffer.h"

#include "samite/base/error.h"
#include "samite/runtime/host_operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace samite {
namespace {

std::size_t bytes_for(ScalarType type, const Extents &extents, SourceLocation where) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(extents.count(), static_cast<std::int64_t>(size_of(type)), &bytes))
    throw UserError(where, fmt::format("a buffer of {}{} has more bytes than 64 bits can count", samite::name(type),
                                       extents.to_string()));
  return static_cast<std::size_t>(bytes);
}

void require_floating(ScalarType type, SourceLocation where) {
  if (!is_floating(type))
    throw UserError(where, fmt::format("a gradient needs floating-point elements, such as f32 or f64; {} given",
                                       samite::name(type)));
  if (is_float8(type))
    throw UserError(where,
                    fmt::format("a buffer of {}, which has too few digits for a gradient, tracks none: keep what "
                                "is to be differentiated in f32, and cast it to {} in the kernel",
                                samite::name(type), samite::name(type)));
}

}  // namespace

AnyBuffer::AnyBuffer(Device device, ScalarType type, const Extents &extents, Gradient gradient, SourceLocation where)
    : extents_(extents), strides_(row_major_strides(extents)), type_(type) {
  if (extents.rank() == 0) throw UserError(where, "a buffer needs at least one dimension, none given");
  if (gradient == Gradient::tracked) require_floating(type, where);
  at_call("allocated", where, [&] {
    storage_ = std::make_shared<Storage>(device, bytes_for(type, extents, where));
    if (gradient == Gradient::tracked) storage_->track_gradient();
  });
  data_ = storage_->data();
}

AnyBuffer::AnyBuffer(std::shared_ptr<Storage> storage, ScalarType type, const Extents &extents) noexcept
    : storage_(std::move(storage)),
      data_(storage_->data()),
      extents_(extents),
      strides_(row_major_strides(extents)),
      type_(type) {}

void AnyBuffer::require_valid(SourceLocation where) const {
  if (!valid()) throw UserError(where, "the buffer is empty: construct it with a device and extents before it is used");
}

void AnyBuffer::require_writable(SourceLocation where) const {
  require_valid(where);
  if (storage_->is_read_only())
    throw UserError(where, fmt::format("{} is borrowed memory that is read-only: borrow it from its owner for writing, "
                                       "or write to a clone()",
                                       to_string()));
  if (count() == 0) return;
  for (int d = 0; d < rank(); ++d)
    if (extents_[d] > 1 && strides_[static_cast<std::size_t>(d)] == 0)
      throw UserError(where, fmt::format("{} is a broadcast view and read-only: its {} indices in dimension {} share "
                                         "one element; write to the buffer it was made from, or to a clone()",
                                         to_string(), extents_[d], d));
}

Device AnyBuffer::device(SourceLocation where) const {
  require_valid(where);
  return storage_->device();
}

std::int64_t AnyBuffer::extent(int dimension, SourceLocation where) const {
  if (dimension < 0 || dimension >= rank())
    throw UserError(where, fmt::format("{} has {} dimension{}, dimension {} was asked for", to_string(), rank(),
                                       rank() == 1 ? "" : "s", dimension));
  return extents_[dimension];
}

std::int64_t AnyBuffer::stride(int dimension, SourceLocation where) const {
  extent(dimension, where);
  return strides_[static_cast<std::size_t>(dimension)];
}

bool AnyBuffer::is_broadcast() const noexcept {
  if (count() == 0) return false;  // row-major strides are 0 before an extent of 0
  for (int d = 0; d < rank(); ++d)
    if (extents_[d] > 1 && strides_[static_cast<std::size_t>(d)] == 0) return true;
  return false;
}

std::pair<const std::byte *, const std::byte *> AnyBuffer::memory_range() const noexcept {
  return byte_range(data_, extents_, strides_, size_of(type_));
}

bool AnyBuffer::overlaps_within(const AnyBuffer &other) const noexcept {
  auto [begin, end] = memory_range();
  auto [other_begin, other_end] = other.memory_range();
  return begin != end && other_begin != other_end && begin < other_end && other_begin < end;
}

AnyBuffer AnyBuffer::gradient(SourceLocation where) const {
  require_valid(where);
  if (!tracks_gradient())
    throw UserError(where, fmt::format("{} tracks no gradient: construct it with Gradient::tracked, or call "
                                       "track_gradient() before the launch",
                                       to_string()));
  return over(storage_->gradient());
}

AnyBuffer AnyBuffer::over(std::shared_ptr<Storage> storage) const {
  internal_check(valid() && storage->bytes() == storage_->bytes(), "a view is laid over memory of another size");
  AnyBuffer view = *this;
  view.data_ = storage->data() + (data_ - storage_->data());
  view.storage_ = std::move(storage);
  return view;
}

void AnyBuffer::zero_gradient(SourceLocation where) {
  AnyBuffer view = gradient(where);
  // Elements that several indices share are visited once, so that no two threads write the same one.
  std::array<std::int64_t, maximum_rank> extents{};
  for (int d = 0; d < rank(); ++d) {
    auto axis = static_cast<std::size_t>(d);
    extents[axis] = strides_[axis] == 0 ? std::min<std::int64_t>(extents_[d], 1) : extents_[d];
  }
  view.extents_ = Extents(std::span<const std::int64_t>(extents).first(static_cast<std::size_t>(rank())), where);
  const double zero = 0;  // all bits zero, as in every scalar type
  perform({.kind = HostOperation::Kind::fill, .target = view, .values = &zero, .done = "filled", .where = where});
}

void AnyBuffer::track_gradient(SourceLocation where) {
  require_valid(where);
  require_floating(type_, where);
  at_call("allocated", where, [&] { storage_->track_gradient(); });
}

AnyBuffer AnyBuffer::clone(Gradient gradient, SourceLocation where) const {
  require_valid(where);
  AnyBuffer copy(device(), type_, extents_, gradient, where);
  copy.copy_from(*this, where);
  return copy;
}

void AnyBuffer::copy_from(const AnyBuffer &source, SourceLocation where) {
  require_writable(where);
  source.require_valid(where);
  if (source.type_ != type_)
    throw UserError(where, fmt::format("cannot copy elements of another type: expected {}, {} given",
                                       samite::name(type_), samite::name(source.type_)));
  if (source.extents_ != extents_)
    throw UserError(where, fmt::format("cannot copy a buffer of other extents: expected {}, {} given; broadcast() or "
                                       "reshape() the source",
                                       extents_.to_string(), source.extents_.to_string()));
  perform({.kind = HostOperation::Kind::copy, .target = *this, .source = source, .done = "copied", .where = where});
}

AnyBuffer AnyBuffer::to(Device device, Gradient gradient, SourceLocation where) const {
  require_valid(where);
  AnyBuffer copy(device, type_, extents_, gradient, where);
  copy.copy_from(*this, where);
  if (!name().empty()) copy.set_name(name());
  return copy;
}

void AnyBuffer::read_all(void *values, SourceLocation where) const {
  perform({.kind = HostOperation::Kind::read, .source = *this, .into = values, .done = "read", .where = where});
}

void AnyBuffer::write_all(const void *values, std::size_t count, SourceLocation where) {
  require_writable(where);
  if (count != static_cast<std::size_t>(this->count()))
    throw UserError(where, fmt::format("expected {} values for {}, {} given", this->count(), to_string(), count));
  perform({.kind = HostOperation::Kind::write, .target = *this, .values = values, .done = "written", .where = where});
}

void AnyBuffer::fill_with(const void *value, SourceLocation where) {
  require_writable(where);
  perform({.kind = HostOperation::Kind::fill, .target = *this, .values = value, .done = "filled", .where = where});
}

AnyBuffer AnyBuffer::element(std::span<const std::int64_t> index, SourceLocation where) const {
  require_valid(where);
  if (index.size() != static_cast<std::size_t>(rank()))
    throw UserError(where, fmt::format("{} takes {} {}, {} given: ({})", to_string(), rank(),
                                       rank() == 1 ? "index" : "indices", index.size(), fmt::join(index, ", ")));
  std::int64_t offset = 0;
  for (int d = 0; d < rank(); ++d) {
    auto axis = static_cast<std::size_t>(d);
    if (index[axis] < 0 || index[axis] >= extents_[d])
      throw UserError(where, fmt::format("index ({}) lies outside {}: index {} in dimension {}, whose extent is {}",
                                         fmt::join(index, ", "), to_string(), index[axis], d, extents_[d]));
    offset += index[axis] * strides_[axis];
  }
  AnyBuffer view = *this;
  view.data_ += offset * static_cast<std::int64_t>(size_of(type_));
  view.extents_ = Extents{1};
  view.strides_ = row_major_strides(view.extents_);
  return view;
}

void AnyBuffer::read(const Index &index, void *value, SourceLocation where) const {
  std::array<std::int64_t, maximum_rank> given{};
  std::size_t count = 0;
  while (count < index.size() && index[count]) {
    given[count] = *index[count];
    ++count;
  }
  read(std::span(given).first(count), value, where);
}

void AnyBuffer::read(std::span<const std::int64_t> index, void *value, SourceLocation where) const {
  element(index, where).read_all(value, where);
}

void AnyBuffer::write(std::span<const std::int64_t> index, const void *value, SourceLocation where) {
  require_writable(where);
  element(index, where).write_all(value, 1, where);
}

const std::string &AnyBuffer::name(SourceLocation where) const {
  require_valid(where);
  return storage_->name();
}

void AnyBuffer::set_name(std::string name, SourceLocation where) {
  require_valid(where);
  storage_->set_name(std::move(name));
}

}  // namespace samite
