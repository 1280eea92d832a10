// A sparse convolution: for each of 27 offsets, points are gathered by one map, multiplied by the offset's weights, and
// added to where another map says, which names no point twice.
#pragma once

#include "samite/samite.h"

#include <cstdint>

namespace pipelines {

inline auto tensor_product() {
  using namespace samite;
  return Pipeline{
      "tensor_product",
      {"out", "input", "weight", "input_map", "output_map"},
      [](Array<float, 2> out, Array<const float, 2> input, Array<const float, 3> weight,
         Array<const std::int32_t, 2> input_map, Array<const std::int32_t, 2> output_map) {
        constexpr int channels = 64;
        Var n{"n"}, p{"p"}, c{"c"}, m{"m"};
        Func gathered{"gathered"}, product{"product"}, result{"result", out};
        Reduction k{"k", 0, channels};
        Reduction r{"r", {{0, input_map.extent(0)}, {0, input_map.extent(1)}}};
        auto [offset, point] = r;
        gathered(n, p, c) = input(input_map(n, p), c);
        product(n, p, m) += gathered(n, p, k) * weight(n, k, m);
        result(output_map(offset, point), m) += product(offset, point, m);

        Var chunk{"chunk"}, tile{"tile"}, pi{"pi"}, half{"half"}, mi{"mi"}, k1{"k1"}, k0{"k0"};
        // Half of the channels in each of two tasks, so that no two add to one element; of 10 points in registers.
        schedule_cpu([&] {
          result.bound(m, 0, channels);
          result.update().split(m, half, mi, 32).split(point, chunk, pi, 10);
          result.update().reorder(mi, pi, chunk, offset, half).parallel(half).vectorize(mi);
          gathered.compute_at(result, chunk).vectorize(c);
          product.compute_at(result, chunk).store_in(Memory::registers).vectorize(m);
          product.update().reorder(m, p, n, k).vectorize(m).unroll(p);
        });
        schedule_cuda([&] {
          result.bound(m, 0, channels);
          result.update().atomic().split(point, chunk, pi, 128).split(pi, tile, pi, 4).split(m, half, mi, 32);
          result.update().reorder(pi, mi, tile, half, chunk, offset).gpu_blocks(half, chunk, offset);
          result.update().gpu_threads(mi, tile);
          product.compute_at(result, mi).store_in(Memory::registers);
          product.update().split(k, k1, k0, 16).reorder(m, p, n, k0, k1);
        });
      }};
}

}  // namespace pipelines
