// Sums that blocks compute in parts: the split kernels, that both together compute the same as the one, and when to
// split.
#include "samite/passes/tiles/split_sums.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/sm90/product_loops.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace samite::passes {
namespace {

using namespace test::product_loops;
using test::tiles::run_structured;
using test::tiles::TileArray;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Block (i, j) of 4 by 6: f16 products of `steps` windows of 8 terms, with `extra` applied to %6, the sums.
std::string product_text(const std::string &before = "",
                         const std::string &in_loop =
                             "%10: tile<f32, 4, 6> = matmul "
                             "%8, %9, %5 ",
                         const std::string &initial = "0.0:tile<f32, 4, 6>",
                         const std::string &after = "store @c[%2, %3] = %6 ") {
  return "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @c: array<f32, 2>, @x: array<const f32, 2>) "
         "blocks 2 of 64 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 4 %3: i32 = mul %1, 6 "
         "%30: i32 = extent @a, 1 %31: i32 = add %30, 7 %32: i32 = div %31, 8 " +
         before + "for %4: i32 in 0 .. %32 step 1 stages 2 carry (%5 -> %6: tile<f32, 4, 6> = " + initial +
         " then %10) { %7: i32 = mul %4, 8 %8: tile<f16, 4, 8> = load @a[%2, %7] %9: tile<f16, 8, 6> = load @b[%7, "
         "%3] " +
         in_loop + "} " + after + "}";
}

std::optional<SplitSums> split(const std::string &text, std::int64_t parts = 0) {
  auto made = split_sums(structured(text), parts);
  if (made) {
    ir::verify(made->parts, ir::Form::structured, "split_sums");
    ir::verify(made->rest, ir::Form::structured, "split_sums");
  }
  return made;
}

// Small integers, so that the order of additions does not show; elements that no block has stored are NaN.
void expect_the_same(const std::string &text, std::int64_t terms, std::int64_t parts, bool known) {
  SCOPED_TRACE(testing::Message() << terms << " terms in " << parts << (known ? " known" : "") << " parts");
  const std::int64_t rows = 10, columns = 13;
  const std::vector<TileArray> arguments{
      array(ScalarType::Float16, rows, terms, 3), array(ScalarType::Float16, terms, columns, 4),
      array(ScalarType::Float32, rows, columns, 5), array(ScalarType::Float32, rows, columns, 6)};
  const std::vector<std::int64_t> blocks{3, 3};
  const auto expected = run_structured(structured(text), blocks, arguments);
  const auto made = split(text, known ? parts : 0);
  ASSERT_TRUE(made);
  std::vector<TileArray> with_sums = arguments;
  for (const PartialSums &sums : made->sums) {
    EXPECT_EQ(sums.parameter, with_sums.size());
    const std::vector<std::int64_t> extents = extents_of(sums, blocks, parts);
    TileArray own{sums.type, extents, {}};
    own.elements.assign(static_cast<std::size_t>(extents[0] * extents[1] * extents[2]),
                        {std::numeric_limits<double>::quiet_NaN(), 0, 0});
    with_sums.push_back(std::move(own));
  }
  with_sums = run_structured(made->parts, {parts, blocks[0], blocks[1]}, with_sums);
  for (std::size_t k = 0; k < arguments[2].elements.size(); ++k)
    ASSERT_EQ(with_sums[2].elements[k].value, arguments[2].elements[k].value) << "the parts store to sums alone";
  with_sums = run_structured(made->rest, blocks, with_sums);
  for (std::size_t k = 0; k < expected[2].elements.size(); ++k)
    ASSERT_EQ(with_sums[2].elements[k].value, expected[2].elements[k].value) << k;
}

void expect_the_same(const std::string &text, std::int64_t terms, std::int64_t parts) {
  for (const bool known : {false, true}) expect_the_same(text, terms, parts, known);
}

TEST(SplitSums, BothKernelsTogetherComputeTheSame) {
  const std::string plain = product_text();
  for (const std::int64_t terms : {0, 5, 8, 40, 77})
    for (const std::int64_t parts : {1, 2, 3, 7, 16, 17}) expect_the_same(plain, terms, parts);
  // An epilogue; sums that do not begin at zero; sums that are scaled before they are added up; two products.
  expect_the_same(product_text("", "%10: tile<f32, 4, 6> = matmul %8, %9, %5 ", "0.0:tile<f32, 4, 6>",
                               "%20: tile<f32, 4, 6> = load @x[%2, %3] %21: tile<f32, 4, 6> = mul %6, %20 "
                               "accumulate @c[%2, %3] += %21 "),
                  40, 3);
  expect_the_same(
      product_text("%20: tile<f32, 4, 6> = load @x[%2, %3] ", "%10: tile<f32, 4, 6> = matmul %8, %9, %5 ", "%20"), 40,
      3);
  expect_the_same(product_text("",
                               "%20: tile<f32, 4, 6> = matmul %8, %9, 0.0:tile<f32, 4, 6> "
                               "%21: tile<f32, 4, 6> = mul %20, 2.0:tile<f32, 4, 6> "
                               "%10: tile<f32, 4, 6> = add %5, %21 "),
                  40, 3);
  expect_the_same(product_text("",
                               "%20: tile<f32, 4, 6> = matmul %8, %9, %5 %10: tile<f32, 4, 6> = matmul %8, %9, "
                               "%20 "),
                  40, 3);
}

// As warp groups run them, from bulk copies: a part starts at its own first step, and an empty one stores zeros.
TEST(SplitSums, AsAGpuRunsThem) {
  const ProductShape shape{.rows = 64, .columns = 64, .inner = 64};
  std::string text = kernel_text(shape);
  text.replace(text.find("%8: i32 = add %7, %19"), 21, "%8: i32 = add %7, 0");
  const auto made = split(text);
  ASSERT_TRUE(made);
  for (const auto &[steps, parts] : {std::pair<std::int64_t, std::int64_t>{7, 3}, {2, 2}, {2, 3}, {0, 2}}) {
    SCOPED_TRACE(testing::Message() << steps << " steps in " << parts << " parts");
    const std::int64_t terms = steps * 64 + (steps == 0 ? 64 : -5), rows = 70;
    std::vector<TileArray> arguments{array(ScalarType::Float16, rows, terms, 3),
                                     array(ScalarType::Float16, terms, 61, 4), array(ScalarType::Float32, rows, 61, 5)};
    arguments.push_back({ScalarType::Int32, {}, {{0, 0, steps}}});
    arguments.push_back({ScalarType::Int32, {}, {{0, 0, 0}}});
    const std::int64_t launch[] = {2};
    const std::vector<std::int64_t> extents = extents_of(made->sums[0], launch, parts);
    TileArray sums{ScalarType::Float32, extents, {}};
    sums.elements.assign(static_cast<std::size_t>(parts * 128 * 64), {std::numeric_limits<double>::quiet_NaN(), 0, 0});
    arguments.push_back(std::move(sums));
    FactsOfArrays facts(6, good);
    facts[5].has_tensor_map = false;
    const auto run = [&](const ir::Kernel &kernel, std::vector<std::int64_t> blocks, bool loops) {
      ir::Kernel plan = lower_threads(lower_tiles(kernel, gpu_architecture(90)));
      plan = jit::plan(std::move(plan), {gpu_architecture(90), facts});
      ir::verify(plan, ir::Form::lowered, "plan");
      EXPECT_EQ(has_product_loops(plan), loops);
      const auto expected = run_structured(kernel, blocks, arguments);
      const auto got = test::run_lowered(plan, blocks, arguments, {test::ThreadOrder::Kind::Random, 3}).arguments;
      for (const std::size_t set : {std::size_t{2}, std::size_t{5}})
        for (std::size_t k = 0; k < expected[set].elements.size(); ++k)
          ASSERT_TRUE(got[set].elements[k].value == expected[set].elements[k].value ||
                      std::isnan(expected[set].elements[k].value))
              << set << ' ' << k;
      arguments = expected;
    };
    run(made->parts, {parts, 2}, true);
    for (const auto &element : arguments[5].elements) ASSERT_FALSE(std::isnan(element.value));
    run(made->rest, {2}, false);
  }
}

TEST(SplitSums, TheLoopIsOfThePartsAndAllElseOfTheRest) {
  const auto made = split(
      product_text("%20: tile<f32, 4, 6> = load @x[%2, %3] ", "%10: tile<f32, 4, 6> = matmul %8, %9, %5 ", "%20"));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->parts.launch_rank, 3);
  EXPECT_EQ(made->rest.launch_rank, 2);
  EXPECT_EQ(made->parts.parameters, made->rest.parameters);
  EXPECT_THAT(made->sums, ElementsAre(PartialSums{4, ScalarType::Float32, 4, 6}));
  const std::string parts = ir::to_string(made->parts), rest = ir::to_string(made->rest);
  EXPECT_THAT(parts, testing::AllOf(HasSubstr("matmul"), HasSubstr("stages 2"), HasSubstr("store @sums_1["),
                                    Not(HasSubstr("@x[")), Not(HasSubstr("@c["))));
  EXPECT_THAT(rest, testing::AllOf(HasSubstr("load @sums_1["), HasSubstr("@x["), HasSubstr("store @c["),
                                   Not(HasSubstr("matmul")), Not(HasSubstr("@a["))));
  EXPECT_THAT(rest, HasSubstr("for "));
  EXPECT_THAT(ir::to_string(split(product_text(), 16)->rest), Not(HasSubstr("for ")));
  EXPECT_THAT(ir::to_string(split(product_text(), 17)->rest), HasSubstr("for "));
}

TEST(SplitSums, WhereTheSumsOfPartsAre) {
  const PartialSums sums{0, ScalarType::Float32, 64, 128};
  const auto extents = [&](std::vector<std::int64_t> launch) { return extents_of(sums, launch, 5); };
  EXPECT_THAT(extents({7}), ElementsAre(5, 7 * 64, 128));
  EXPECT_THAT(extents({7, 9}), ElementsAre(5, 7 * 64, 9 * 128));
  EXPECT_THAT(extents({3, 7, 9}), ElementsAre(5, 3, 7 * 64, 9 * 128));
}

TEST(SplitSums, NotOfLoopsThatDoMoreThanAddUp) {
  const std::string whole = "%10: tile<f32, 4, 6> = matmul %8, %9, %5 ";
  EXPECT_TRUE(split(product_text("", whole)));
  // A carried value is read elsewhere, multiplied, not added to, or added to twice.
  EXPECT_FALSE(split(product_text("",
                                  "%20: tile<f32, 4, 6> = mul %5, 2.0:tile<f32, 4, 6> "
                                  "%10: tile<f32, 4, 6> = matmul %8, %9, %20 ")));
  EXPECT_FALSE(split(product_text("", "%20: tile<f32, 4, 6> = add %5, %5 %10: tile<f32, 4, 6> = matmul %8, %9, %20 ")));
  EXPECT_FALSE(split(product_text("", "%20: tile<f32, 4, 6> = matmul %8, %9, %5 %10: tile<f32, 4, 6> = add %20, %5 ")));
  EXPECT_FALSE(split(product_text("", "%10: tile<f32, 4, 6> = matmul %8, %9, 0.0:tile<f32, 4, 6> ")));
  EXPECT_FALSE(split(product_text("",
                                  "%20: f32 = reduce_max %5 %21: i32 = cast %20 %22: tile<f32, 4, 6> = load "
                                  "@x[%21, 0] " +
                                      whole)));
  // It stores to an array.
  EXPECT_FALSE(split(product_text("", whole + "store @c[%2, %3] = %10 ")));
  // It reads elements that the kernel has stored.
  EXPECT_FALSE(split(product_text("",
                                  "%20: tile<f32, 4, 6> = load @c[%2, %3] %21: tile<f32, 4, 6> = add %5, %20 "
                                  "%10: tile<f32, 4, 6> = matmul %8, %9, %21 ")));
}

TEST(SplitSums, NotWhereTheLoopIsNotAllThereIs) {
  // In a branch; after code that cannot be recomputed; one of two.
  const std::string text = product_text();
  std::string in_branch = text;
  in_branch.insert(in_branch.find("for %4"), "%40: bool = lt %0, 2 if %40 { ");
  in_branch.insert(in_branch.rfind("}"), "} ");
  EXPECT_FALSE(split(in_branch));
  EXPECT_FALSE(split(product_text("%40: f32 = atomic_add @c[0, 0], 1.0 %41: i32 = cast %40 ",
                                  "%42: tile<f32, 4, 6> = load @x[%41, 0] %43: tile<f32, 4, 6> = add %5, %42 "
                                  "%10: tile<f32, 4, 6> = matmul %8, %9, %43 ")));
  const std::string first =
      "for %50: i32 in 0 .. 2 step 1 carry (%51 -> %52: tile<f32, 4, 6> = 0.0:tile<f32, 4, 6> "
      "then %55) { %53: tile<f16, 4, 8> = load @a[%2, %50] %54: tile<f16, 8, 6> = load @b[%50, "
      "%3] %55: tile<f32, 4, 6> = matmul %53, %54, %51 } ";
  EXPECT_FALSE(split(product_text(first, "%10: tile<f32, 4, 6> = matmul %8, %9, %5 ", "%52")));
}

// As many parts as fit on the multiprocessors, each with enough iterations to pay for the second kernel.
TEST(SplitSums, InHowManyParts) {
  constexpr std::int64_t small = 64 * 64 * 4, large = 128 * 128 * 4;
  EXPECT_EQ(parts_of_sums(16, 256, small, 132), 8);
  EXPECT_EQ(parts_of_sums(16, 256, large, 132), 2) << "each block reads all of its parts";
  EXPECT_EQ(parts_of_sums(16, 256, 2 * large, 132), 1);
  EXPECT_EQ(parts_of_sums(64, 112, small, 132), 2);
  EXPECT_EQ(parts_of_sums(66, 256, small, 132), 2);
  EXPECT_EQ(parts_of_sums(67, 256, small, 132), 1) << "most multiprocessors have a block";
  EXPECT_EQ(parts_of_sums(132, 1 << 20, small, 132), 1);
  EXPECT_EQ(parts_of_sums(1, 1 << 20, 16, 132), 16);
  EXPECT_EQ(parts_of_sums(16, 64, small, 132), 8);
  EXPECT_EQ(parts_of_sums(16, 63, small, 132), 1) << "soon done";
  EXPECT_EQ(parts_of_sums(0, 100, small, 132), 1);
  EXPECT_EQ(parts_of_sums(16, 0, small, 132), 1);
  for (const int multiprocessors : {1, 20, 84, 132, 192})
    for (std::int64_t blocks = 0; blocks < 200; ++blocks)
      for (std::int64_t iterations = 0; iterations < 150; ++iterations) {
        const std::int64_t parts = parts_of_sums(blocks, iterations, small, multiprocessors);
        ASSERT_GE(parts, 1);
        if (parts == 1) continue;
        ASSERT_LE(parts * blocks, multiprocessors);
        // No part is empty.
        const std::int64_t each = (iterations + parts - 1) / parts;
        ASSERT_LT((parts - 1) * each, iterations) << blocks << ' ' << iterations;
        ASSERT_GE(each, 8);
      }
}

}  // namespace
}  // namespace samite::passes
