// Smooths a picture except at its edges: in a coarse grid of places and brightness, which is blurred and read again.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto bilateral_grid() {
  using namespace samite;
  return Pipeline{
      "bilateral_grid", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
        constexpr int cell = 8;
        Var y{"y"}, x{"x"}, z{"z"}, gy{"gy"}, gx{"gx"};
        Reduction r{"r", {{0, cell}, {0, cell}}};
        auto [j, i] = r;
        Func image = repeat_edge(in), result{"result", out};
        // For each cell, the sum of the brightness of its pixels, and their number.
        using Sums = Func<float, float>;
        Sums grid{"grid"}, along_z{"along_z"}, along_x{"along_x"}, along_y{"along_y"};
        Float value = clamp(image(gy * cell + j - cell / 2, gx * cell + i - cell / 2), 0.0f, 1.0f);
        Int level = clamp(cast<Int>(value * 10 + 0.5f), 0, 10);
        grid(gy, gx, z) = values(0.0f, 0.0f);
        auto [sum, count] = grid(gy, gx, level);
        grid(gy, gx, level) = values(sum + value, count + 1);
        const auto five = [](const auto &at) {
          const auto side = [&](auto n) {
            auto [a, b, m, d, e] = std::array<Float, 5>{at(-2, n), at(-1, n), at(0, n), at(1, n), at(2, n)};
            return a + b * 4 + m * 6 + d * 4 + e;
          };
          return values(side(std::integral_constant<int, 0>()), side(std::integral_constant<int, 1>()));
        };
        along_z(gy, gx, z) = five([&](int k, auto n) { return grid(gy, gx, z + k).template get<n>(); });
        along_x(gy, gx, z) = five([&](int k, auto n) { return along_z(gy, gx + k, z).template get<n>(); });
        along_y(gy, gx, z) = five([&](int k, auto n) { return along_x(gy + k, gx, z).template get<n>(); });

        Float depth = clamp(in(y, x), 0.0f, 1.0f) * 10;
        Int zi = clamp(cast<Int>(depth), 0, 10), yi = y / cell, xi = x / cell;
        Float zf = depth - cast<Float>(zi), yf = cast<Float>(y % cell) / cell, xf = cast<Float>(x % cell) / cell;
        const auto lerp = [](const Float &a, const Float &b, const Float &t) { return a * (1 - t) + b * t; };
        const auto soft = [&](auto n) {
          const auto at = [&](int k, int j, int i) { return along_y(yi + j, xi + i, zi + k).template get<n>(); };
          const auto plane = [&](int k) {
            return lerp(lerp(at(k, 0, 0), at(k, 0, 1), xf), lerp(at(k, 1, 0), at(k, 1, 1), xf), yf);
          };
          return lerp(plane(0), plane(1), zf);
        };
        result(y, x) = soft(std::integral_constant<int, 0>()) / soft(std::integral_constant<int, 1>());

        Var yo{"yo"}, yt{"yt"}, xo{"xo"}, xt{"xt"};
        // A row of cells in a task, up to the blur along x; then rows of pixels, with the rows of cells that they need.
        schedule_cpu([&] {
          along_x.compute_root().parallel(gy).reorder(gx, z, gy).vectorize(gx);
          along_z.compute_at(along_x, gy).reorder(gx, z, gy).reorder_storage(gx, z, gy).vectorize(gx);
          grid.compute_at(along_x, gy).reorder(gx, z, gy).reorder_storage(gx, z, gy).vectorize(gx);
          result.split(y, yo, yt, cell).parallel(yo).vectorize(x);
          along_y.compute_at(result, yo).vectorize(z);
        });
        schedule_cuda([&] {
          result.gpu_tile(x, y, xo, yo, xt, yt, 32, 8);
          for (const Sums &f : {grid, along_z, along_x, along_y}) f.compute_root();
        });
      }};
}

}  // namespace pipelines
