// Loops of products by bulk copies: the loops that become one, with unchanged results.
#include "samite/passes/sm90/product_loops.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/factor_copies.h"
#include "samite/passes/tiles/lower_tiles.h"
#include "samite/passes/tiles/place_tiles.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

#include <array>

namespace samite::passes {
namespace {

using namespace test::product_loops;

using ::testing::HasSubstr;

const Architecture &hopper() { return gpu_architecture(90); }

std::string why_not(const std::string &text, const FactsOfArrays &facts = FactsOfArrays(5, good)) {
  const std::vector<WayOfProduct> ways = ways_of_products(product_loops(lowered(text), hopper(), facts));
  return ways.size() == 1 ? ways[0].why_not : "no product";
}

std::size_t count_of_loops(const ir::Kernel &kernel) { return test::all<ir::MainLoop>(kernel).size(); }

TEST(ProductLoops, OneCallWithABufferOfEachFactorForEachStage) {
  const std::string text = kernel_text({.rows = 128, .columns = 256, .inner = 64, .threads = 256, .stages = 4});
  EXPECT_EQ(why_not(text), "");
  ir::Kernel kernel = product_loops(lowered(text), hopper(), FactsOfArrays(5, good));
  ir::verify(kernel, ir::Form::lowered, "product_loops");
  EXPECT_EQ(count_of_loops(kernel), 1u);
  EXPECT_TRUE(test::all<ir::For>(kernel).size() > 0);
  kernel = place_tiles(std::move(kernel), hopper());
  EXPECT_THAT(test::memory(kernel), HasSubstr("registers f32[32768] fragments(group_matrices, 128, 256, 2, 1)"));
  EXPECT_THAT(test::memory(kernel), HasSubstr("shared f16[8192] panels(128, 64) stages 4"));
  EXPECT_THAT(test::memory(kernel), HasSubstr("shared f16[16384] panels(64, 256) stages 4"));
  EXPECT_THAT(test::memory(kernel), HasSubstr("shared u64[8] linear"));
  const TileMemoryPlan plan = plan_tile_memory(kernel);
  EXPECT_EQ(plan.bytes, 4 * (16384 + 32768) + 64);
  for (const PlacedTile &tile : plan.tiles) EXPECT_EQ(tile.offset % (tile.stages > 1 ? 1024 : 8), 0);
  const std::vector<TensorMapNeeded> maps = tensor_maps(kernel);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0], (TensorMapNeeded{0, ScalarType::Float16, 2, 128, 64}));
  EXPECT_EQ(maps[1], (TensorMapNeeded{1, ScalarType::Float16, 2, 64, 64}));
}

TEST(ProductLoops, OfTransposesWhereTermsOfBDoNotLieTogetherOrLessIsLoadedSo) {
  const auto memory = [](const ProductShape &shape) {
    ir::Kernel kernel = product_loops(lowered(kernel_text(shape)), hopper(), FactsOfArrays(5, good));
    EXPECT_EQ(count_of_loops(kernel), 1u);
    return test::memory(place_tiles(std::move(kernel), hopper()));
  };
  ProductShape shape{.rows = 256, .columns = 128, .inner = 32, .threads = 256, .type = "f32", .tf32 = true};
  EXPECT_THAT(memory(shape), HasSubstr("registers f32[32768] fragments(transposed_group_matrices, 256, 128, 1, 2)"));
  EXPECT_THAT(memory(shape), HasSubstr("shared f32[8192] panels(256, 32) stages 3"));
  EXPECT_THAT(memory(shape), HasSubstr("shared f32[4096] panels(32, 128) stages 3"));
  shape.columns = 64;
  EXPECT_THAT(memory(shape), HasSubstr("fragments(transposed_group_matrices, 256, 64, 2, 1)"));
  shape.b_transposed = true;
  EXPECT_THAT(memory(shape), HasSubstr("fragments(transposed_group_matrices, 256, 64, 2, 1)"));
  EXPECT_THAT(memory(shape), HasSubstr("shared f32[2048] panels(64, 32) stages 3"));
  shape.columns = 128;
  EXPECT_THAT(memory(shape), HasSubstr("fragments(transposed_group_matrices, 256, 128, 1, 2)"));
  shape.rows = 128;
  EXPECT_THAT(memory(shape), HasSubstr("fragments(group_matrices, 128, 128, 2, 1)")) << "as much is loaded";
  shape.columns = 256;
  EXPECT_THAT(memory(shape), HasSubstr("fragments(group_matrices, 128, 256, 2, 1)"));
  shape = {.rows = 256, .columns = 128, .inner = 64, .b_transposed = true, .threads = 256};
  EXPECT_THAT(memory(shape), HasSubstr("fragments(group_matrices, 256, 128, 2, 1)")) << "factors of 16 bits";
  shape = {.rows = 64, .columns = 128, .inner = 128, .type = "f32", .tf32 = true};
  EXPECT_NE(why_not(kernel_text(shape)), "") << "two steps of b take 256 registers";
  shape.columns = 64;
  EXPECT_EQ(why_not(kernel_text(shape)), "");
}

// Warp groups read beyond the last stage of the first factor: that is memory of the block, wherever the stage is
// placed.
TEST(ProductLoops, ReadFewRowsWithinTheBlocksMemory) {
  for (const std::int64_t rows : {8, 16, 40, 64})
    for (const std::int64_t columns : {8, 64}) {
      const ProductShape shape{.rows = rows, .columns = columns, .inner = 64, .b_transposed = true};
      const ir::Kernel kernel =
          place_tiles(product_loops(lowered(kernel_text(shape)), hopper(), FactsOfArrays(5, good)), hopper());
      ASSERT_EQ(count_of_loops(kernel), 1u);
      const TileMemoryPlan plan = plan_tile_memory(kernel);
      const auto a = std::ranges::find(plan.tiles, rows * 64, &PlacedTile::elements);
      ASSERT_NE(a, plan.tiles.end());
      EXPECT_GE(plan.bytes, a->offset + a->bytes + (64 - rows) * 128) << rows << ' ' << columns;
    }
}

TEST(ProductLoops, PrintAsTheyAreParsed) {
  const ir::Kernel kernel =
      jit::plan(lowered(kernel_text({.rows = 64, .columns = 64, .inner = 64})), {hopper(), FactsOfArrays(5, good)});
  const std::string text = ir::to_string(kernel);
  EXPECT_THAT(text, HasSubstr("main_loop "));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

TEST(ProductLoops, AlsoWhereTheyAreNotSaidToBePipelined) {
  const std::string text = kernel_text({.rows = 128, .columns = 128, .inner = 64, .threads = 256, .stages = 1});
  EXPECT_EQ(count_of_loops(product_loops(lowered(text), hopper(), FactsOfArrays(5, good))), 0u);
  EXPECT_EQ(count_of_loops(product_loops(lowered(text), hopper(), FactsOfArrays(5, good), {.stages_of_others = 3})),
            1u);
  const ir::Kernel planned = jit::plan(lowered(text), {hopper(), FactsOfArrays(5, good)});
  EXPECT_EQ(count_of_loops(planned), 1u);
  EXPECT_THAT(test::memory(planned), HasSubstr("stages 4"));
  // Two stages of these are all that a block has room for.
  const std::string large = kernel_text({.rows = 128, .columns = 256, .inner = 128, .threads = 256, .stages = 1});
  EXPECT_THAT(test::memory(jit::plan(lowered(large), {hopper(), FactsOfArrays(5, good)})), HasSubstr("stages 2"));
}

// Each product that is in no main loop has the reason, through all later steps.
TEST(ProductLoops, OtherProductsHaveTheReason) {
  EXPECT_EQ(why_not(kernel_text({.rows = 128, .columns = 128, .inner = 64, .threads = 256, .stages = 1})),
            "its loop is not pipelined");
  const auto why_planned = [](const ir::Kernel &kernel) {
    const std::string text = ir::to_string(kernel);
    EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
    const std::vector<WayOfProduct> ways = ways_of_products(kernel);
    return ways.size() == 1 ? ways[0].why_not : "no product";
  };
  const auto planned = [](const ProductShape &shape, jit::PlanChoices choices = {}) {
    return jit::plan(lowered(kernel_text(shape)), {hopper(), FactsOfArrays(5, good), choices});
  };
  EXPECT_EQ(why_planned(planned({.rows = 128, .columns = 256, .inner = 128, .threads = 256, .stages = 8})),
            "a block's shared memory has no room for its buffers");
  EXPECT_THAT(why_planned(planned({.rows = 64, .columns = 64, .inner = 16, .type = "f64", .sums = "f64"})),
              HasSubstr("do not multiply f64"))
      << "its threads copy the windows";
  EXPECT_EQ(why_planned(planned({.rows = 64, .columns = 64, .inner = 64}, {.debug = true})), "no product")
      << "nothing has looked for one";
  ir::Kernel in_shared = lowered(kernel_text({.rows = 64, .columns = 64, .inner = 64}));
  in_shared.sums_in_shared = true;
  EXPECT_EQ(why_planned(product_loops(in_shared, hopper(), FactsOfArrays(5, good))),
            "sums are asked for in shared memory");
}

// One trial if the requested stages fit, or cannot fit, and otherwise a second one that is known to fit.
TEST(ProductLoops, TakeFewTrials) {
  const auto trials = [](const ProductShape &shape) {
    int count = 0;
    jit::plan(lowered(kernel_text(shape)), {hopper(), FactsOfArrays(5, good), {}, /*trial=*/false, &count});
    return count;
  };
  EXPECT_EQ(trials({.rows = 128, .columns = 128, .inner = 64, .threads = 256, .stages = 4}), 1);
  EXPECT_EQ(trials({.rows = 128, .columns = 128, .inner = 64, .threads = 256, .stages = 1}), 1);
  EXPECT_EQ(trials({.rows = 128, .columns = 256, .inner = 128, .threads = 256, .stages = 1}), 2)
      << "two stages of four";
  EXPECT_EQ(trials({.rows = 128, .columns = 256, .inner = 128, .threads = 256, .stages = 8}), 1) << "they do not fit";
  EXPECT_EQ(trials({.rows = 20, .columns = 20, .inner = 20}), 0) << "it is no main loop";
}

TEST(ProductLoops, OnNoOtherArchitectureAndNotInDebugMode) {
  const std::string text = kernel_text({.rows = 64, .columns = 64, .inner = 64});
  for (const int capability : {80, 89, 100, 120})
    EXPECT_EQ(count_of_loops(jit::plan(lowered(text), {gpu_architecture(capability), FactsOfArrays(5, good)})), 0u);
  EXPECT_EQ(count_of_loops(jit::plan(lowered(text), {hopper(), FactsOfArrays(5, good), {.debug = true}})), 0u);
  EXPECT_EQ(count_of_loops(jit::plan(lowered(text), {hopper(), FactsOfArrays(5, good)})), 1u);
}

TEST(ProductLoops, SayWhyNot) {
  const ProductShape shape{.rows = 64, .columns = 64, .inner = 64};
  const std::string text = kernel_text(shape);
  const auto with = [&](ArrayFacts facts) {
    FactsOfArrays all(5, good);
    all[0] = facts;
    EXPECT_EQ(count_of_loops(product_loops(lowered(text), hopper(), all)), 0u);
    return why_not(text, all);
  };
  ArrayFacts facts = good;
  facts.aligned_rows = false;
  EXPECT_EQ(with(facts), "rows of 'a' do not all begin at multiples of 16 bytes");
  facts = good, facts.unit_stride = false;
  EXPECT_EQ(with(facts), "elements of the rows of 'a' do not lie one after another");
  facts = good, facts.unaliased = false;
  EXPECT_EQ(with(facts), "'a' may share memory with an array that the kernel writes to");
  facts = good, facts.has_tensor_map = false;
  EXPECT_EQ(with(facts), "strides or extents of 'a' are not such as bulk copies take");

  EXPECT_THAT(why_not(kernel_text({.rows = 64, .columns = 64, .inner = 32})),
              HasSubstr("rows of windows of 'a' have 64 bytes; multiples of 128 are needed"));
  EXPECT_THAT(why_not(kernel_text({.rows = 72, .columns = 64, .inner = 64})), HasSubstr("128 threads cannot share"));
  EXPECT_THAT(why_not(kernel_text({.rows = 64, .columns = 64, .inner = 64, .threads = 96})),
              HasSubstr("96 threads cannot share"));
  // Groups would begin within a panel of b; 512 threads have no registers for this many sums.
  for (const ProductShape &shared : {ProductShape{.rows = 64, .columns = 64, .inner = 64, .threads = 256},
                                     ProductShape{.rows = 192, .columns = 256, .inner = 64, .threads = 384}})
    EXPECT_THAT(why_not(kernel_text(shared)), HasSubstr("threads cannot share"));
  EXPECT_THAT(why_not(kernel_text({.rows = 64, .columns = 64, .inner = 32, .type = "f64", .sums = "f64"})),
              HasSubstr("do not multiply f64"));
  EXPECT_THAT(why_not(kernel_text({.rows = 64, .columns = 64, .inner = 32, .type = "f32"})),
              HasSubstr("do not multiply f32"));
  ProductShape tf32{.rows = 64, .columns = 96, .inner = 32, .type = "f32", .tf32 = true};
  const std::string together = "must lie with the terms of each sum one after another";
  EXPECT_THAT(why_not(kernel_text(tf32)), HasSubstr(together)) << "96 columns are not whole 64";
  tf32.b_transposed = true;
  EXPECT_EQ(why_not(kernel_text(tf32)), "");
  tf32 = {.rows = 64, .columns = 64, .inner = 32, .type = "f32", .tf32 = true};
  EXPECT_EQ(why_not(kernel_text(tf32)), "") << "the transposes are multiplied";
  tf32.a_transposed = true;
  EXPECT_THAT(why_not(kernel_text(tf32)), HasSubstr(together));
  EXPECT_THAT(why_not(kernel_text({.rows = 64, .columns = 64, .inner = 128, .type = "u8", .sums = "i32"})),
              HasSubstr(together));
  EXPECT_THAT(why_not(kernel_text(shape, "%9: tile<f16, 64, 64> = mul %4, %4 store @c[0, 0] = 1.0")),
              HasSubstr("a factor is not loaded in each iteration as it is"));
}

// Facts of arrays with copies as parameters after the others: a's, then b's.
FactsOfArrays with_copies_of(bool a_swapped, bool b_swapped) {
  FactsOfArrays facts(7, good);
  for (std::uint32_t factor : {0u, 1u}) {
    facts[factor].aligned_rows = facts[factor].has_tensor_map = false;
    const bool swapped = factor == 0 ? a_swapped : b_swapped;
    (swapped ? facts[factor].swapped_copy : facts[factor].padded_copy) = 5 + factor;
  }
  return facts;
}

test::tiles::TileArray turned(const test::tiles::TileArray &array) {
  test::tiles::TileArray made{array.type, {array.extents[1], array.extents[0]}, {}};
  for (std::int64_t i = 0; i < array.extents[1]; ++i)
    for (std::int64_t j = 0; j < array.extents[0]; ++j)
      made.elements.push_back(array.elements[static_cast<std::size_t>(j * array.extents[1] + i)]);
  return made;
}

// Computes the same from only the copies as the structured form does from the arrays.
void expect_from_copies(const ProductShape &s, bool a_swapped, bool b_swapped) {
  SCOPED_TRACE(testing::PrintToString(s));
  const FactsOfArrays facts = with_copies_of(a_swapped, b_swapped);
  const std::string text = kernel_text(s);
  const std::array copies{FactorCopy{5, 0, a_swapped}, FactorCopy{6, 1, b_swapped}};
  const ir::Kernel kernel =
      jit::plan(lower_threads(lower_tiles(with_copies(structured(text), copies), hopper())), {hopper(), facts});
  ir::verify(kernel, ir::Form::lowered, "plan");
  ASSERT_EQ(count_of_loops(kernel), 1u) << why_not(text, facts);
  std::vector<std::uint32_t> read;
  for (const TensorMapNeeded &map : tensor_maps(kernel)) read.push_back(map.array);
  EXPECT_THAT(read, ::testing::ElementsAre(5, 6));

  const ScalarType type = *scalar_type_from_name(s.type), sums = *scalar_type_from_name(s.sums);
  const std::int64_t n = 3, terms = 2 * s.inner + 9, m = s.rows + 9, columns = s.columns - 3;
  std::vector<test::tiles::TileArray> arguments{
      s.a_transposed ? array(type, terms, m, 3) : array(type, m, terms, 3),
      s.b_transposed ? array(type, columns, terms, 4) : array(type, terms, columns, 4),
      array(sums, m, columns, 5),
      {ScalarType::Int32, {}, {{0, 0, n}}},
      {ScalarType::Int32, {}, {{0, 0, 0}}}};
  const auto expected = test::tiles::run_structured(structured(text), {2}, arguments);
  arguments.push_back(a_swapped ? turned(arguments[0]) : arguments[0]);
  arguments.push_back(b_swapped ? turned(arguments[1]) : arguments[1]);
  for (std::size_t factor : {0u, 1u})
    for (test::tiles::Element &element : arguments[factor].elements) element.value = 1e9;
  const auto got = test::run_lowered(kernel, {2}, arguments, {test::ThreadOrder::Kind::Random, 1}).arguments;
  for (std::size_t k = 0; k < expected[2].elements.size(); ++k)
    ASSERT_EQ(got[2].elements[k].value, expected[2].elements[k].value) << k;
}

TEST(ProductLoops, ReadCopiesOfWhatDoesNotLieAsTheyNeed) {
  expect_from_copies({.rows = 64, .columns = 64, .inner = 64}, false, false);
  expect_from_copies({.rows = 128, .columns = 64, .inner = 64, .a_transposed = true, .threads = 256}, false, false);
  expect_from_copies({.rows = 64, .columns = 64, .inner = 64, .b_transposed = true}, false, false);
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      expect_from_copies(
          {.rows = 64, .columns = 96, .inner = 32, .a_transposed = a, .b_transposed = b, .type = "f32", .tf32 = true},
          a, !b);
  for (const bool a : {false, true})
    expect_from_copies({.rows = 64, .columns = 64, .inner = 32, .a_transposed = a, .type = "f32", .tf32 = true}, a,
                       false);
}

TEST(ProductLoops, SayWhatIsCopied) {
  const auto ways = [](const std::string &text, const FactsOfArrays &facts) {
    return ways_of_products(product_loops(lowered(text), hopper(), facts)).at(0);
  };
  const std::string text = kernel_text({.rows = 64, .columns = 64, .inner = 64});
  FactsOfArrays facts = with_copies_of(false, false);
  EXPECT_EQ(ways(text, facts).why_not, "");
  EXPECT_THAT(
      ways(text, facts).copied,
      ::testing::ElementsAre("rows of 'a' do not all begin at multiples of 16 bytes, so that it is copied first",
                             "rows of 'b' do not all begin at multiples of 16 bytes, so that it is copied first"));
  facts[0] = good, facts[0].padded_copy = 5;
  EXPECT_EQ(ways(text, facts).copied.size(), 1u) << "a lies right";
  facts[1].unaliased = false;
  EXPECT_EQ(ways(text, facts).why_not, "'b' may share memory with an array that the kernel writes to");
  EXPECT_THAT(ways(text, facts).copied, ::testing::IsEmpty());

  const std::string tf32 = kernel_text({.rows = 64, .columns = 96, .inner = 32, .type = "f32", .tf32 = true});
  EXPECT_THAT(ways(tf32, with_copies_of(false, true)).copied,
              ::testing::Contains("the terms of a sum do not lie one after another in 'b', so that it is copied first, "
                                  "with its last two dimensions exchanged"));
  EXPECT_THAT(ways(tf32, with_copies_of(false, false)).why_not, HasSubstr("one after another: a, and b transposed"))
      << "a padded copy is of no use";
}

// An iteration that does more keeps its loop, and its product is a call of one step.
TEST(ProductLoops, OneStepWhereAnIterationDoesMore) {
  const std::string text =
      kernel_text({.rows = 128, .columns = 128, .inner = 64, .threads = 256, .stages = 4, .halved = true});
  EXPECT_EQ(why_not(text), "");
  const FactsOfArrays facts(5, good);
  EXPECT_EQ(count_of_loops(product_loops(lowered(text), hopper(), facts, {.steps = false})), 0u);
  const ir::Kernel kernel = product_loops(lowered(text), hopper(), facts);
  ir::verify(kernel, ir::Form::lowered, "product_loops");
  EXPECT_TRUE(has_product_steps(kernel));
  ASSERT_EQ(count_of_loops(kernel), 1u);
  EXPECT_TRUE(test::all<ir::MainLoop>(kernel)[0].is_step());
}

// No thread would start the copies of the next steps.
TEST(ProductLoops, NoStepsWithoutWarpsThatCopy) {
  const std::string text = kernel_text({.rows = 64, .columns = 64, .inner = 64, .halved = true});
  EXPECT_EQ(count_of_loops(jit::plan(lowered(text), {hopper(), FactsOfArrays(5, good)})), 0u);
}

TEST(ProductLoops, NotOfWindowsThatBeginAnywhereInARow) {
  std::string text = kernel_text({.rows = 64, .columns = 64, .inner = 64});
  text.replace(text.find("mul @at, 16"), 11, "mul @at, 4");
  EXPECT_EQ(why_not(text), "windows of 'a' do not all begin at multiples of 16 bytes in its rows");
}

// A kernel that writes to a factor's array is unchanged, whatever is known about its arguments.
TEST(ProductLoops, NotOfArraysThatTheKernelWritesTo) {
  std::string text = kernel_text({.rows = 64, .columns = 64, .inner = 64, .type = "f16"});
  text.replace(text.find("array<const f16, 2>"), 19, "array<f16, 2>");
  text.insert(text.rfind("store"), "store @a[0, 0] = 0.0:f16 ");
  EXPECT_THAT(why_not(text), HasSubstr("the kernel writes to 'a'"));
  EXPECT_EQ(count_of_loops(product_loops(lowered(text), hopper(), FactsOfArrays(5, good))), 0u);
}

void expect_as_structured(const ProductShape &s, std::int64_t terms, std::int64_t n, std::int64_t at) {
  SCOPED_TRACE(testing::PrintToString(s));
  const std::string text = kernel_text(s);
  const ir::Kernel plan = jit::plan(lowered(text), {hopper(), FactsOfArrays(5, good)});
  ASSERT_EQ(count_of_loops(plan), 1u);
  test::product_loops::expect_as_structured(s, plan, text, terms, n, at);
}

// Windows that reach beyond the edges on all sides; no step, one, fewer than stages, more.
TEST(ProductLoops, DoWhatTheStructuredFormDoes) {
  expect_as_structured({.rows = 64, .columns = 64, .inner = 64}, 100, 2, 0);
  expect_as_structured({.rows = 64, .columns = 64, .inner = 64}, 100, 0, 0);
  expect_as_structured({.rows = 64, .columns = 64, .inner = 64}, 60, 1, -5);
  expect_as_structured({.rows = 64, .columns = 64, .inner = 64, .a_transposed = true}, 300, 5, 3);
  expect_as_structured({.rows = 128, .columns = 64, .inner = 64, .b_transposed = true, .threads = 256}, 70, 2, 0);
  expect_as_structured({.rows = 128, .columns = 64, .inner = 64, .a_transposed = true, .threads = 256}, 70, 2, 0);
  expect_as_structured({.rows = 64, .columns = 128, .inner = 64, .a_transposed = true, .threads = 256}, 70, 2, 0);
  expect_as_structured(
      {.rows = 64, .columns = 128, .inner = 64, .a_transposed = true, .b_transposed = true, .type = "bf16"}, 70, 1, 0);
  expect_as_structured({.rows = 64, .columns = 16, .inner = 32, .b_transposed = true, .type = "f32", .tf32 = true}, 70,
                       2, 0);
  expect_as_structured({.rows = 64, .columns = 16, .inner = 128, .b_transposed = true, .type = "u8", .sums = "i32"},
                       130, 1, 0);
  // Fewer rows than the instructions take.
  expect_as_structured({.rows = 8, .columns = 64, .inner = 64}, 100, 2, 0);
  expect_as_structured({.rows = 48, .columns = 128, .inner = 64, .b_transposed = true, .threads = 256}, 150, 3, 0);
  for (const std::int64_t rows : {8, 64, 256})
    for (const bool together : {false, true})
      expect_as_structured(
          {.rows = rows, .columns = 64, .inner = 32, .b_transposed = together, .type = "f32", .tf32 = true}, 70, 2, -5);
  expect_as_structured({.rows = 24, .columns = 256, .inner = 64, .threads = 256, .type = "f32", .tf32 = true}, 300, 5,
                       3);
  expect_as_structured({.rows = 96, .columns = 64, .inner = 32, .threads = 256, .type = "f32", .tf32 = true}, 70, 2, 0);
  for (const char *type : {"f8e4m3", "f8e5m2"})
    expect_as_structured({.rows = 64, .columns = 24, .inner = 128, .b_transposed = true, .type = type}, 130, 2, 0);
}

// An instruction multiplies 32 bytes of each row's terms: of 24 terms of 16 bits it would read 8 invalid ones.
TEST(ProductLoops, OfWholeInstructionsOfTerms) {
  for (const std::int64_t inner : {8, 16, 24, 32, 56}) {
    const std::string why =
        why_not(kernel_text({.rows = 128, .columns = 64, .inner = inner, .a_transposed = true, .threads = 128}));
    if (inner % 16 == 0)
      EXPECT_EQ(why, "") << inner;
    else
      EXPECT_THAT(why, HasSubstr(fmt::format("a step has {} bytes of each row's terms; multiples of 32 are needed",
                                             2 * inner)));
  }
}

TEST(ProductLoops, NamesTheWidthsBesideOneThatGroupsDoNotMultiply) {
  const auto why = [](std::int64_t columns) {
    return why_not(kernel_text({.rows = 64, .columns = columns, .inner = 64, .b_transposed = true, .threads = 128}));
  };
  EXPECT_EQ(why(80), "");
  EXPECT_THAT(why(72), HasSubstr("8 to 64 columns in eights, 80, 96, 112, 128, 160, 192, 224 or 256 each; with 64 or "
                                 "80 columns in place of 72 they might"));
  EXPECT_THAT(why(4), HasSubstr("with 8 columns in place of 4"));
}

}  // namespace
}  // namespace samite::passes
