// Contiguous memory of arrays, for transports, which use it in a stream.
#pragma once

#include "samite/runtime/any_buffer.h"
#include "samite/runtime/stream.h"

namespace samite::distributed {

void note_use(const Stream &stream, const AnyBuffer &buffer);

// The address of an array that the stream's next work uses; null for an empty buffer.
inline void *used_in(const Stream &stream, const AnyBuffer &buffer) {
  if (buffer.valid() && buffer.storage()->cuda() != nullptr) note_use(stream, buffer);
  return buffer.data();
}

// The values of an array in row-major order: its own memory, or that of a copy.
class PackedValues {
 public:
  PackedValues(const Stream &stream, const AnyBuffer &values)
      : memory_(values.valid() && !values.is_contiguous() ? values.clone() : values), data_(used_in(stream, memory_)) {}

  const AnyBuffer &memory() const { return memory_; }
  void *data() const { return data_; }
  std::size_t bytes() const {
    return memory_.valid() ? static_cast<std::size_t>(memory_.count()) * size_of(memory_.type()) : 0;
  }

 private:
  AnyBuffer memory_;
  void *data_;
};

// Memory for the values of an array in row-major order, which `finish` brings into the array.
class PackedResult {
 public:
  PackedResult(const Stream &stream, const AnyBuffer &result)
      : result_(result),
        memory_(result.valid() && !result.is_contiguous() ? AnyBuffer(result.device(), result.type(), result.extents())
                                                          : result),
        data_(used_in(stream, memory_)) {}

  const AnyBuffer &memory() const { return memory_; }
  void *data() const { return data_; }
  std::size_t bytes() const {
    return memory_.valid() ? static_cast<std::size_t>(memory_.count()) * size_of(memory_.type()) : 0;
  }
  void finish() {
    if (!result_.valid()) return;
    if (result_.is_contiguous())
      result_.mark_written();
    else
      result_.copy_from(memory_);
  }

 private:
  AnyBuffer result_, memory_;
  void *data_;
};

}  // namespace samite::distributed
