// Kernels in the form of a schedule's lowering: blocks whose body has loops over threads, memory of the block and
// barriers. On the CPU, as CUDA runs them, and compiled by NVIDIA's compiler.
#include "samite/codegen/prelude.h"
#include "samite/ir/print.h"
#include "samite/toolchain/cuda_compiler.h"
#include "tests/codegen/cuda_on_host.h"
#include "tests/runtime/message_of.h"
#include "tests/toolchain/cuda_sample.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Each block sums neighbours of its part of x, which its threads have put into shared memory: y(i) = x(i) + x(i + 1).
// The block has `threads` threads for parts of `part` elements; the last part may be shorter.
std::string neighbours(int threads, int part) {
  return fmt::format(R"(
kernel @neighbours(@x: array<const f32, 1>, @y: array<f32, 1>) blocks 1 of {0} scheduled {{
  %0: i32 = thread_index 0
  %1: i32 = mul %0, {1}
  %2: i32 = extent @x, 0
  %3: i32 = extent @y, 0
  local shared $0: f32[{2}]
  for.thread %4: i32 in 0 .. {2} step 1 {{
    %5: i32 = add %1, %4
    %6: bool = lt %5, %2
    if %6 {{
      %7: f32 = load @x[%5]
      local_store $0[%4] = %7
    }}
  }}
  barrier
  for.thread %8: i32 in 0 .. {1} step 1 {{
    %9: i32 = add %1, %8
    %10: bool = lt %9, %3
    if %10 {{
      %11: i32 = add %8, 1
      %12: f32 = local_load $0[%8]
      %13: f32 = local_load $0[%11]
      %14: f32 = add %12, %13
      store @y[%9] = %14
    }}
  }}
}})",
                     threads, part, part + 1);
}

struct SumsOfNeighbours {
  std::vector<float> x, y, expected;
  explicit SumsOfNeighbours(int count) : x(static_cast<std::size_t>(count) + 1), y(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 17);
    for (std::size_t i = 0; i < y.size(); ++i) expected.push_back(x[i] + x[i + 1]);
  }
  std::vector<Argument> arguments() const { return {array(x), array(y)}; }
};

TEST(ScheduledKernel, IsWrittenAndReadAsText) {
  const ir::Kernel kernel = ir::parse_kernel(neighbours(48, 48));
  EXPECT_TRUE(kernel.scheduled);
  const std::string text = ir::to_string(kernel);
  EXPECT_THAT(text, HasSubstr(") blocks 1 of 48 scheduled {\n"));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

TEST(ScheduledKernel, IsInLoweredForm) {
  const ir::Kernel kernel = ir::parse_kernel(neighbours(48, 48));
  ir::verify(kernel, ir::Form::lowered, "test");
  EXPECT_THAT(message_of<InternalError>([&] { ir::verify(kernel, ir::Form::structured, "test"); }),
              HasSubstr("the structured form has no scheduled kernel"));
  ir::Kernel of_threads = ir::parse_kernel("kernel @nothing() threads 1 { }");
  of_threads.scheduled = true;
  EXPECT_THAT(message_of<InternalError>([&] { ir::verify(of_threads, ir::Form::lowered, "test"); }),
              HasSubstr("a scheduled kernel whose instances are threads"));
}

// Sums of indices of the block's memory are in 64 bits, which addresses can hold, where they cannot wrap around to an
// element; others, as %6 here, wrap.
TEST(ScheduledKernel, IndicesOfTheBlocksMemoryAreSums) {
  const ir::Kernel kernel = ir::parse_kernel(R"(
kernel @sums(@y: array<i32, 1>, @far: i32) blocks 1 of 32 scheduled {
  local shared $0: i32[64]
  for.thread %1: i32 in 0 .. 64 step 1 {
    local_store $0[%1] = %1
  }
  for.thread %2: i32 in 0 .. 16 step 1 {
    %3: i32 = add %2, 7
    %4: i32 = local_load $0[%3]
    %5: i32 = add @far, 2147483647
    %6: i32 = add %5, @far
    %9: i32 = add %6, %2
    %10: i32 = local_load $0[%9]
    %11: i32 = add %4, %10
    store @y[%2] = %11
  }
})");
  CompiledKernel compiled(kernel, options(true, false, false), ir::Form::lowered);
  EXPECT_THAT(compiled.source().text, HasSubstr("a0 + (i64(v2) + i64(7))"));
  EXPECT_THAT(compiled.source().text, HasSubstr("a0 + (i64(v6) + i64(v2))"));
  std::vector<int> y(16), expected;
  for (int i = 0; i < 16; ++i) expected.push_back(i + 7 + i + 9);
  // 2 far + 2147483647 is 9, except for the bits that an i32 loses.
  EXPECT_EQ(compiled.run({1}, {array(y), scalar(1073741829)}).state, 0u);
  EXPECT_EQ(y, expected);
}

// Lanes leave the first inner loop, and join the second one, one after another.
constexpr const char *nested_threads = R"(
kernel @halves(@y: array<i32, 2>) blocks 1 of 32 scheduled {
  for.thread %1: i32 in 0 .. 11 step 1 {
    for.thread %2: i32 in 0 .. %1 step 1 {
      %3: i32 = mul %1, 100
      %4: i32 = add %3, %2
      store @y[%1, %2] = %4
    }
    for.thread %5: i32 in %1 .. 11 step 1 {
      store @y[%1, %5] = %5
    }
  }
})";

TEST(ScheduledKernel, LoopsOverThreadsNest) {
  constexpr int n = 11;
  std::vector<int> expected;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) expected.push_back(j < i ? 100 * i + j : j);
  const ir::Kernel nested = ir::parse_kernel(nested_threads);
  for (const bool debug : {false, true}) {
    std::vector<int> y(n * n), on_cuda(n * n);
    CompiledKernel kernel(nested, options(true, false, debug), ir::Form::lowered);
    EXPECT_EQ(kernel.run({1}, {array(y, {n, n})}).state, 0u);
    EXPECT_EQ(y, expected);
    const CudaOnHost cuda(nested, cuda_options(true, false, debug), false, 2, ir::Form::lowered);
    EXPECT_EQ(cuda.run({1}, {array(on_cuda, {n, n})}).failure.state, 0u);
    EXPECT_EQ(on_cuda, expected);
  }
}

// Like an array without elements that a thread keeps. Each element is counted once, and nothing else.
TEST(ScheduledKernel, LoopsOverThreadsOfAnyLength) {
  for (const int threads : {1, 32, 48})
    for (const int length : {-1, 0, 1, 2, threads - 1, threads, threads + 1, 2 * threads, 3 * threads + 1}) {
      SCOPED_TRACE(fmt::format("{} elements by {} threads", length, threads));
      const ir::Kernel kernel = ir::parse_kernel(fmt::format(
          "kernel @count(@y: array<i32, 1>) blocks 1 of {} scheduled {{ for.thread %1: i32 in 0 .. {} step 1 {{ "
          "%2: i32 = load @y[%1] %3: i32 = add %2, 1 store @y[%1] = %3 }} }}",
          threads, length));
      const auto n = static_cast<std::size_t>(std::max(length, 0));
      std::vector<int> expected(n + 200, 0), y = expected, on_cuda = expected;
      std::fill_n(expected.begin(), n, 1);
      EXPECT_EQ(CompiledKernel(kernel, options(), ir::Form::lowered).run({1}, {array(y)}).state, 0u);
      EXPECT_EQ(y, expected);
      const CudaOnHost cuda(kernel, cuda_options(), false, 0, ir::Form::lowered);
      EXPECT_EQ(cuda.run({1}, {array(on_cuda)}).failure.state, 0u);
      EXPECT_EQ(on_cuda, expected);
    }
}

// With threads that do and do not fill whole warps, and with fewer and more elements than threads.
class ScheduledKernels : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  std::string text() const { return neighbours(GetParam().first, GetParam().second); }
  std::vector<long long> blocks(int count) const { return {(count + GetParam().second - 1) / GetParam().second}; }
};

TEST_P(ScheduledKernels, RunOnTheCpu) {
  for (const bool debug : {false, true}) {
    const SumsOfNeighbours sums(101);
    CompiledKernel kernel(ir::parse_kernel(text()), options(true, false, debug), ir::Form::lowered);
    EXPECT_EQ(kernel.run(blocks(101), sums.arguments()).state, 0u);
    EXPECT_EQ(sums.y, sums.expected);
    EXPECT_THAT(kernel.source().text, testing::Not(HasSubstr("__syncthreads")));
  }
}

TEST_P(ScheduledKernels, RunAsOnCuda) {
  for (const bool debug : {false, true}) {
    const SumsOfNeighbours sums(101);
    CudaOnHost kernel(ir::parse_kernel(text()), cuda_options(true, false, debug), false, 2, ir::Form::lowered);
    EXPECT_EQ(kernel.run(blocks(101), sums.arguments()).failure.state, 0u);
    EXPECT_EQ(sums.y, sums.expected);
    EXPECT_GE(kernel.source().tile_memory.bytes, (GetParam().second + 1) * 4);
  }
}

class ScheduledKernelCompile : public CudaCompilerTest, public testing::WithParamInterface<std::pair<int, int>> {};

TEST_P(ScheduledKernelCompile, IsTakenByNvidiasCompiler) {
  const codegen::EmittedSource emitted = emit_for_cuda(
      ir::parse_kernel(neighbours(GetParam().first, GetParam().second)), cuda_options(), false, ir::Form::lowered);
  const CudaSource source{.name = "neighbours", .text = emitted.text};
  for (const std::string &architecture : cuda_architectures()) {
    const auto report = compile_cuda(source, codegen::cuda_prelude(source.text), architecture).image->report();
    ASSERT_EQ(report.kernels.size(), 1u);
    EXPECT_EQ(report.kernels[0].shared_bytes, 0u) << "all of it is asked for when it is launched";
    EXPECT_LE(report.kernels[0].registers, 40);
  }
}

const auto shapes = testing::Values(std::pair(64, 64), std::pair(48, 48), std::pair(1, 5), std::pair(20, 50),
                                    std::pair(1024, 7), std::pair(32, 8));
INSTANTIATE_TEST_SUITE_P(ThreadsAndParts, ScheduledKernels, shapes);
INSTANTIATE_TEST_SUITE_P(ThreadsAndParts, ScheduledKernelCompile, shapes);

}  // namespace
}  // namespace samite::test
