// Asynchronous copies between buffers and pinned memory.
#include "samite/base/error.h"
#include "samite/runtime/any_buffer.h"
#include "samite/runtime/cuda_stream.h"
#include "samite/runtime/host_operation.h"
#include "samite/runtime/pinned_array.h"

#include <fmt/format.h>

namespace samite {

void AnyBuffer::require_copyable(const AnyPinnedArray &array, const Stream &stream, SourceLocation where) const {
  require_valid(where);
  if (array.type() != type_ || array.extents() != extents_)
    throw UserError(where, fmt::format("a copy between {} and {}: both must have the same type and extents",
                                       to_string(), array.to_string()));
  if (array.device() != device() || stream.device() != device())
    throw UserError(where, fmt::format("a copy between {} and {} on {}: all three must be of one device", to_string(),
                                       array.to_string(), stream.to_string()));
  if (!is_contiguous())
    throw UserError(where, fmt::format("{} has gaps or another order between its elements, which a copy in a stream "
                                       "cannot have: copy from or to a clone() of it",
                                       to_string()));
  if (stream.cuda() && stream.cuda()->stream().context().captures().any() && stream.cuda()->capturing())
    throw UserError(where, fmt::format("a copy between {} and {} cannot be captured, for a graph would run it when the "
                                       "array may be gone: copy before or after the graph is launched",
                                       to_string(), array.to_string()));
}

void AnyBuffer::copy_from(const AnyPinnedArray &source, const Stream &stream, SourceLocation where) {
  require_writable(where);
  require_copyable(source, stream, where);
  perform({.kind = HostOperation::Kind::write,
           .target = *this,
           .done = "copied",
           .where = where,
           .pinned = &source,
           .stream = &stream});
}

void AnyBuffer::copy_to(const AnyPinnedArray &target, const Stream &stream, SourceLocation where) const {
  require_copyable(target, stream, where);
  perform({.kind = HostOperation::Kind::read,
           .source = *this,
           .done = "copied",
           .where = where,
           .pinned = &target,
           .stream = &stream});
}

}  // namespace samite
