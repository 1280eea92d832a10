#include "samite/runtime/borrow.h"

#include "samite/base/error.h"
#include "samite/runtime/cuda_stream.h"

#include <fmt/format.h>

#include <bit>

namespace samite {
namespace {

// The address of arrays without elements.
alignas(8) std::byte nothing[8];

// A gradient begins at such an address, and borrowed memory is measured from one, so that an element of the gradient
// has its primal's alignment.
constexpr std::uintptr_t gradient_alignment = 64;

struct AddressRange {
  std::uintptr_t begin, end;
};

// The address range of the bytes of all elements.
std::optional<AddressRange> address_range(std::uintptr_t data, const Extents &extents, const Strides &strides,
                                          std::size_t element_bytes) {
  if (extents.count() == 0) return AddressRange{data, data};
  std::int64_t lowest = 0, highest = 0;
  for (int d = 0; d < extents.rank(); ++d) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(extents[d] - 1, strides[static_cast<std::size_t>(d)], &reach) ||
        __builtin_mul_overflow(reach, static_cast<std::int64_t>(element_bytes), &reach) ||
        __builtin_add_overflow(reach < 0 ? lowest : highest, reach, reach < 0 ? &lowest : &highest))
      return {};
  }
  AddressRange range{};
  const bool wraps = __builtin_add_overflow(data, lowest, &range.begin) ||
                     __builtin_add_overflow(data, highest, &range.end) ||
                     __builtin_add_overflow(range.end, element_bytes, &range.end);
  if (wraps) return {};
  return range;
}

}  // namespace

AnyBuffer borrow(const BorrowedMemory &memory, SourceLocation where) {
  const Extents &extents = memory.extents;
  const Strides strides = memory.strides.value_or(row_major_strides(extents));
  const std::size_t element_bytes = size_of(memory.type);
  auto refuse = [&](const std::string &why) {
    throw UserError(where, fmt::format("cannot borrow memory for a buffer of {}{}: {}", name(memory.type),
                                       extents.to_string(), why));
  };
  if (extents.rank() == 0) refuse("a buffer needs at least one dimension, none given");
  if (memory.data == nullptr && extents.count() != 0) refuse("an address is expected, a null pointer given");
  if (memory.stream && !(memory.stream->device() == memory.device))
    refuse(fmt::format("the memory is on {}, but its stream on {}; name a stream of the memory's device",
                       memory.device.to_string(), memory.stream->device().to_string()));

  auto *data = static_cast<std::byte *>(memory.data ? memory.data : nothing);
  const auto address = std::bit_cast<std::uintptr_t>(data);
  if (address % element_bytes != 0)
    refuse(
        fmt::format("an address that is a multiple of {} is expected, {} given; copy the elements to memory that is "
                    "aligned",
                    element_bytes, static_cast<const void *>(data)));
  const auto range = address_range(address, extents, strides, element_bytes);
  if (!range) refuse("with its strides it reaches around the end of the address space");
  const std::uintptr_t begin = range->begin / gradient_alignment * gradient_alignment;

  AnyBuffer buffer;
  buffer.storage_ = at_call("borrowed", where, [&] {
    return std::make_shared<Storage>(memory.device, range->end - begin,
                                     Storage::Borrowed{data - (address - begin), memory.read_only, memory.owner,
                                                       memory.stream ? memory.stream->cuda_handle() : nullptr});
  });
  buffer.data_ = data;
  buffer.extents_ = extents;
  buffer.strides_ = strides;
  buffer.type_ = memory.type;
  return buffer;
}

}  // namespace samite
