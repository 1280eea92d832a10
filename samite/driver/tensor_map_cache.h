// Tensor maps that were made before.
//
// The launches of a loop describe the same tensors again and again, and finding a map takes a fraction of the time that
// the driver takes to make it. A map is nothing but bits, which are right for whatever memory is at its address, so
// that nothing is kept alive here and nothing needs to be forgotten. The cache has a fixed size; what falls on a place
// that is taken replaces what was there.
//
// Every function may be called from any thread.
#pragma once

#include "samite/driver/tensor_map.h"

#include <memory>
#include <mutex>

namespace samite::driver {

class TensorMapCache {
 public:
  explicit TensorMapCache(const Context &context);
  TensorMapCache(const TensorMapCache &) = delete;
  TensorMapCache &operator=(const TensorMapCache &) = delete;
  ~TensorMapCache();

  // As TensorMap::encode(), whose errors it has.
  TensorMapBits encode(const TiledTensor &tensor, SourceLocation where = std::source_location::current());

 private:
  struct Place;

  Context context_;
  std::mutex mutex_;
  std::unique_ptr<Place[]> places_;
};

}  // namespace samite::driver
