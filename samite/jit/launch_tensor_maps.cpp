#include "samite/jit/launch_tensor_maps.h"

#include "samite/base/error.h"

#include <cstring>

namespace samite::jit {
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

template <class Word>
Word word_at(const std::byte *from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

driver::TiledTensor tensor_of(const Variant &variant, const passes::TensorMapNeeded &needed,
                              const std::byte *arguments) {
  using Layout = codegen::ArgumentLayout;
  const int rank = needed.rank;
  const std::byte *array = arguments + variant.layout.offsets[needed.array];
  driver::TiledTensor tensor;
  tensor.type = needed.values ? driver::TensorType::f32 : type_of(needed.type);
  tensor.rank = static_cast<unsigned>(rank);
  tensor.address = word_at<driver::CUdeviceptr>(array + Layout::data_offset());
  tensor.swizzle = needed.values ? driver::Swizzle::none : driver::Swizzle::bytes_128;
  tensor.promotion = driver::L2Promotion::bytes_256;
  for (int d = 0; d < rank; ++d) {
    const auto own = static_cast<std::size_t>(rank - 1 - d);
    tensor.extents[own] = word_at<std::uint64_t>(array + Layout::extent_offset(d));
    tensor.box[own] = 1;
    if (own > 0)
      tensor.strides[own - 1] = word_at<std::uint64_t>(array + Layout::stride_offset(rank, d)) * size_of(needed.type);
  }
  tensor.box[0] = static_cast<std::uint32_t>(needed.columns);
  tensor.box[1] = static_cast<std::uint32_t>(needed.rows);
  return tensor;
}

}  // namespace

std::vector<driver::TensorMapBits> launch_tensor_maps(const Variant &variant, const std::byte *arguments,
                                                      driver::TensorMapCache &cache, SourceLocation where) {
  std::vector<driver::TensorMapBits> maps;
  maps.reserve(variant.tensor_maps.size());
  for (const passes::TensorMapNeeded &needed : variant.tensor_maps)
    maps.push_back(cache.encode(tensor_of(variant, needed, arguments), where));
  return maps;
}

}  // namespace samite::jit
