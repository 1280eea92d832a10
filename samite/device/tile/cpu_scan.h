// Scans along one dimension of a tile in a block's memory. Adjacent lines are scanned together.
#pragma once

#include "samite/device/cpu/half.h"
#include "samite/device/tile/scan_steps.h"

namespace samite {

template <template <class> class Step, int outer, int extent, int inner, bool backwards, bool exclusive, class T,
          class... In>
static __attribute__((noinline)) void tile_scan(T *out, const In *...in) {
  using S = Step<Register<T>>;
  constexpr int width = inner < 64 ? inner : 64;
  typename S::State state[width];
  for (int o = 0; o < outer; ++o)
    for (int first = 0; first < inner; first += width) {
      const int count = inner - first < width ? inner - first : width;
      for (int i = 0; i < extent; ++i) {
        const int row = (o * extent + (backwards ? extent - 1 - i : i)) * inner + first;
        if (i == 0)
          for (int j = 0; j < count; ++j) {
            state[j] = S::of(Register<T>(in[row + j])...);
            out[row + j] = T(exclusive ? S::first() : S::value(state[j]));
          }
        else
          for (int j = 0; j < count; ++j) {
            const typename S::State before = state[j];
            state[j] = S::together(before, S::of(Register<T>(in[row + j])...));
            out[row + j] = T(S::value(exclusive ? before : state[j]));
          }
      }
    }
}

}  // namespace samite
