// Loops in which all threads of a warp add to one element: summed by the warp.
#include "tests/codegen/counted.h"
#include "tests/codegen/cuda_on_host.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// In iteration j, instance i adds (row + 1) * x[i] * j to element j + row of each row's array.
std::string pairs_into_rows(int rows, const char *type, const char *range) {
  std::string parameters, body;
  int next = 6;
  for (int row = 0; row < rows; ++row) {
    parameters += fmt::format("@g{}: array<{}, 1>, ", row, type);
    body += fmt::format("%{0}: i32 = add %2, {3}\n%{1}: {4} = mul %5, {5}\naccumulate atomic @g{2}[%{0}] += %{1}\n",
                        next, next + 1, row, row, type,
                        type == std::string("f32") || type == std::string("f64") ? fmt::format("{}.0:{}", row + 1, type)
                                                                                 : fmt::format("{}:{}", row + 1, type));
    next += 2;
  }
  return fmt::format(
      "kernel @pairs({}@x: array<const {}, 1>, @sum: array<{}, 1>, @n: i32) threads 1 {{\n%0: i32 = thread_index 0\n"
      "%1: {} = load @x[%0]\nfor %2: i32 in {} carry (%100 -> %101: {} = %1 then %5) {{\n%4: {} = cast %2\n"
      "%5: {} = mul %1, %4\n{}}}\nstore @sum[%0] = %101\n}}",
      parameters, type, type, type, range, type, type, type, body);
}

template <class T>
void expect_sums_of_rows(int rows, const char *type, const char *range, const std::vector<int> &iterations) {
  for (const auto &[whole, side_by_side] : {std::pair{false, 1}, {true, 1}, {true, 2}}) {
    codegen::EmitOptions options = cuda_options();
    options.cuda.instances_per_thread = side_by_side;
    CudaOnHost kernel(pairs_into_rows(rows, type, range), options);
    kernel.whole_warps = whole;
    constexpr int instances = 128, elements = 64;
    std::vector<std::vector<T>> g(static_cast<std::size_t>(rows), std::vector<T>(elements, T(1)));
    std::vector<T> x(instances), sum(instances);
    T total = 0;
    for (int i = 0; i < instances; ++i) total += x[static_cast<std::size_t>(i)] = T(i % 5);
    std::vector<Argument> arguments;
    for (const auto &row : g) arguments.push_back(array(row));
    arguments.insert(arguments.end(), {array(x), array(sum), scalar(21)});
    kernel.run({instances}, arguments);
    for (int row = 0; row < rows; ++row) {
      std::vector<T> expected(elements, T(1));
      for (const int j : iterations) expected[static_cast<std::size_t>(j + row)] += T(row + 1) * total * T(j);
      EXPECT_EQ(g[static_cast<std::size_t>(row)], expected) << type << ' ' << range << " row " << row << whole;
    }
    for (int i = 0; i < instances; ++i)
      EXPECT_EQ(sum[static_cast<std::size_t>(i)],
                x[static_cast<std::size_t>(i)] * T(iterations.empty() ? 1 : iterations.back()));
  }
}

TEST(CudaWarpRows, AreCompleteForAnyNumberOfRows) {
  for (const int rows : {1, 2, 3, 4, 7, 16, 20})
    expect_sums_of_rows<float>(rows, "f32", "0..@n step 1", counted(0, 21, 1));
}

TEST(CudaWarpRows, GoBackwardsAndInSteps) {
  expect_sums_of_rows<float>(4, "f32", "20..-1 step -1", counted(20, -1, -1));
  expect_sums_of_rows<float>(4, "f32", "@n..0 step -3", counted(21, 0, -3));
  expect_sums_of_rows<float>(4, "f32", "2..@n step 2", counted(2, 21, 2));
  expect_sums_of_rows<float>(4, "f32", "@n..3 step 1", {});
}

TEST(CudaWarpRows, OfOtherTypes) {
  expect_sums_of_rows<double>(3, "f64", "0..@n step 1", counted(0, 21, 1));
  expect_sums_of_rows<int>(5, "i32", "0..@n step 1", counted(0, 21, 1));
  expect_sums_of_rows<std::uint64_t>(2, "u64", "0..@n step 1", counted(0, 21, 1));
}

// The threads of a warp share an element only if the launch's last dimension is wide.
TEST(CudaWarpRows, OfTwoDimensionsAskWhetherTheWarpSharesTheElement) {
  constexpr const char *text = R"(kernel @k(@g: array<f32, 2>, @h: array<f32, 1>, @x: array<const f32, 2>) threads 2 {
    %0: i32 = thread_index 0
    %1: i32 = thread_index 1
    %2: f32 = load @x[%0, %1]
    for %3: i32 in 0..11 step 1 {
      accumulate atomic @g[%0, %3] += %2
      %4: i32 = sub %3, 1
      %5: i32 = add %4, %0
      %6: i32 = add %5, 1
      accumulate atomic @h[%6] += %2
    }
  })";
  EXPECT_THAT(emit_for_cuda(text).text, HasSubstr("whole_warp() && same_in_warp(v"));
  for (const bool whole : {false, true})
    for (const int width : {8, 32, 64}) {
      CudaOnHost kernel(text);
      kernel.whole_warps = whole;
      constexpr int height = 16;
      std::vector<float> g(height * 11), h(height + 11), x(static_cast<std::size_t>(height * width));
      std::vector<float> expected_g = g, expected_h = h;
      for (int i = 0; i < height * width; ++i) {
        const float value = x[static_cast<std::size_t>(i)] = static_cast<float>(i % 7);
        for (int j = 0; j < 11; ++j) {
          expected_g[static_cast<std::size_t>(i / width * 11 + j)] += value;
          expected_h[static_cast<std::size_t>(i / width + j)] += value;
        }
      }
      kernel.run({height, width}, {array(g, {height, 11}), array(h), array(x, {height, width})});
      EXPECT_EQ(g, expected_g) << width;
      EXPECT_EQ(h, expected_h) << width;
    }
}

// Also on the CPU, with lanes in place of threads.
TEST(CudaWarpRows, OfElementsThatLieApart) {
  constexpr const char *text = R"(kernel @k(@g: array<f32, 1>, @x: array<const f32, 1>) threads 1 {
    %0: i32 = thread_index 0
    %1: f32 = load @x[%0]
    for %2: i32 in 0..21 step 1 carry (%100 -> %101: f32 = %1 then %3) {
      %3: f32 = mul %100, 1.0
      %4: i64 = cast %2
      %5: i64 = mul %4, 3:i64
      %6: i64 = sub 64:i64, %5
      accumulate atomic @g[%6] += %3
    }
  })";
  EXPECT_THAT(emit_for_cuda(text).text, HasSubstr("add_of_warp(warp"));
  constexpr int instances = 128;
  std::vector<float> x(instances), expected(65);
  for (int i = 0; i < instances; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<float>(i % 5);
    for (int j = 0; j < 21; ++j) expected[static_cast<std::size_t>(64 - 3 * j)] += static_cast<float>(i % 5);
  }
  for (const bool whole : {false, true}) {
    CudaOnHost kernel(text);
    kernel.whole_warps = whole;
    std::vector<float> g(65);
    kernel.run({instances}, {array(g), array(x)});
    EXPECT_EQ(g, expected);
  }
  std::vector<float> g(65);
  CompiledKernel(text).run({instances}, {array(g), array(x)});
  EXPECT_EQ(g, expected);
}

TEST(CudaWarpRows, OnlyWhereNothingTellsAndAllGoThroughTheLoopAlike) {
  const auto text_of = [](const std::string &text, bool debug = false) {
    return emit_for_cuda(text, cuda_options(true, false, debug)).text;
  };
  const std::string plain = pairs_into_rows(4, "f32", "0..@n step 1");
  EXPECT_THAT(text_of(plain), AllOf(HasSubstr("WarpRows<f32, 4, 8> rows"), HasSubstr("add_of_warp(warp")));
  EXPECT_THAT(text_of(plain, true), Not(HasSubstr("warp")));
  EXPECT_THAT(text_of(pairs_into_rows(4, "f32", "0..%0 step 1")), Not(HasSubstr("warp")));
  std::string read = plain;
  read.insert(read.find("store @sum"), "%200: f32 = load @g0[0]\naccumulate @sum[%0] += %200\n");
  EXPECT_THAT(text_of(read), HasSubstr("atomic_add<f32>(&p0.data"));
  // Bodies with loops, and large ones, are not written eight times.
  std::string nested = plain;
  nested.insert(nested.find("%5: f32"), "for %300: i32 in 0..3 step 1 {\naccumulate @sum[%0] += 1.0\n}\n");
  EXPECT_THAT(text_of(nested), AllOf(HasSubstr("add_of_warp(warp"), Not(HasSubstr("WarpRows"))));
}

}  // namespace
}  // namespace samite::test
