// Blocks of a cluster that share the steps of one main loop, and add up their partial sums. Compute capability 9.0.
#pragma once

#include "samite/device/cuda/sm90_barriers.h"
#include "samite/device/cuda/sm90_roles.h"
#include "samite/device/tile/sm90_product_loop.h"

namespace samite {

// The steps of a loop that one block runs. With few steps, the last blocks may have none.
struct PartOfSteps {
  i32 first, count;
};
template <int parts>
SAMITE_INLINE PartOfSteps part_of_steps(i32 steps) {
  const i32 all = steps > 0 ? steps : 0, each = all / parts + (all % parts != 0);
  const i32 first = i32(block_of_cluster()) * each;
  return {first < all ? first : all, first >= all ? 0 : all - first < each ? all - first : each};
}

// The windows of a loop from its step `first` on; each step's windows begin `rows` and `columns` after the previous
// one's.
template <int rows, int columns, int rank>
SAMITE_INLINE BulkWindows<rank> windows_from(BulkWindows<rank> windows, i32 first) {
  if constexpr (rank > 1) windows.at[rank - 2] += rows * first;
  windows.at[rank - 1] += columns * first;
  return windows;
}

// Called by all multiplying threads when their own products are done. Adds up the sums of all blocks in the first
// block; returns true there. Each block adds up a slice of them, in the order of the blocks. `memory` has room for all
// sums of a block, and its contents are no longer needed.
template <int parts, int threads, class C, int count, class Memory>
SAMITE_INLINE bool add_sums_of_parts(C (&sums)[count], Memory *memory) {
  static_assert(sizeof(C) == 4 && count % 4 == 0);
  constexpr int units = count / 4;
  struct alignas(16) Unit {
    C at[4];
  };
  struct Words {
    u32 at[4];
  };
  Unit *const own = reinterpret_cast<Unit *>(memory) + flat_thread();
  const u32 block = block_of_cluster();
  sync_threads_at<1, threads>();  // the others have read the windows
#pragma unroll
  for (int unit = 0; unit < units; ++unit) {
    Unit mine;
#pragma unroll
    for (int k = 0; k < 4; ++k) mine.at[k] = sums[unit * 4 + k];
    own[unit * threads] = mine;
  }
  sync_cluster();
  // All loads are in flight together, because those of another block take long.
  constexpr int each = (units + parts - 1) / parts;
  Words of[each][parts];
#pragma unroll
  for (int n = 0; n < each; ++n)
    if (const int unit = n * parts + int(block); n * parts + parts <= units || unit < units)
#pragma unroll
      for (int part = 0; part < parts; ++part)
        if (u32(part) == block)
          of[n][part] = __builtin_bit_cast(Words, own[unit * threads]);
        else
          load_of_block(of[n][part].at, own + unit * threads, u32(part));
#pragma unroll
  for (int n = 0; n < each; ++n)
    if (const int unit = n * parts + int(block); n * parts + parts <= units || unit < units) {
      Unit all = __builtin_bit_cast(Unit, of[n][0]);
#pragma unroll
      for (int part = 1; part < parts; ++part)
#pragma unroll
        for (int k = 0; k < 4; ++k) all.at[k] = all.at[k] + __builtin_bit_cast(Unit, of[n][part]).at[k];
      if (block == 0)
        own[unit * threads] = all;
      else
        store_in_block(own + unit * threads, 0, __builtin_bit_cast(Words, all).at);
    }
  sync_cluster();
  if (block != 0) return false;
#pragma unroll
  for (int unit = 0; unit < units; ++unit) {
    const Unit all = own[unit * threads];
#pragma unroll
    for (int k = 0; k < 4; ++k) sums[unit * 4 + k] = all.at[k];
  }
  return true;
}
// For the other threads of the block: they join the barriers with the other blocks.
SAMITE_INLINE void pass_sums_of_parts() {
  sync_cluster();
  sync_cluster();
}

}  // namespace samite
