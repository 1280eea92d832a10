// A layer of a network: a convolution of 3 x 3 from 128 channels to 128, clamped below at 0.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto conv_layer() {
  using namespace samite;
  return Pipeline{
      "conv_layer",
      {"out", "in", "weight", "bias"},
      [](Array<float, 4> out, Array<const float, 4> in, Array<const float, 4> weight, Array<const float, 1> bias) {
        constexpr int channels = 128;
        Var n{"n"}, y{"y"}, x{"x"}, o{"o"};
        Func sums{"sums"}, result{"result", out};
        Reduction r{"r", {{0, 3}, {0, 3}, {0, channels}}};
        auto [j, i, k] = r;
        sums(n, y, x, o) = bias(o);
        sums(n, y, x, o) += weight(k, j, i, o) * in(n, y + j, x + i, k);
        result(n, y, x, o) = max(sums(n, y, x, o), 0);

        Var oo{"oo"}, oi{"oi"}, xo{"xo"}, xi{"xi"}, ot{"ot"}, xt{"xt"};
        // 5 pixels of four vectors of channels in the registers of a thread, or of two if there are only 16 registers.
        const int lanes = cpu_vector_lanes(), at_once = lanes == 16 ? 4 * lanes : 2 * lanes;
        schedule_cpu([&] {
          result.bound(o, 0, channels).split(o, oo, oi, at_once).split(x, xo, xi, 5).reorder(oi, xi, xo, y, n, oo);
          result.parallel(oo).parallel(n).parallel(y).vectorize(oi).unroll(xi);
          sums.compute_at(result, xo).store_in(Memory::registers).vectorize(o).unroll(x);
          sums.update().reorder(o, x, y, k, i, j, n).vectorize(o).unroll(x);
        });
        schedule_cuda([&] {
          result.bound(o, 0, channels).split(o, oo, oi, 4).split(x, xo, xi, 40).split(xi, xt, xi, 5);
          result.reorder(oi, xi, oo, xt, xo, y, n).gpu_blocks(xo, y, n).gpu_threads(oo, xt);
          sums.compute_at(result, oo).store_in(Memory::registers);
          sums.update().reorder(o, x, y, k, i, j, n);
        });
      }};
}

}  // namespace pipelines
