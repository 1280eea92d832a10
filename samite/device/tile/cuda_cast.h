// Casts a tile of f32 in a block's shared memory, row by row, to a 16-bit factor of a product.
#pragma once

#include "samite/device/cuda/memory.h"
#include "samite/device/tile/fragments.h"
#include "samite/device/tile/rows.h"

namespace samite {

// Each thread writes whole units of 16 bytes, if rows consist of whole units, and reads several before it writes the
// first. (With units of 8 bytes, which have no bank conflicts, the adjoint of a product of bfloat16 takes 2.33 ms
// instead of 2.22: 4096³ on an H200.)
template <class Rows, int rows, int columns, int threads, class T>
SAMITE_INLINE void tile_cast(T *to, const f32 *from) {
  constexpr int each = columns % 8 == 0 ? 8 : 1, all = rows * columns / each;
  constexpr int turns = (all + threads - 1) / threads, batch = 4;
  const auto unit = [](int turn) { return int(flat_thread()) + turn * threads; };
  const auto there = [&](int turn) { return turn < turns && (all % threads == 0 || unit(turn) < all); };
#pragma unroll 1
  for (int first = 0; first < turns; first += batch) {
    Pack<f32, each> values[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (there(first + k)) values[k] = load_pack<each>(from + unit(first + k) * each);
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (!there(first + k)) continue;
      T *const place = to + Rows::place(unit(first + k) * each);
      if constexpr (each == 1)
        *place = T(values[k].at[0]);
      else
        store_pack(place, narrowed<T>(values[k]));
    }
  }
}

}  // namespace samite
