// The rules that the driver's documentation states for tensor maps.
//
// One condition appears there only in an example: that a stride spans the inner dimension. It is not checked, since
// overlapping windows of a tensor break it.
#pragma once

#include "samite/driver/tensor_map.h"

#include <string>
#include <string_view>

namespace samite::driver {

inline constexpr std::uint64_t shared_bytes_of_hopper = std::uint64_t{228} << 10;

// The rule that a description breaks: "box[0] is 300: …". Empty if it follows every rule. A copied box must fit the
// shared memory of a multiprocessor; this is not documented, but the driver checks it.
std::string broken_rule(const TiledTensor &tensor, std::uint64_t shared_bytes = shared_bytes_of_hopper);
std::string broken_rule(const Im2colTensor &tensor, std::uint64_t shared_bytes = shared_bytes_of_hopper);
std::string broken_rule(const Im2colWideTensor &tensor);

// A quick check: false only if broken_rule() is empty. True if a rule is broken, and in cases that only the rules
// themselves decide: a box that fits the shared memory only because of its element strides.
bool may_break_rule(const TiledTensor &tensor, std::uint64_t shared_bytes = shared_bytes_of_hopper) noexcept;

// The packed types whose groups of 16 values fill 16 bytes of shared memory.
constexpr bool has_gaps(TensorType type) noexcept {
  return type == TensorType::u4x16_align16 || type == TensorType::u6x16_align16;
}

// Values of 4 and 6 bits, which are the last of the table.
constexpr bool is_packed(TensorType type) noexcept { return type >= TensorType::u4x16_align8; }

// The required alignment of the tensor's address: 16 or 32 bytes.
constexpr std::uint64_t address_alignment(const TensorLayout &layout) noexcept {
  return layout.interleave == Interleave::bytes_32 || has_gaps(layout.type) ? 32 : 16;
}

// Whether the element type or the swizzle is unknown before CUDA 12.8 and compute capability 10.0.
constexpr bool is_of_blackwell(const TensorLayout &layout) noexcept {
  return is_packed(layout.type) || layout.swizzle > Swizzle::bytes_128;
}

int element_bits(TensorType type) noexcept;
std::string_view name_of(TensorType type) noexcept;  // "bf16"

}  // namespace samite::driver
