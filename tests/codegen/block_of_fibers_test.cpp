// A barrier of a warp holds no other warp: if threads of the block wait for each other, it is not enough.
#include "tests/codegen/block_of_fibers.h"

#include "tests/codegen/cuda_on_host.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

constexpr int fibers = 64;
constexpr ThreadOrder fiber_orders[] = {{ThreadOrder::Kind::FirstToLast},
                                        {ThreadOrder::Kind::LastToFirst},
                                        {ThreadOrder::Kind::Alternating},
                                        {ThreadOrder::Kind::Random, 7}};

// The number of orders in which each thread sees the writes of thread `other(n)` from before they wait.
template <class Wait, class Other>
int orders_in_which_all_see(Wait wait, Other other) {
  int count = 0;
  for (const ThreadOrder order : fiber_orders) {
    BlockOfFibers block;
    std::vector<int> written(fibers, 0);
    int seen = 0;
    block.run(
        fibers, order,
        [&](int n) {
          written[static_cast<std::size_t>(n)] = 1;
          wait(block);
          seen += written[static_cast<std::size_t>(other(n))];
        },
        [](int) {});
    count += seen == fibers;
  }
  return count;
}

const auto wait_for_block = [](BlockOfFibers &block) { block.wait_for_block(); };
const auto wait_for_warp = [](BlockOfFibers &block) { block.wait_for_warp(); };

TEST(BlockOfFibers, ABarrierOfTheBlockHoldsAllOfItsThreads) {
  EXPECT_EQ(orders_in_which_all_see(wait_for_block, [](int n) { return fibers - 1 - n; }), 4);
}

TEST(BlockOfFibers, ABarrierOfAWarpHoldsThatWarpAlone) {
  EXPECT_EQ(orders_in_which_all_see(wait_for_warp, [](int n) { return n ^ 31; }), 4);
  EXPECT_LT(orders_in_which_all_see(wait_for_warp, [](int n) { return fibers - 1 - n; }), 4);
}

TEST(BlockOfFibers, ThreadsThatWaitForDifferentBarriersWaitInVain) {
  BlockOfFibers block;
  EXPECT_THROW(block.run(
                   fibers, {}, [&](int n) { n % 2 ? block.wait_for_block() : block.wait_for_warp(); }, [](int) {}),
               std::runtime_error);
}

// A tile that two warps write to shared memory and read transposed. `edit` changes the text that CUDA would get.
int orders_in_which_a_transpose_is_right(const std::function<std::string(std::string)> &edit) {
  CudaOnHost cuda(ir::parse_kernel("kernel @turn(@x: array<const f32, 2>, @y: array<f32, 2>) blocks 1 of 64 { "
                                   "%0: i32 = thread_index 0 %1: tile<f32, 8, 16> = load @x[%0, 0] "
                                   "%2: tile<f32, 8, 16> = mul %1, %1 %3: tile<f32, 16, 8> = transpose(1, 0) %2 "
                                   "store @y[%0, 0] = %3 }"),
                  cuda_options(), false, 0, ir::Form::structured, edit);
  int count = 0;
  for (const ThreadOrder order : fiber_orders) {
    cuda.order = order;
    std::vector<float> x(8 * 16), y(16 * 8), expected(16 * 8);
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(k);
      expected[k % 16 * 8 + k / 16] = x[k] * x[k];
    }
    cuda.run({1}, {array(x, {8, 16}), array(y, {16, 8})});
    count += y == expected;
  }
  return count;
}

TEST(CudaOnHost, AWarpsBarrierIsNotTheBlocks) {
  EXPECT_EQ(orders_in_which_a_transpose_is_right([](std::string text) { return text; }), 4);
  EXPECT_EQ(orders_in_which_a_transpose_is_right([](std::string text) {
              const std::string of_block = "__syncthreads();", of_warp = "sync_warp();";
              std::size_t at = text.find(of_block);
              EXPECT_NE(at, std::string::npos) << text;
              for (; at != std::string::npos; at = text.find(of_block, at)) text.replace(at, of_block.size(), of_warp);
              return text;
            }),
            0);
}

}  // namespace
}  // namespace samite::test
