// A layer of a small network: each of 32 channels by its own 3 x 3 weights, then all of them mixed into 16.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto depthwise_separable() {
  using namespace samite;
  return Pipeline{
      "depthwise_separable",
      {"out", "in", "weight", "mix", "bias"},
      [](Array<float, 4> out, Array<const float, 4> in, Array<const float, 3> weight, Array<const float, 2> mix,
         Array<const float, 1> bias) {
        constexpr int channels = 32, mixed = 16;
        Var n{"n"}, y{"y"}, x{"x"}, c{"c"}, o{"o"};
        Func padded{"padded"}, depth{"depth"}, sums{"sums"}, result{"result", out};
        Reduction r{"r", {{0, 3}, {0, 3}}};
        Reduction k{"k", 0, channels};
        auto [j, i] = r;
        Bool inside = x >= 0 && x < in.extent(2) && y >= 0 && y < in.extent(1);
        Int row = clamp(y, 0, in.extent(1) - 1), column = clamp(x, 0, in.extent(2) - 1);
        padded(n, y, x, c) = select(inside, in(n, row, column, c), 0);
        depth(n, y, x, c) += weight(j, i, c) * padded(n, y + j - 1, x + i - 1, c);
        sums(n, y, x, o) = bias(o);
        sums(n, y, x, o) += mix(k, o) * depth(n, y, x, k);
        result(n, y, x, o) = max(sums(n, y, x, o), 0);

        Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"}, k1{"k1"}, k0{"k0"};
        // Blocks of 4 x 4 pixels, in the registers of a thread: 16 channels of `depth`, then of the result. If there
        // are only 16 registers, 4 x 2 pixels, and 8 channels of `depth`.
        const bool wide = cpu_vector_lanes() == 16;
        schedule_cpu([&] {
          result.bound(o, 0, mixed).tile(x, y, xo, yo, xi, yi, 4, wide ? 4 : 2).reorder(o, xi, yi, xo, yo, n);
          result.parallel(n).parallel(yo).vectorize(o);
          padded.compute_at(result, xo).vectorize(c);
          sums.compute_at(result, xo).store_in(Memory::registers).vectorize(o).unroll(x).unroll(y);
          sums.update().split(k, k1, k0, wide ? 16 : 8).reorder(o, x, y, k0, k1, n).vectorize(o).unroll(x).unroll(y);
          depth.compute_at(sums, k1).store_in(Memory::registers).vectorize(c).unroll(x).unroll(y);
          depth.update().reorder(c, x, y, i, j, n).vectorize(c).unroll(x).unroll(y).unroll(i).unroll(j);
        });
        schedule_cuda([&] {
          result.bound(o, 0, mixed).tile(x, y, xo, yo, xi, yi, 8, 2).reorder(o, xi, yi, xo, yo, n);
          result.gpu_blocks(xo, yo, n).gpu_threads(o, xi, yi);
          depth.compute_at(result, xo).store_in(Memory::shared);
          sums.compute_at(result, o).store_in(Memory::registers);
        });
      }};
}

}  // namespace pipelines
