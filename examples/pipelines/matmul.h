// The product of two matrices.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto matmul() {
  using namespace samite;
  return Pipeline{
      "matmul", {"out", "a", "b"}, [](Array<float, 2> out, Array<const float, 2> a, Array<const float, 2> b) {
        Var y{"y"}, x{"x"}, row{"row"};
        Func panel{"panel"}, sums{"sums"}, result{"result", out};
        Reduction k{"k", 0, a.extent(1)};
        panel(row, x) = b(row, x);
        sums(y, x) += a(y, k) * panel(k, x);
        result(y, x) = sums(y, x);

        Var yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"}, yt{"yt"}, xt{"xt"};
        // 4 rows of four vectors in the registers of a thread, or of two if there are only 16 registers. The columns of
        // b that a task reads repeatedly are copied side by side first: as rows of b they would conflict in the cache.
        const int lanes = cpu_vector_lanes(), columns = lanes == 16 ? 4 * lanes : 2 * lanes;
        schedule_cpu([&] {
          result.tile(x, y, xo, yo, xi, yi, columns, 256).parallel(yo).parallel(xo).vectorize(xi);
          result.split(yi, yt, yi, 4);
          panel.compute_at(result, xo).vectorize(x);
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
