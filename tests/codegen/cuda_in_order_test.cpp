// Sums of a tile's elements that go to one place, in the order of the elements: the threads of a block would add them
// in any. On the host they run one after another, each with every 64th element, which gives other bits.
#include "samite/samite.h"
#include "tests/codegen/cuda_on_host.h"

#include <fmt/format.h>

#include <cmath>

namespace samite::test {
namespace {

constexpr std::int64_t elements = 600, places = 7;

// Numbers whose sum has different digits in another order.
std::vector<float> order_dependent_numbers() {
  std::vector<float> values;
  for (std::int64_t i = 0; i < elements; ++i)
    values.push_back(std::ldexp(static_cast<float>(i * 7919 % 1013) - 500, static_cast<int>(i % 24)));
  return values;
}
std::vector<std::int32_t> targets() {
  std::vector<std::int32_t> values;
  for (std::int64_t i = 0; i < elements; ++i) values.push_back(static_cast<std::int32_t>(i * i % (places + 2)) - 1);
  return values;
}
// For targets -1 … 7; the first and the last are outside.
std::vector<float> summed_in_order() {
  std::vector<float> sums(places);
  const auto values = order_dependent_numbers();
  const auto target = targets();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (target[i] >= 0 && target[i] < places) sums[static_cast<std::size_t>(target[i])] += values[i];
  return sums;
}

std::vector<float> sums_in_order(const ir::Kernel &kernel, bool in_order) {
  std::vector<float> sums(places), values = order_dependent_numbers();
  std::vector<std::int32_t> target = targets();
  CudaOnHost(kernel, cuda_options(), in_order)
      .run({1}, {array(sums, {places}), array(values, {elements}), array(target, {elements})});
  return sums;
}

TEST(CudaInOrder, AdditionsToElementsOfAnArray) {
  TileKernel kernel{"scatter",
                    [](Array<float, 1> sums, Array<const float, 1> values, Array<const std::int32_t, 1> target) {
                      tile::scatter_add(sums, tile::load(target, {0}, {elements}), tile::load(values, {0}, {elements}));
                    },
                    {.threads = 64}};
  EXPECT_EQ(sums_in_order(kernel.ir(), true), summed_in_order());
  EXPECT_NE(sums_in_order(kernel.ir(), false), summed_in_order()) << "the numbers show no order";
}

// The gradient of `take`.
TEST(CudaInOrder, AdditionsToElementsOfATile) {
  const auto kernel = ir::parse_kernel(fmt::format(
      "kernel @put(@sums: array<f32, 1>, @values: array<f32, 1>, @target: array<i32, 1>) blocks 1 of 64 {{\n"
      "  %0: tile<f32, {0}> = load @values[0]\n"
      "  %1: tile<i32, {0}> = load @target[0]\n"
      "  %2: tile<f32, {1}> = put_add %0, %1\n"
      "  store @sums[0] = %2\n"
      "}}\n",
      elements, places));
  EXPECT_EQ(sums_in_order(kernel, true), summed_in_order());
  EXPECT_NE(sums_in_order(kernel, false), summed_in_order()) << "the numbers show no order";
}

}  // namespace
}  // namespace samite::test
