// The corners of a picture (Harris): how much brightness changes along two directions at once.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto harris() {
  using namespace samite;
  return Pipeline{
      "harris", {"out", "in"}, [](Array<float, 2> out, Array<const float, 3> in) {
        Var y{"y"}, x{"x"};
        Func gray{"gray"}, across{"across"}, down{"down"}, result{"result", out};
        gray(y, x) = 0.299f * in(0, y, x) + 0.587f * in(1, y, x) + 0.114f * in(2, y, x);
        const auto g = [&](int j, int i) { return gray(y + j, x + i); };
        constexpr float one = 1 / 12.0f, two = 2 / 12.0f;
        across(y, x) = one * (g(-1, 1) - g(-1, -1)) + two * (g(0, 1) - g(0, -1)) + one * (g(1, 1) - g(1, -1));
        down(y, x) = one * (g(1, -1) - g(-1, -1)) + two * (g(1, 0) - g(-1, 0)) + one * (g(1, 1) - g(-1, 1));
        // The output begins three pixels inside the picture.
        const auto around = [&](const Func<float> &f, const Func<float> &g) {
          Float sum = 0;
          for (int j = 2; j <= 4; ++j)
            for (int i = 2; i <= 4; ++i) sum += f(y + j, x + i) * g(y + j, x + i);
          return sum;
        };
        Float xx = around(across, across), yy = around(down, down), xy = around(across, down), trace = xx + yy;
        result(y, x) = xx * yy - xy * xy - 0.04f * trace * trace;

        Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
        // Strips, in which each row of brightness and of its changes is computed once and kept for the rows below.
        schedule_cpu([&] {
          result.split(y, yo, yi, 128).parallel(yo).vectorize(x);
          for (const Func<float> &f : {gray, across, down})
            f.store_at(result, yo).compute_at(result, yi).fold_storage(y, 8).vectorize(x);
        });
        schedule_cuda([&] {
          result.gpu_tile(x, y, xo, yo, xi, yi, 32, 16);
          for (const Func<float> &f : {gray, across, down}) f.compute_at(result, xo).store_in(Memory::shared);
        });
      }};
}

}  // namespace pipelines
