#include "samite/runtime/transfer.h"

#include "samite/base/error.h"
#include "samite/driver/copy.h"
#include "samite/driver/event.h"
#include "samite/runtime/any_buffer.h"
#include "samite/runtime/cuda_memory.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>

namespace samite {
namespace {

std::uint64_t address(const std::byte *data) { return reinterpret_cast<std::uint64_t>(data); }

const driver::Stream &stream_of(const Place &place) {
  return place.storage->cuda()->device().standard_stream()->stream();
}

// Work on the standard stream of the place's device, ordered with all other work on its memory.
class Turn {
 public:
  explicit Turn(const Place &place) : memory_(*place.storage->cuda()) { memory_.begin_host_work(); }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  // After an error queued work still runs: the memory must not be used meanwhile, on the device or on the host.
  ~Turn() {
    try {
      if (!ended_) memory_.device().standard_stream()->stream().synchronize();
    } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
      // The original error propagates.
    }
  }
  void end() {
    memory_.end_host_work();
    ended_ = true;
  }

 private:
  CudaMemory &memory_;
  bool ended_ = false;
};

// Contiguous, on the device of `place`.
struct Packed {
  Storage storage;
  Place place;

  Packed(const Extents &extents, std::size_t element_bytes, const Place &like)
      : storage(like.storage->device(), static_cast<std::size_t>(extents.count()) * element_bytes),
        place{storage.data(), row_major_strides(extents), &storage} {}
};

// In host memory.
struct PackedOnHost {
  std::unique_ptr<std::byte[]> memory;
  Place place;

  PackedOnHost(const Extents &extents, std::size_t element_bytes)
      : memory(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(extents.count()) * element_bytes)),
        place{memory.get(), row_major_strides(extents), nullptr} {}
};

bool overlap(const Extents &extents, std::size_t element_bytes, const Place &a, const Place &b) {
  auto [a_begin, a_end] = byte_range(a.data, extents, a.strides, element_bytes);
  auto [b_begin, b_end] = byte_range(b.data, extents, b.strides, element_bytes);
  std::less<const std::byte *> before;
  return before(a_begin, b_end) && before(b_begin, a_end);
}

// For arrays, at least one of them on a device.
class DeviceCopy {
 public:
  DeviceCopy(const Extents &extents, std::size_t element_bytes)
      : extents_(extents),
        element_bytes_(element_bytes),
        bytes_(static_cast<std::size_t>(extents.count()) * element_bytes) {}

  void run(const Place &to, const Place &from) const {
    if (from.on_host()) return to_device(to, from);
    if (to.on_host()) return to_host(to, from);
    if (to.storage->device() == from.storage->device()) return on_device(to, from);
    between_devices(to, from);
  }

 private:
  bool packed(const Place &place) const { return is_row_major(extents_, place.strides); }

  void to_device(const Place &to, const Place &from) const {
    if (!packed(from)) {
      const PackedOnHost packed(extents_, element_bytes_);
      copy_strided(extents_, element_bytes_, packed.place.data, packed.place.strides, from.data, from.strides);
      return to_device(to, packed.place);
    }
    if (!packed(to)) {
      const Packed packed(extents_, element_bytes_, to);
      to_device(packed.place, from);
      return on_device(to, packed.place);
    }
    Turn turn(to);
    driver::copy_to_device(stream_of(to), address(to.data), from.data, bytes_);
    turn.end();
    // Pinned memory is read while the copy runs.
    stream_of(to).synchronize();
  }

  void to_host(const Place &to, const Place &from) const {
    if (!packed(from)) {
      const Packed packed(extents_, element_bytes_, from);
      on_device(packed.place, from);
      return to_host(to, packed.place);
    }
    if (!packed(to)) {
      const PackedOnHost packed(extents_, element_bytes_);
      to_host(packed.place, from);
      return copy_strided(extents_, element_bytes_, to.data, to.strides, packed.place.data, packed.place.strides);
    }
    Turn turn(from);
    driver::copy_to_host(stream_of(from), to.data, address(from.data), bytes_);
    turn.end();
    // Delivers the reports of instances that wrote the elements.
    from.storage->cuda()->device().standard_stream()->synchronize();
  }

  void on_device(const Place &to, const Place &from) const {
    if (to.data == from.data && to.strides == from.strides) return;
    if (overlap(extents_, element_bytes_, to, from)) {
      const Packed packed(extents_, element_bytes_, from);
      on_device(packed.place, from);
      return on_device(to, packed.place);
    }
    Turn writing(to), reading(from);
    if (packed(to) && packed(from))
      driver::copy_on_device(stream_of(to), address(to.data), address(from.data), bytes_);
    else
      copy_by_kernel(extents_, element_bytes_, to, from, stream_of(to));
    writing.end();
    reading.end();
  }

  void between_devices(const Place &to, const Place &from) const {
    if (!packed(from)) {
      const Packed packed(extents_, element_bytes_, from);
      on_device(packed.place, from);
      return between_devices(to, packed.place);
    }
    if (!packed(to)) {
      const Packed packed(extents_, element_bytes_, to);
      between_devices(packed.place, from);
      return on_device(to, packed.place);
    }
    Turn writing(to), reading(from);
    const driver::Stream &source = stream_of(from), &target = stream_of(to);
    const driver::Event ready = driver::Event::create(target.context());
    ready.record(target);
    source.wait(ready);
    driver::copy_between_devices(source, target.context(), address(to.data), source.context(), address(from.data),
                                 bytes_);
    const driver::Event copied = driver::Event::create(source.context());
    copied.record(source);
    target.wait(copied);
    writing.end();
    reading.end();
  }

  const Extents &extents_;
  std::size_t element_bytes_, bytes_;
};

}  // namespace

Place place_of(const AnyBuffer &buffer) {
  Strides strides{};
  std::ranges::copy(buffer.strides(), strides.begin());
  return {static_cast<std::byte *>(buffer.data()), strides, buffer.storage().get()};
}

void copy_by_kernel(const Extents &extents, std::size_t element_bytes, const Place &to, const Place &from,
                    const driver::Stream &stream) {
  CudaDevice::StridedCopy copy{};
  copy.to = address(to.data), copy.from = address(from.data);
  const int missing = 4 - extents.rank();
  for (int d = 0; d < 4; ++d) {
    const bool there = d >= missing;
    const auto axis = static_cast<std::size_t>(there ? d - missing : 0);
    copy.extent[d] = there ? extents[d - missing] : 1;
    copy.to_stride[d] = there ? to.strides[axis] : 0;
    copy.from_stride[d] = there ? from.strides[axis] : 0;
  }
  copy.count = static_cast<std::uint64_t>(extents.count());
  copy.element_bytes = element_bytes;
  to.storage->cuda()->device().copy_strided(stream, copy);
}

std::optional<std::uint32_t> word_that_repeats(const Extents &extents, std::size_t element_bytes, const Place &to,
                                               const void *value) {
  std::byte word[4];
  std::memcpy(word, value, std::min<std::size_t>(element_bytes, 4));
  for (std::size_t i = element_bytes; i < 4; ++i) word[i] = word[i - element_bytes];
  const std::size_t bytes = static_cast<std::size_t>(extents.count()) * element_bytes;
  const bool repeats = element_bytes <= 4 || std::memcmp(value, static_cast<const std::byte *>(value) + 4, 4) == 0;
  if (!repeats || !is_row_major(extents, to.strides) || bytes % 4 != 0 || address(to.data) % 4 != 0)
    return std::nullopt;
  std::uint32_t pattern;
  std::memcpy(&pattern, word, sizeof pattern);
  return pattern;
}

void copy_array(const Extents &extents, std::size_t element_bytes, const Place &to, const Place &from) {
  if (to.on_host() && from.on_host())
    return copy_strided(extents, element_bytes, to.data, to.strides, from.data, from.strides);
  if (extents.count() != 0) DeviceCopy(extents, element_bytes).run(to, from);
}

void fill_array(const Extents &extents, std::size_t element_bytes, const Place &to, const void *value) {
  if (to.on_host()) return fill_strided(extents, element_bytes, to.data, to.strides, value);
  if (extents.count() == 0) return;
  // The driver itself fills with words; other patterns are copied from one element with strides of 0.
  if (const auto word = word_that_repeats(extents, element_bytes, to, value)) {
    const std::size_t bytes = static_cast<std::size_t>(extents.count()) * element_bytes;
    Turn turn(to);
    driver::fill_words(stream_of(to), address(to.data), *word, bytes / sizeof *word);
    return turn.end();
  }
  const Extents one{1};
  const Packed element(one, element_bytes, to);
  std::byte copy[8];
  std::memcpy(copy, value, element_bytes);
  DeviceCopy(one, element_bytes).run(element.place, {copy, row_major_strides(one), nullptr});
  Turn turn(to);
  copy_by_kernel(extents, element_bytes, to, {element.place.data, Strides{}, element.place.storage}, stream_of(to));
  turn.end();
}

}  // namespace samite
