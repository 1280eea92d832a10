// A sparse convolution: for each of 27 offsets, points are gathered by one map, multiplied by the offset's weights, and
// added at the places in another map, which names no point twice.
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
        result(p, m) = 0;
        result(output_map(offset, point), m) += product(offset, point, m);

        Var block{"block"}, chunk{"chunk"}, tile{"tile"}, rest{"rest"}, pi{"pi"}, pt{"pt"}, half{"half"}, mi{"mi"},
            k1{"k1"}, k0{"k0"};
        // Blocks of points are tasks: a map names each point once, so that no two of them add to one element. Chunks of
        // 100 points are gathered, multiplied, and then added, row after row, so that the processor waits for many rows
        // of the result together. The sums of 5 points are in registers: those of all channels, or of two vectors if
        // there are only 16 registers.
        const int lanes = cpu_vector_lanes(), at_once = lanes == 16 ? channels : 2 * lanes;
        schedule_cpu([&] {
          result.bound(m, 0, channels).vectorize(m).split(p, block, pi, 1000).parallel(block);
          result.update().allow_race_conditions().split(point, block, rest, 1000).split(rest, chunk, pt, 100);
          result.update().reorder(m, pt, chunk, block, offset).parallel(block).vectorize(m);
          gathered.compute_at(result, chunk).vectorize(c);
          auto products = product.in();
          products.compute_at(result, chunk).split(p, tile, pi, 5).split(m, half, mi, at_once);
          products.reorder(mi, pi, half, tile).vectorize(mi).unroll(pi);
          product.compute_at(products, half).store_in(Memory::registers).vectorize(m);
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
