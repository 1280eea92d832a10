// Emitted kernels with loops that multiply windows by tiles of the block, run on the host: copies arrive as late as
// possible, and warp groups run in several orders.
#include "tests/codegen/staying_blocks.h"
#include "tests/passes/product_steps_kernel.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using product_steps::StepShape;

class StepsOnHost {
 public:
  explicit StepsOnHost(const StepShape &shape) : shape_(shape), kernel_(planned(shape), good_arrays()) {}

  // Over this many tiles of rows, by this many blocks.
  void expect_right(std::int64_t tiles, std::int64_t terms, std::int64_t windows, unsigned blocks,
                    ThreadOrder order = {}) const {
    SCOPED_TRACE(testing::PrintToString(shape_));
    const std::int64_t rows = tiles * shape_.queries - 8;  // the last tile reaches beyond them
    const auto given = product_steps::arguments(shape_, rows, terms, windows);
    std::vector<std::vector<half>> factors;
    for (std::size_t array = 0; array < 4; ++array) {
      factors.emplace_back();
      for (const tiles::Element &element : given[array].elements)
        factors.back().emplace_back(static_cast<float>(element.value));
    }
    std::vector<float> out(static_cast<std::size_t>(rows * shape_.size)), sums(static_cast<std::size_t>(rows * 2));
    std::vector<float> numbers;
    for (const tiles::Element &element : given[7].elements) numbers.push_back(static_cast<float>(element.value));
    std::vector<TensorMapOnHost> maps;
    for (const passes::TensorMapNeeded &map : kernel_.maps())
      maps.push_back(map.values ? map_on_host(map, numbers.data(), given[7].extents)
                                : map_on_host(map, factors[map.array].data(), given[map.array].extents));
    kernel_.run(
        {array(factors[0], {rows, shape_.size}), array(factors[1], {terms, shape_.size}),
         array(factors[2], {terms, shape_.size}), array(factors[3], {rows, terms}), array(out, {rows, shape_.size}),
         array(sums, {rows, 2}), scalar(static_cast<int>(windows)), array(numbers, {2, terms})},
        maps, {tiles}, blocks, order);
    const auto expected =
        tiles::run_structured(product_loops::structured(product_steps::kernel_text(shape_)), {tiles}, given);
    for (std::size_t k = 0; k < out.size(); ++k) ASSERT_EQ(out[k], expected[4].elements[k].value) << k;
    for (std::size_t k = 0; k < sums.size(); ++k) ASSERT_EQ(sums[k], expected[5].elements[k].value) << k;
  }

 private:
  static ir::Kernel planned(const StepShape &shape) {
    ir::Kernel kernel = jit::plan(product_loops::lowered(product_steps::kernel_text(shape)),
                                  {passes::gpu_architecture(90), good_arrays().arrays});
    EXPECT_EQ(kernel.roles.producers, 128);
    return kernel;
  }

  StepShape shape_;
  StayingBlocksOnHost kernel_;
};

TEST(CudaSteps, WhoeverRunsFirst) {
  using Kind = ThreadOrder::Kind;
  const StepsOnHost steps({.queries = 128, .keys = 64, .size = 128, .stages = 4});
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}})
    steps.expect_right(3, 250, 4, 2, order);
  steps.expect_right(1, 64, 0, 1);
  steps.expect_right(1, 60, 1, 1);
}

TEST(CudaSteps, OneGroupAndThree) {
  StepsOnHost({.queries = 64, .keys = 64, .size = 128, .threads = 128, .stages = 4}).expect_right(2, 130, 3, 1);
  StepsOnHost({.queries = 192, .keys = 64, .size = 64, .threads = 384, .stages = 4}).expect_right(1, 130, 3, 1);
}

TEST(CudaSteps, NumbersInStagesOfTheirOwn) {
  using Kind = ThreadOrder::Kind;
  const StepsOnHost steps({.queries = 128, .keys = 64, .size = 128, .numbers = true});
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}})
    steps.expect_right(3, 252, 4, 2, order);
}

// Products that overlap, and a window that two of them multiply.
TEST(CudaSteps, ThreeProductsOfTwoWindows) {
  using Kind = ThreadOrder::Kind;
  const StepsOnHost steps({.queries = 128, .keys = 64, .size = 128, .of_both = true});
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}})
    steps.expect_right(3, 250, 4, 2, order);
  steps.expect_right(1, 64, 0, 1);
}

// The first factor is written to shared memory in each iteration, and read there by all warps of the group.
TEST(CudaSteps, AFactorInSharedMemory) {
  const StepsOnHost steps({.queries = 128, .keys = 64, .size = 128, .of_weights = false});
  for (const auto kind : {ThreadOrder::Kind::FirstToLast, ThreadOrder::Kind::Random})
    steps.expect_right(2, 200, 3, 1, {kind, 3});
}

}  // namespace
}  // namespace samite::test
