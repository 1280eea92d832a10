// Removes noise from a picture: each pixel becomes a mean of nearby ones with similar surroundings.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto nl_means() {
  using namespace samite;
  return Pipeline{
      "nl_means", {"out", "in"}, [](Array<float, 3> out, Array<const float, 3> in) {
        constexpr int patch = 7, search = 7;
        constexpr float sigma = 0.12f;
        Var c{"c"}, y{"y"}, x{"x"}, dy{"dy"}, dx{"dx"};
        Func image = repeat_edge(in), differ{"differ"}, down{"down"}, across{"across"}, result{"result", out};
        Float difference = 0;
        for (int k = 0; k < 3; ++k) {
          Float of_channel = image(k, y, x) - image(k, y + dy, x + dx);
          difference += of_channel * of_channel;
        }
        differ(dy, dx, y, x) = difference;
        const auto total = [](const auto &at) {
          Float sum = at(-(patch / 2));
          for (int i = 1 - patch / 2; i <= patch / 2; ++i) sum += at(i);
          return sum;
        };
        down(dy, dx, y, x) = total([&](int i) { return differ(dy, dx, y + i, x); });
        across(dy, dx, y, x) = total([&](int i) { return down(dy, dx, y, x + i); });
        // For each pixel, the sums of three channels, and of weights.
        Reduction r{"r", {{-(search / 2), search}, {-(search / 2), search}}};
        auto [ry, rx] = r;
        Func<float, float, float, float> sums{"sums"};
        Float weight = exp(across(ry, rx, y, x) * (-1 / (sigma * sigma * patch * patch)));
        sums(y, x) = values(0.0f, 0.0f, 0.0f, 0.0f);
        auto [red, green, blue, weights] = sums(y, x);
        const auto moved = [&](int k) { return weight * image(k, y + ry, x + rx); };
        sums(y, x) = values(red + moved(0), green + moved(1), blue + moved(2), weights + weight);
        auto [r0, r1, r2, whole] = sums(y, x);
        result(c, y, x) = clamp(select(c == 0, r0, select(c == 1, r1, r2)) / whole, 0.0f, 1.0f);

        Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
        // Tiles of 64 x 16 pixels, one shift after another.
        schedule_cpu([&] {
          result.bound(c, 0, 3).tile(x, y, xo, yo, xi, yi, 64, 16).reorder(c, xi, yi, xo, yo).parallel(yo).parallel(xo);
          result.vectorize(xi).unroll(c);
          sums.compute_at(result, xo).vectorize(x);
          sums.update().reorder(x, y, rx, ry).vectorize(x);
          differ.compute_at(sums, rx).vectorize(x);
          down.compute_at(sums, rx).vectorize(x);
        });
        schedule_cuda([&] {
          result.bound(c, 0, 3).tile(x, y, xo, yo, xi, yi, 32, 8).reorder(c, xi, yi, xo, yo);
          result.gpu_blocks(xo, yo).gpu_threads(xi, yi).unroll(c);
          sums.compute_at(result, xi).store_in(Memory::registers);
          differ.compute_at(sums, rx).store_in(Memory::shared);
          down.compute_at(sums, rx).store_in(Memory::shared);
        });
      }};
}

}  // namespace pipelines
