// A cache of tensor maps.
//
// The launches of a loop describe the same tensors repeatedly, and finding a map takes a fraction of the time that the
// driver takes to make it. A map is only bits, which are right for whatever memory is at its address; so nothing is
// kept alive here, and nothing must be invalidated. The cache has a fixed size; a new map replaces the one in its slot.
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

  // As TensorMap::encode(), with the same errors.
  TensorMapBits encode(const TiledTensor &tensor, SourceLocation where = std::source_location::current());

 private:
  struct Place;

  Context context_;
  std::mutex mutex_;
  std::unique_ptr<Place[]> places_;
};

}  // namespace samite::driver
