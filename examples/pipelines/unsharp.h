// Sharpens a picture: adds what a blur of its brightness removes.
#pragma once

#include "samite/samite.h"

#include <cmath>

namespace pipelines {

inline auto unsharp() {
  using namespace samite;
  return Pipeline{
      "unsharp", {"out", "in"}, [](Array<float, 3> out, Array<const float, 3> in) {
        Var c{"c"}, y{"y"}, x{"x"};
        const auto tap = [](int i) {
          constexpr double sigma = 1.5, pi = 3.14159265358979323846;
          return static_cast<float>(std::exp(-i * i / (2 * sigma * sigma)) / (std::sqrt(2 * pi) * sigma));
        };
        Func image = repeat_edge(in), gray{"gray"}, down{"down"}, across{"across"}, ratio{"ratio"},
             result{"result", out};
        gray(y, x) = 0.299f * image(0, y, x) + 0.587f * image(1, y, x) + 0.114f * image(2, y, x);
        down(y, x) = tap(0) * gray(y, x) + tap(1) * (gray(y - 1, x) + gray(y + 1, x)) +
                     tap(2) * (gray(y - 2, x) + gray(y + 2, x)) + tap(3) * (gray(y - 3, x) + gray(y + 3, x));
        across(y, x) = tap(0) * down(y, x) + tap(1) * (down(y, x - 1) + down(y, x + 1)) +
                       tap(2) * (down(y, x - 2) + down(y, x + 2)) + tap(3) * (down(y, x - 3) + down(y, x + 3));
        ratio(y, x) = (2 * gray(y, x) - across(y, x)) / gray(y, x);
        result(c, y, x) = ratio(y, x) * in(c, y, x);

        Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
        // Strips, in which each row of brightness is computed once and kept for the rows below.
        schedule_cpu([&] {
          result.bound(c, 0, 3).split(y, yo, yi, 128).reorder(c, x, yi, yo).unroll(c).vectorize(x).parallel(yo);
          gray.store_at(result, yo).compute_at(result, yi).fold_storage(y, 8).vectorize(x);
          down.compute_at(result, yi).vectorize(x);
        });
        schedule_cuda([&] {
          result.bound(c, 0, 3).tile(x, y, xo, yo, xi, yi, 32, 16).reorder(c, xi, yi, xo, yo);
          result.gpu_blocks(xo, yo).gpu_threads(xi, yi).unroll(c);
          gray.compute_at(result, xo).store_in(Memory::shared);
          down.compute_at(result, xo).store_in(Memory::shared);
        });
      }};
}

}  // namespace pipelines
