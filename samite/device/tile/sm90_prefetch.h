// Prefetches of windows into the level-2 cache (ir::Prefetch).
#pragma once

#include "samite/device/cuda/sm90_copies.h"
#include "samite/device/tile/cuda_load.h"

namespace samite {

// Prefetches the rows of a window that are inside the array, up to their ends, in whole units of 16 bytes. There are at
// most as many rows as threads in the block; each begins with a unit, and its elements are contiguous.
template <int rows, int columns, class T>
SAMITE_INLINE void tile_prefetch(const TileWindow<T> &window) {
  const int row = int(flat_thread());
  if (row >= rows || !window.has(row, 0)) return;
  const i64 left = window.columns - window.column;
  const u32 bytes = (left < columns ? u32(left) : u32(columns)) * u32(sizeof(T)) / 16 * 16;
  if (bytes != 0) fetch_to_l2(window.at(row, 0), bytes);
}

}  // namespace samite
