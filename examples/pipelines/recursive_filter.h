// Smooths a picture with filters of infinite impulse response: down and up each column, then forth and back along each
// row.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto recursive_filter() {
  using namespace samite;
  return Pipeline{
      "recursive_filter", {"out", "in"}, [](Array<float, 3> out, Array<const float, 3> in) {
        const Int rows = in.extent(1), columns = in.extent(2);
        Var c{"c"}, y{"y"}, x{"x"};
        Reduction i{"i", 1, rows - 1}, j{"j", 1, columns - 1};
        Func down{"down"}, smooth{"smooth"}, along{"along"}, result{"result", out};
        down(c, y, x) = undefined<float>();
        down(c, 0, x) = in(c, 0, x);
        down(c, i, x) = 0.9f * down(c, i - 1, x) + 0.1f * in(c, i, x);
        down(c, rows - 1 - i, x) = 0.9f * down(c, rows - i, x) + 0.1f * down(c, rows - 1 - i, x);
        smooth(c, y, x) = down(c, y, x);
        along(c, y, x) = undefined<float>();
        along(c, y, 0) = smooth(c, y, 0);
        along(c, y, j) = 0.9f * along(c, y, j - 1) + 0.1f * smooth(c, y, j);
        along(c, y, columns - 1 - j) = 0.9f * along(c, y, columns - j) + 0.1f * along(c, y, columns - 1 - j);
        result(c, y, x) = along(c, y, x);

        Var xo{"xo"}, xi{"xi"}, yo{"yo"}, yi{"yi"};
        // Strips of columns, in vectors; then strips of rows, 8 of them side by side, so that none waits.
        schedule_cpu([&] {
          smooth.compute_root().split(x, xo, xi, 64).reorder(xi, y, xo, c).parallel(c).parallel(xo).vectorize(xi);
          down.compute_at(smooth, xo);
          for (int n = 0; n < 3; ++n) down.update(n).vectorize(x);
          for (int n = 1; n < 3; ++n) down.update(n).reorder(x, i, c);
          result.bound(c, 0, 3).split(y, yo, yi, 8).parallel(c).parallel(yo).vectorize(x);
          along.compute_at(result, yo);
          for (int n = 1; n < 3; ++n) along.update(n).reorder(y, j, c).unroll(y);
        });
        // A column, then a row, for each thread.
        schedule_cuda([&] {
          smooth.compute_root().gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
          result.gpu_tile(x, y, xo, yo, xi, yi, 32, 8);
          down.compute_root();
          along.compute_root();
        });
      }};
}

}  // namespace pipelines
