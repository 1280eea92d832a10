// Strengthens the details of a picture at each scale (local Laplacian filter): pyramids of remapped brightness.
#pragma once

#include "samite/samite.h"

namespace pipelines {

inline auto local_laplacian() {
  using namespace samite;
  return Pipeline{
      "local_laplacian", {"out", "in"}, [](Array<float, 3> out, Array<const float, 3> in) {
        constexpr int scales = 8, levels = 8;
        Var c{"c"}, y{"y"}, x{"x"}, k{"k"}, i{"i"}, yo{"yo"}, yi{"yi"};
        Func table{"table"}, gray{"gray"}, result{"result", out};
        std::vector<Func<float>> remapped, larger, of_input, mixed, wider, shorter;
        for (const std::string j : {"0", "1", "2", "3", "4", "5", "6", "7"})
          remapped.emplace_back("remapped" + j), larger.emplace_back("larger" + j),
              of_input.emplace_back("of_input" + j), mixed.emplace_back("mixed" + j), wider.emplace_back("wider" + j),
              shorter.emplace_back("shorter" + j);
        const Float f = cast<Float>(i) / 256, level = cast<Float>(k) * (1.0f / (levels - 1));
        table(i) = (1.0f / (levels - 1)) * f * exp(-f * f / 2);
        gray(y, x) = 0.299f * in(0, y, x) + 0.587f * in(1, y, x) + 0.114f * in(2, y, x);
        // A scale of half the size and one of twice the size. Each repeats its edges: scale j has H >> j rows.
        const auto edged = [&](const Func<float> &f, int j, const Int &y, const Int &x, const auto &...k) {
          return f(clamp(y, 0, (in.extent(1) >> j) - 1), k..., clamp(x, 0, (in.extent(2) >> j) - 1));
        };
        const auto half_as_high = [&](const Func<float> &f, int j, const Int &x, const auto &...k) {
          const auto at = [&](int row) { return edged(f, j, 2 * y + row, x, k...); };
          return (at(-1) + 3 * (at(0) + at(1)) + at(2)) / 8;
        };
        const auto half_as_wide = [&](const auto &down) {
          return (down(2 * x - 1) + 3 * (down(2 * x) + down(2 * x + 1)) + down(2 * x + 2)) / 8;
        };
        const auto halved = [&](const Func<float> &f, int j, const auto &...k) {
          return half_as_wide([&](const Int &x) { return half_as_high(f, j, x, k...); });
        };
        const auto lerp = [](const Float &a, const Float &b, const Float &t) { return a * (1 - t) + b * t; };
        const auto part = [](const Int &i) { return cast<Float>((i & 1) * 2 + 1) / 4; };
        const auto twice_as_wide = [&](const Func<float> &f, int j, const Int &y, const auto &...k) {
          return lerp(edged(f, j, y, (x + 1) >> 1, k...), edged(f, j, y, (x - 1) >> 1, k...), part(x));
        };
        const auto twice_as_high = [&](const auto &across) {
          return lerp(across((y + 1) >> 1), across((y - 1) >> 1), part(y));
        };
        const auto doubled = [&](const Func<float> &f, int j, const auto &...k) {
          return twice_as_high([&](const Int &y) { return twice_as_wide(f, j, y, k...); });
        };
        const Int index = clamp(cast<Int>(gray(y, x) * ((levels - 1) * 256.0f)), 0, (levels - 1) * 256);
        remapped[0](y, k, x) = (gray(y, x) - level) + level + table(index - 256 * k);
        of_input[0](y, x) = gray(y, x);
        for (int j = 1; j < scales; ++j) {
          shorter[j](y, k, x) = half_as_high(remapped[j - 1], j - 1, x, k);
          remapped[j](y, k, x) =
              half_as_wide([&](const Int &x) { return shorter[j](y, k, clamp(x, 0, (in.extent(2) >> (j - 1)) - 1)); });
          of_input[j](y, x) = halved(of_input[j - 1], j - 1);
        }
        for (int j = scales; j-- > 0;) {
          const bool last = j + 1 == scales;
          wider[j](y, k, x) = last ? Float(0) : twice_as_wide(remapped[j + 1], j + 1, y, k);
          larger[j](y, k, x) = twice_as_high([&](const Int &y) { return wider[j](y, k, x); });
          const Float at = of_input[j](y, x) * (levels - 1);
          const Int l = clamp(cast<Int>(at), 0, levels - 2);
          const auto detail = [&](const Int &k) { return remapped[j](y, k, x) - larger[j](y, k, x); };
          const Float mix = (1 - (at - cast<Float>(l))) * detail(l) + (at - cast<Float>(l)) * detail(l + 1);
          mixed[j](y, x) = last ? mix : doubled(mixed[j + 1], j + 1) + mix;
        }
        result(c, y, x) = clamp(in(c, y, x) * (mixed[0](y, x) + 0.01f) / (gray(y, x) + 0.01f), 0.0f, 1.0f);
        // Strips of 64 rows, in which the large scales are mixed row by row, in rings. Funcs that pass the largest
        // scale for all levels, `wider` and `shorter`, compute each row once. The table's values are recomputed, which
        // is faster than gathering them.
        schedule_cpu([&] {
          result.bound(c, 0, 3).split(y, yo, yi, 64).reorder(c, x, yi, yo).unroll(c).parallel(yo).vectorize(x);
          for (const Func<float> &f : {larger[0], mixed[0]}) f.compute_at(result, yi).vectorize(x);
          wider[0].store_at(result, yo).compute_at(result, yi).fold_storage(y, 4).vectorize(x);
          shorter[1].compute_at(remapped[1], k).vectorize(x);
          const Stage again = remapped[0].clone_in(shorter[1]);
          again.store_at(remapped[1], yo).compute_at(remapped[1], yi).fold_storage(y, 4).vectorize(x);
          for (int j = 1; j < scales; ++j) {
            for (const Func<float> &f : {of_input[j], remapped[j]})
              f.compute_root().split(y, yo, yi, 8).parallel(yo).vectorize(x);
            if (j >= 5) mixed[j].compute_root().vectorize(x);
            if (j < 5) mixed[j].store_at(result, yo).compute_at(result, yi).vectorize(x);
          }
          gray.compute_root().split(y, yo, yi, 32).parallel(yo).vectorize(x);
        });
        schedule_cuda([&] {
          for (const Func<float> &f : {table, gray, mixed[0]}) f.compute_root();
          for (const auto &pyramid : {of_input, remapped, mixed})
            for (int j = 1; j < scales; ++j) pyramid[j].compute_root();
        });
      }};
}

}  // namespace pipelines
