#include "samite/jit/launch_tensor_maps.h"

#include "samite/shipped/tensor_maps.h"

namespace samite::jit {

shipped::FormTensorMap form_of(const passes::TensorMapNeeded &needed) {
  return {.array = static_cast<int>(needed.array),
          .type = needed.type,
          .rank = needed.rank,
          .rows = needed.rows,
          .columns = needed.columns,
          .values = needed.values};
}

std::vector<driver::TensorMapBits> launch_tensor_maps(const Variant &variant, const std::byte *arguments,
                                                      driver::TensorMapCache &cache, SourceLocation where) {
  std::vector<driver::TensorMapBits> maps;
  maps.reserve(variant.gpu.tensor_maps.size());
  for (const passes::TensorMapNeeded &needed : variant.gpu.tensor_maps)
    maps.push_back(
        cache.encode(shipped::tensor_of(form_of(needed), arguments + variant.layout.offsets[needed.array]), where));
  return maps;
}

}  // namespace samite::jit
