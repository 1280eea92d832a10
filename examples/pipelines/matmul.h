// The product of two matrices.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto matmul() {
  using namespace samite;
  return Pipeline{
      "matmul", {"out", "a", "b"}, [](Array<float, 2> out, Array<const float, 2> a, Array<const float, 2> b) {
        Var y{"y"}, x{"x"};
        Func sums{"sums"}, result{"result", out};
        Reduction k{"k", 0, a.extent(1)};
        sums(y, x) += a(y, k) * b(k, x);
        result(y, x) = sums(y, x);

        Var yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"}, yt{"yt"}, xt{"xt"};
        // 4 rows of 64 columns in the registers of a thread.
        schedule_cpu([&] {
          result.tile(x, y, xo, yo, xi, yi, 64, 256).parallel(yo).parallel(xo).vectorize(xi);
          result.split(yi, yt, yi, 4);
          sums.compute_at(result, yt).store_in(Memory::registers).vectorize(x);
          sums.update().reorder(x, y, k).vectorize(x).unroll(y);
        });
        schedule_cuda([&] {
          result.tile(x, y, xo, yo, xi, yi, 64, 64).split(yi, yt, yi, 4).split(xi, xt, xi, 4);
          result.reorder(xi, yi, xt, yt, xo, yo).gpu_blocks(xo, yo).gpu_threads(xt, yt);
          sums.compute_at(result, xt).store_in(Memory::registers);
          sums.update().reorder(x, y, k);
        });
      }};
}

}  // namespace pipelines
