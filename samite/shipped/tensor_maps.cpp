#include "samite/shipped/tensor_maps.h"

#include "samite/base/error.h"

#include <cstring>
#include <limits>

namespace samite::shipped {
namespace {

// For factors. 8-bit floats are copied as bits. 32-bit factors belong to tf32 products and are rounded by the copy.
driver::TensorType type_of(ScalarType type) {
  switch (type) {
    case ScalarType::Float16: return driver::TensorType::f16;
    case ScalarType::BFloat16: return driver::TensorType::bf16;
    case ScalarType::Float32: return driver::TensorType::tf32;
    default: internal_check(size_of(type) == 1, "a tensor map of a type that no bulk copy moves");
  }
  return driver::TensorType::u8;
}

// One of the 8-byte words of an array's entry.
std::uint64_t word_of(const std::byte *array, int word) {
  std::uint64_t value;
  std::memcpy(&value, array + sizeof value * static_cast<std::size_t>(word), sizeof value);
  return value;
}

}  // namespace

bool can_have_tensor_map(const AnyBuffer &buffer) {
  constexpr std::int64_t most_stride = std::int64_t{1} << 40;
  const auto bytes = static_cast<std::int64_t>(size_of(buffer.type()));
  if (buffer.strides().back() != 1) return false;
  for (int d = 0; d < buffer.rank(); ++d) {
    const std::int64_t stride = buffer.strides()[static_cast<std::size_t>(d)], extent = buffer.extents()[d];
    if (extent < 1 || extent > std::numeric_limits<std::int32_t>::max()) return false;
    if (d + 1 < buffer.rank() && (stride < 0 || stride >= most_stride / bytes)) return false;
  }
  return true;
}

driver::TiledTensor tensor_of(const FormTensorMap &map, const std::byte *array) {
  driver::TiledTensor tensor;
  tensor.type = map.values ? driver::TensorType::f32 : type_of(map.type);
  tensor.rank = static_cast<unsigned>(map.rank);
  tensor.address = word_of(array, 0);
  tensor.swizzle = map.values ? driver::Swizzle::none : driver::Swizzle::bytes_128;
  tensor.promotion = driver::L2Promotion::bytes_256;
  for (int d = 0; d < map.rank; ++d) {
    const auto own = static_cast<std::size_t>(map.rank - 1 - d);
    tensor.extents[own] = word_of(array, 1 + d);
    tensor.box[own] = 1;
    if (own > 0) tensor.strides[own - 1] = word_of(array, 1 + map.rank + d) * size_of(map.type);
  }
  tensor.box[0] = static_cast<std::uint32_t>(map.columns);
  tensor.box[1] = static_cast<std::uint32_t>(map.rows);
  return tensor;
}

}  // namespace samite::shipped
