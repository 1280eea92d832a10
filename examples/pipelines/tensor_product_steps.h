// A sparse convolution under two schedules for a GPU: the first version, and its improvement (docs/pipelines.md).
#pragma once

// clang-format off: docs/pipelines.md shows these lines as they stand.

#include "samite/samite.h"

#include <cstdint>

namespace pipelines {

inline auto tensor_product_steps() {
  using namespace samite;
  return Pipeline{
      "tensor_product",
      {"result", "input", "weight", "input_map", "output_map"},
      [](Array<float, 2> result, Array<const float, 2> input, Array<const float, 3> weight,
         Array<const std::int32_t, 2> input_map, Array<const std::int32_t, 2> output_map) {
        Var n{"n"}, p{"p"}, c{"c"}, m{"m"};
        Func gather_input{"gather_input"}, gather_weight{"gather_weight"}, product{"product"}, output{"output", result};
        Reduction k{"k", 0, 64};
        Reduction pairs{"pairs", {{0, 27}, {0, input_map.extent(1)}}};
        Var offset = pairs[0], pair = pairs[1];
        gather_input(n, p, c) = input(input_map(n, p), c);
        gather_weight(n, c, m) = weight(n, c, m);
        product(n, p, m) += gather_input(n, p, k) * gather_weight(n, k, m);
        output(output_map(offset, pair), m) += product(offset, pair, m);

        Var block{"block"}, rest{"rest"}, thread{"thread"}, own{"own"}, mb{"mb"}, mt{"mt"}, mi{"mi"};
        Var c1{"c1"}, c0{"c0"};
        schedule("first", [&] {
          output.update().atomic();
          output.update().split(pair, block, rest, 128).split(rest, thread, own, 4).split(m, mb, mt, 32);
          output.update().reorder(own, mt, thread, mb, block, offset);
          output.update().gpu_blocks(mb, block, offset).gpu_threads(mt, thread);
          product.compute_at(output, mt).store_in(Memory::registers);
          product.update().split(k, c1, c0, 16).reorder(m, p, n, c0, c1);
          gather_weight.compute_at(product, c1).store_in(Memory::shared);
        });
        schedule("tiled", [&] {
          output.bound(m, 0, 64).update().atomic();
          output.update().split(pair, block, rest, 128).split(rest, thread, own, 8).split(m, mt, mi, 4);
          output.update().reorder(mi, own, mt, thread, block, offset);
          output.update().gpu_blocks(block, offset).gpu_threads(mt, thread);
          product.compute_at(output, mt).store_in(Memory::registers);
          product.update().split(k, c1, c0, 4).unroll(c0).reorder(m, p, n, c0, c1);
          gather_weight.compute_at(output, block).store_in(Memory::shared);
          gather_input.compute_at(output, block).store_in(Memory::shared);
        });
      }};
}

}  // namespace pipelines
// clang-format on
