// Loops in which all threads of a warp load the same elements: loaded by the warp together.
#include "tests/codegen/counted.h"
#include "tests/codegen/cuda_on_host.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// sum[i] = Σ_j x[i] * a[j] + b[j + 1, row] - the loop's last value
std::string pairs_with_tiles(const char *type, const char *range) {
  return fmt::format(R"(kernel @pairs(@sum: array<{0}, 1>, @x: array<const {0}, 1>, @a: array<const {0}, 1>,
                                      @b: array<const f64, 2>, @n: i32, @row: i32) threads 1 {{
  %0: i32 = thread_index 0
  %1: {0} = load @x[%0]
  for %2: i32 in {1} carry (%3 -> %4: {0} = 0:{0} then %10) {{
    %5: {0} = load @a[%2]
    %6: i32 = add %2, 1
    %7: f64 = load @b[%6, @row]
    %8: {0} = cast %7
    %9: {0} = mul %5, %1
    %11: {0} = add %9, %8
    %10: {0} = add %3, %11
  }}
  store @sum[%0] = %4
}})",
                     type, range);
}

codegen::EmitOptions options_for(int side_by_side, bool unit_stride) {
  codegen::EmitOptions options = cuda_options(unit_stride);
  options.cuda.instances_per_thread = side_by_side;
  for (codegen::ArrayFacts &facts : options.arrays) facts.unaliased = true;
  return options;
}

template <class T>
void expect_sums_of_pairs(const char *type, const char *range, int n, const std::vector<int> &iterations) {
  constexpr int instances = 128, elements = 80, columns = 3, row = 2;
  for (const bool whole : {false, true})
    for (const int side_by_side : {1, 2})
      for (const bool unit_stride : {true, false}) {
        CudaOnHost kernel(pairs_with_tiles(type, range), options_for(side_by_side, unit_stride));
        kernel.whole_warps = whole;
        std::vector<T> sum(instances, T(-1)), x(instances), a(elements);
        std::vector<double> b((elements + 1) * columns);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = T(i % 5);
        for (std::size_t j = 0; j < a.size(); ++j) a[j] = T(j % 7);
        for (std::size_t j = 0; j < b.size(); ++j) b[j] = static_cast<double>(j % 11);
        kernel.run({instances},
                   {array(sum), array(x), array(a), array(b, {elements + 1, columns}), scalar(n), scalar(row)});
        for (std::size_t i = 0; i < x.size(); ++i) {
          T expected = 0;
          for (const int j : iterations)
            expected += x[i] * a[static_cast<std::size_t>(j)] + T(b[static_cast<std::size_t>((j + 1) * columns + row)]);
          EXPECT_EQ(sum[i], expected) << type << ' ' << range << ' ' << n << " whole " << whole << ' ' << side_by_side;
        }
      }
}

TEST(CudaWarpTiles, LoopsOfAnyLength) {
  for (const int n : {0, 1, 31, 32, 33, 64, 79})
    expect_sums_of_pairs<float>("f32", "0..@n step 1", n, counted(0, n, 1));
}

TEST(CudaWarpTiles, GoBackwardsAndInSteps) {
  expect_sums_of_pairs<float>("f32", "@n..-1 step -1", 70, counted(70, -1, -1));
  expect_sums_of_pairs<float>("f32", "3..@n step 2", 76, counted(3, 76, 2));
  expect_sums_of_pairs<float>("f32", "@n..3 step 1", 70, {});
}

TEST(CudaWarpTiles, OfOtherTypes) {
  expect_sums_of_pairs<double>("f64", "0..@n step 1", 45, counted(0, 45, 1));
  expect_sums_of_pairs<int>("i32", "0..@n step 1", 45, counted(0, 45, 1));
}

TEST(CudaWarpTiles, OnlyWhatTheWarpSharesAndNothingWrites) {
  const auto text_of = [](const std::string &text, codegen::EmitOptions options = options_for(1, true)) {
    return emit_for_cuda(text, options).text;
  };
  const std::string plain = pairs_with_tiles("f32", "0..@n step 1");
  EXPECT_THAT(text_of(plain), AllOf(HasSubstr("whole_warp()"), HasSubstr("{ f32 at0; }")))
      << "the index j + 1 is a value of the loop's own";
  EXPECT_THAT(text_of(pairs_with_tiles("f32", "0..%0 step 1")), Not(HasSubstr("tile")))
      << "threads leave it one by one";
  codegen::EmitOptions aliased = options_for(1, true);
  for (codegen::ArrayFacts &facts : aliased.arrays) facts.unaliased = false;
  EXPECT_THAT(text_of(plain, aliased), Not(HasSubstr("tile")));
  codegen::EmitOptions debug = options_for(1, true);
  debug.debug = true;
  EXPECT_THAT(text_of(plain, debug), Not(HasSubstr("tile")));
  std::string of_thread = plain;
  of_thread.replace(of_thread.find("@a[%2]"), 6, "@a[%0]");
  EXPECT_THAT(text_of(of_thread), Not(HasSubstr("tile")));
}

}  // namespace
}  // namespace samite::test
