// CUDA kernels run on the host: launches of every rank, sums, workspaces, failures and messages.
#include "tests/codegen/cuda_on_host.h"

#include <gmock/gmock.h>

#include <numeric>

namespace samite::test {
namespace {

using codegen::FailureKind;
using testing::ElementsAre;

codegen::EmitOptions with_grid_stride(codegen::EmitOptions options = cuda_options()) {
  options.cuda.grid_stride = true;
  return options;
}

constexpr const char *count_4 = R"(kernel @count(@out: array<i32, 4>) threads 4 {
  %0: i32 = thread_index 0
  %1: i64 = thread_index 1
  %2: i32 = thread_index 2
  %3: i32 = thread_index 3
  %4: i32 = cast %1
  %5: i32 = mul %0, 1000
  %6: i32 = mul %4, 100
  %7: i32 = mul %2, 10
  %8: i32 = add %5, %6
  %9: i32 = add %8, %7
  %10: i32 = add %9, %3
  %11: i32 = load @out[%0, %1, %2, %3]
  %12: i32 = add %11, %10
  store @out[%0, %1, %2, %3] = %12
})";

// Each instance of the box runs once, and no other.
TEST(CudaKernel, RunsABoxOfFourDimensions) {
  for (const codegen::EmitOptions &options :
       {cuda_options(), with_grid_stride(), with_grid_stride(cuda_options(false, true))}) {
    const CudaOnHost kernel(count_4, options);
    std::vector<int> out(7 * 6 * 5 * 9, 0);
    kernel.run_box({1, 2, 0, 3}, {5, 6, 4, 9}, {array(out, {7, 6, 5, 9})});
    std::size_t at = 0;
    for (int i = 0; i < 7; ++i)
      for (int j = 0; j < 6; ++j)
        for (int k = 0; k < 5; ++k)
          for (int l = 0; l < 9; ++l, ++at) {
            const bool inside = i >= 1 && i < 5 && j >= 2 && k < 4 && l >= 3;
            ASSERT_EQ(out[at], inside ? 1000 * i + 100 * j + 10 * k + l : 0) << i << j << k << l;
          }
  }
}

TEST(CudaKernel, RunsABoxOfThreeDimensions) {
  for (const codegen::EmitOptions &options : {cuda_options(), with_grid_stride()}) {
    const CudaOnHost kernel(R"(kernel @k(@out: array<i32, 3>) threads 3 {
      %0: i32 = thread_index 0
      %1: i32 = thread_index 1
      %2: i32 = thread_index 2
      %3: i32 = mul %0, 100
      %4: i32 = mul %1, 10
      %5: i32 = add %3, %4
      %6: i32 = add %5, %2
      accumulate @out[%0, %1, %2] += %6
    })",
                            options);
    std::vector<int> out(9 * 9 * 9, 0);
    kernel.run({9, 9, 9}, {array(out, {9, 9, 9})});
    for (int i = 0; i < 729; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], i / 81 * 100 + i / 9 % 9 * 10 + i % 9);
  }
}

constexpr const char *sums = R"(kernel @sums(@total: array<f32, 1>, @count: array<i64, 1>, @small: array<f16, 1>,
                                             @x: array<const f32, 1>, @n: i32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @x[%0]
  %2: bool = lt %0, @n
  if %2 {
    accumulate atomic @total[1] += %1
    accumulate atomic @count[@n] += 3:i64
  }
  accumulate atomic @small[0] += 0.5:f16
})";

TEST(CudaKernel, SumsOverTheLaunchAreComplete) {
  for (const codegen::EmitOptions &options : {cuda_options(), with_grid_stride()}) {
    const CudaOnHost kernel(sums, options);
    ASSERT_TRUE(kernel.source().sums_over_launch);
    for (const int instances : {1, 5, 33, 64, 300}) {
      std::vector<float> total{10, 20, 30}, x(300);
      std::iota(x.begin(), x.end(), 0.0f);
      std::vector<long long> count(101, 1);
      std::vector<std::uint16_t> small{0};
      kernel.run({instances}, {array(total), array(count), array(small), array(x), scalar(100)});
      const int n = std::min(instances, 100);
      EXPECT_THAT(total, ElementsAre(10, 20 + static_cast<float>(n * (n - 1)) / 2, 30));
      EXPECT_EQ(count[100], 1 + 3 * n);
      EXPECT_EQ(static_cast<float>(half::from_bits(small[0])), 0.5f * static_cast<float>(instances));
    }
  }
}

// An element that nothing is added to is not touched: its index may be outside.
TEST(CudaKernel, ASumOfNothingTouchesNothing) {
  const CudaOnHost kernel(sums, with_grid_stride(cuda_options(true, false, true)));
  std::vector<float> total{10, 20}, x(300);
  std::vector<long long> count(1, 1);
  std::vector<std::uint16_t> small{0};
  const CudaResult result = kernel.run({300}, {array(total), array(count), array(small), array(x), scalar(-1)});
  EXPECT_EQ(result.failure.state, 0u);
  EXPECT_THAT(count, ElementsAre(1));
}

TEST(CudaKernel, ASumOutsideOfItsArrayIsReported) {
  const CudaOnHost kernel(sums, with_grid_stride(cuda_options(true, false, true)));
  std::vector<float> total{10, 20}, x(300);
  std::vector<long long> count(4, 1);
  std::vector<std::uint16_t> small{0};
  const CudaResult result = kernel.run({300}, {array(total), array(count), array(small), array(x), scalar(4)});
  EXPECT_EQ(result.failure.kind, FailureKind::index_out_of_bounds);
  EXPECT_EQ(result.failure.array, 1u);
  EXPECT_EQ(result.failure.index, 4);
  EXPECT_EQ(result.failure.extent, 4);
}

constexpr const char *reverse = R"(kernel @reverse(@out: array<f64, 1>, @n: i32) threads 1 {
  %0: i32 = thread_index 0
  local $0: f64[@n]
  local $1: i8[@n]
  %1: f64 = cast %0
  for %2: i32 in 0 .. @n step 1 {
    %3: f64 = cast %2
    %4: f64 = add %3, %1
    local_store $0[%2] = %4
    %5: i8 = cast %2
    local_store $1[%2] = %5
  }
  for %6: i32 in 0 .. @n step 1 {
    %7: f64 = local_load $0[%6]
    %8: i8 = local_load $1[%6]
    %9: f64 = cast %8
    %10: f64 = add %7, %9
    accumulate @out[%0] += %10
  }
})";

TEST(CudaKernel, ThreadsHaveArraysOfTheirOwnInTheWorkspace) {
  CudaOnHost kernel(reverse, with_grid_stride());
  kernel.workspace_per_thread = 8 * 10 + 16;
  std::vector<double> out(500, 0);
  EXPECT_EQ(kernel.run({500}, {array(out), scalar(10)}).failure.state, 0u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 90 + 10 * i);
}

TEST(CudaKernel, AnInstanceWithoutMemoryEndsAndIsReported) {
  CudaOnHost kernel(reverse, with_grid_stride());
  kernel.workspace_per_thread = 8 * 10 + 8;
  std::vector<double> out(500, 0);
  const CudaResult result = kernel.run({500}, {array(out), scalar(10)});
  EXPECT_EQ(result.failure.state, 2u);
  EXPECT_EQ(result.failure.kind, FailureKind::out_of_memory);
  EXPECT_EQ(result.failure.index, 16);   // the second array
  EXPECT_EQ(result.failure.extent, 88);  // of each thread
  EXPECT_EQ(result.failure.array, 1u);
  EXPECT_EQ(kernel.source().sites.size(), 2u);
  EXPECT_THAT(out, testing::Each(0));
}

TEST(CudaKernel, SizesThatOverflowAreReported) {
  CudaOnHost kernel(R"(kernel @k(@out: array<f64, 1>, @n: i64) threads 1 {
    %0: i32 = thread_index 0
    local $0: f64[@n]
    local_store $0[0] = 1.0:f64
    %1: f64 = local_load $0[0]
    store @out[%0] = %1
  })",
                    with_grid_stride());
  std::vector<double> out(3, 0);
  for (const long long size : {(1ll << 61) + 1, ~(1ll << 63), 1ll << 40}) {
    const CudaResult result = kernel.run({3}, {array(out), scalar(size)});
    EXPECT_EQ(result.failure.kind, FailureKind::out_of_memory);
    EXPECT_THAT(out, testing::Each(0));
  }
}

TEST(CudaKernel, DebugModeReportsTheFirstFailureAndGoesOn) {
  const CudaOnHost kernel(R"(kernel @k(@out: array<i32, 2>, @x: array<const i32, 1>, @n: i32) threads 1 {
    %0: i32 = thread_index 0
    %1: i32 = add %0, @n
    %2: i32 = load @x[%1] at "/home/user/k.cpp":12
    %3: i32 = div 100, %2 at "/home/user/k.cpp":13
    store @out[%0, 0] = %3
  })",
                          cuda_options(true, false, true));
  std::vector<int> out(4, -1), x{5, 10, 20, 25};
  const CudaResult result = kernel.run({4}, {array(out, {4, 1}), array(x), scalar(1)});
  EXPECT_EQ(result.failure.state, 2u);
  EXPECT_EQ(result.failure.kind, FailureKind::index_out_of_bounds);
  EXPECT_EQ(result.failure.array, 1u);
  EXPECT_EQ(result.failure.dimension, 0u);
  EXPECT_EQ(result.failure.index, 4);
  EXPECT_EQ(result.failure.extent, 4);
  EXPECT_EQ(kernel.source().files.at(result.failure.file), "/home/user/k.cpp");
  EXPECT_EQ(result.failure.line, 12u);
  EXPECT_THAT(out, ElementsAre(10, 5, 4, 0));  // elements outside read as 0, and 100 / 0 is 0
}

constexpr const char *talk = R"(kernel @talk(@x: array<const f32, 2>) threads 2 {
  %0: i32 = thread_index 0
  %1: i64 = thread_index 1
  %2: f32 = load @x[%0, %1]
  %3: bool = lt %2, 2.0
  %4: i8 = cast %0
  print "x is ", %2, " in row ", %4, ""
  check %3, "x is ", %2, ""
})";

TEST(CudaKernel, SaysWhatItsInstancesSay) {
  const CudaOnHost kernel(talk);
  EXPECT_TRUE(kernel.source().uses_channel);
  std::vector<float> x{1, 3, 0, 5};
  const CudaResult result = kernel.run({2, 2}, {array(x, {2, 2})});
  std::vector<std::vector<std::uint64_t>> prints, checks;
  for (const CudaResult::Said &said : result.said) {
    auto words = said.instance;
    words.insert(words.end(), said.values.begin(), said.values.end());
    (kernel.source().messages.at(said.site).is_check ? checks : prints).push_back(words);
  }
  const auto bits = [](float value) { return std::uint64_t{std::bit_cast<std::uint32_t>(value)}; };
  using Words = std::vector<std::uint64_t>;
  EXPECT_THAT(prints, testing::UnorderedElementsAre(Words{bits(1), 0}, Words{bits(3), 0}, Words{bits(0), 1},
                                                    Words{bits(5), 1}));
  EXPECT_THAT(checks, testing::UnorderedElementsAre(Words{0, 1, bits(3)}, Words{1, 1, bits(5)}));
  EXPECT_EQ(result.lost_prints + result.lost_checks, 0u);
}

TEST(CudaKernel, SaysWhatHasNoValues) {
  const CudaOnHost kernel(R"(kernel @hello(@x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    print "hello"
    print "again"
  })");
  std::vector<float> x{1};
  const CudaResult result = kernel.run({3}, {array(x)});
  ASSERT_EQ(result.said.size(), 6u);
  EXPECT_EQ(result.said[0].site + result.said[1].site, 1u);
}

TEST(CudaKernel, MessagesThatHaveNoRoomAreCounted) {
  CudaOnHost kernel(talk);
  kernel.channel_bytes = sizeof(codegen::CudaChannel) + 8 * 10;
  std::vector<float> x{1, 3, 0, 5};
  const CudaResult result = kernel.run({2, 2}, {array(x, {2, 2})});
  EXPECT_FALSE(result.said.empty());
  EXPECT_EQ(result.said.size() + result.lost_prints + result.lost_checks, 6u);
  EXPECT_GT(result.lost_prints + result.lost_checks, 0u);
}

}  // namespace
}  // namespace samite::test
