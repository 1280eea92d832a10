// Blocks' prefetches into the cache for later blocks.
#include "samite/passes/tiles/fetch_ahead.h"

#include "samite/jit/pipeline.h"
#include "samite/passes/analysis/launch_loops.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const FactsOfArrays dense(4, {.unit_stride = true, .unaliased = true, .aligned_rows = true});

Kernel fetched(const std::string &body, const FactsOfArrays &arrays = dense, int capability = 90,
               const jit::PlanChoices &choices = {}) {
  const Architecture &architecture = gpu_architecture(capability);
  Kernel plan = jit::plan(test::lowered_block(body), {architecture, arrays, choices});
  verify(plan, Form::lowered, "plan");
  return plan;
}
std::vector<Prefetch> fetches(const std::string &body, const FactsOfArrays &arrays = dense, int capability = 90) {
  return test::all<Prefetch>(fetched(body, arrays, capability));
}

std::string softmax_of(const std::string &window, const std::string &type = "tile<f32, 1, 2048>") {
  return "%1: " + type + " = load " + window + " %2: f32 = reduce_max %1 %3: " + type + " = broadcast %2 %4: " + type +
         " = sub %1, %3 store @y[%0, 0] = %4";
}

// Rows of 8 KB: 512 of them are 4 MB.
TEST(FetchAhead, TheWindowOfALaterBlockWithinTheLaunch) {
  const Kernel plan = fetched(softmax_of("@x[%0, 0]"));
  EXPECT_THAT(test::all<Prefetch>(plan), SizeIs(1));
  const std::string text = to_string(plan);
  EXPECT_THAT(text, testing::ContainsRegex("%[0-9]+: i32 = add %[0-9]+, 512\n"));
  EXPECT_THAT(text, HasSubstr("prefetch @x["));
  EXPECT_THAT(text, HasSubstr(", 0]: tile<f32, 1, 2048>"));
}

// A part of a vector has one index, and is one row.
TEST(FetchAhead, OfAVector) {
  const std::string text =
      "kernel @k(@x: array<const i32, 1>, @y: array<i32, 1>) blocks 1 of 256 { %0: i32 = thread_index 0 "
      "%1: i32 = mul %0, 4096 %2: tile<i32, 4096> = load @x[%1] %3: tile<i32, 4096> = scan_add 0, %2 "
      "store @y[%1] = %3 }";
  const Kernel plan = jit::plan(lower_threads(lower_tiles(parse_kernel(text), gpu_architecture(90))),
                                {gpu_architecture(90), dense, {}});
  verify(plan, Form::lowered, "plan");
  ASSERT_THAT(test::all<Prefetch>(plan), SizeIs(1));
  EXPECT_THAT(to_string(plan), testing::ContainsRegex("prefetch @x\\[%[0-9]+\\]: tile<i32, 4096>"));
}

// A launch may have fewer blocks than the array has rows, and so few that all of them begin at once.
TEST(FetchAhead, NotBehindTheLaunchsEnd) {
  const Kernel plan = fetched(softmax_of("@x[%0, 0]"));
  const For &blocks = *launch_loops(plan.body, 1).at(0);
  const If *branch = nullptr;
  for (const Stmt &stmt : blocks.body)
    if (const auto *own = stmt.as<If>()) branch = own;
  ASSERT_NE(branch, nullptr);
  ASSERT_EQ(branch->then_block.back().as<Prefetch>() != nullptr, true);
  const auto made = [&](const Value &value) {
    for (const Stmt &stmt : blocks.body)
      if (const auto *let = stmt.as<Let>(); let && Value::local(let->value.type, let->local) == value)
        return let->value;
    throw std::logic_error("nothing makes it");
  };
  const Operation both = made(branch->condition);
  ASSERT_EQ(both.op, Op::And);
  const Operation before_end = made(both.operands[0]), is_long = made(both.operands[1]);
  EXPECT_EQ(before_end.op, Op::Less);
  EXPECT_EQ(before_end.operands[1], blocks.end);
  EXPECT_EQ(is_long.op, Op::Greater);
  EXPECT_EQ(made(is_long.operands[0]).operands, (std::vector{blocks.end, blocks.begin}));
  EXPECT_EQ(is_long.operands[1], Value::constant(ScalarType::Int32, 8 * 512)) << "8 times 4 MB";
}

TEST(FetchAhead, AsFarAsAllLoadsOfABlockTogetherSay) {
  const std::string text =
      to_string(fetched("%5: i32 = mul %0, 4 %1: tile<f32, 4, 1024> = load @x[%5, 0] %2: f32 = reduce_add %1 "
                        "%3: tile<f32, 4, 1024> = load @y[%5, 1024] %4: f32 = reduce_max %3 %6: f32 = add %2, %4 "
                        "%7: tile<f32, 4, 1024> = broadcast %6 %8: tile<f32, 4, 1024> = add %1, %3 "
                        "%9: tile<f32, 4, 1024> = mul %7, %8 store @y[%5, 0] = %9"));
  EXPECT_THAT(text, HasSubstr(", 128\n")) << "blocks: twice 16 KB each";
  EXPECT_THAT(text, HasSubstr(", 512\n")) << "rows: four for each block";
}

// The loop loads the elements of the tile itself.
TEST(FetchAhead, LoopsOverElementsThatLoadATile) {
  const std::string half =
      "%5: i32 = mul %0, 4 %1: tile<f16, 4, 512> = load @h[%5, 0] "
      "%2: tile<f32, 4, 512> = cast %1 %3: tile<f32, 4, 512> = mul %2, %2 "
      "%4: f32 = reduce_add %3 %6: tile<f32, 4, 512> = broadcast %4 store @y[%5, 0] = %6";
  const std::vector<Prefetch> rows = fetches(half);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].array, 2u);
  EXPECT_EQ(rows[0].type, Type(ScalarType::Float16, TileShape({4, 512})));
  EXPECT_THAT(to_string(fetched(half)), HasSubstr(", 4096\n")) << "rows, of 1024 blocks with 4 KB each";

  const auto one = [](const std::string &window) {
    return "%1: tile<f32, 1, 2048> = load @x" + window +
           " %2: tile<f32, 1, 2048> = mul %1, %1 %3: f32 = reduce_add %2 "
           "%4: tile<f32, 1, 2048> = broadcast %3 store @y[%0, 0] = %4 ";
  };
  EXPECT_THAT(fetches(one("[%0, 0]")), SizeIs(1));
  EXPECT_THAT(fetches(one("[%0, 0]") + "%6: tile<f32, 1, 2048> = load @x[%0, 0] %7: tile<f32, 1, 2048> = add %6, 1.0:"
                                       "tile<f32, 1, 2048> store @y[%0, 2048] = %7"),
              SizeIs(1))
      << "the same window";
  EXPECT_THAT(fetches(one("[%0, 1]")), IsEmpty());
  EXPECT_THAT(fetches("%1: tile<f32, 64, 64> = load @x[%0, 0] %2: tile<f32, 64, 64> = transpose(1, 0) %1 "
                      "%3: f32 = reduce_add %2 %4: tile<f32, 64, 64> = broadcast %3 store @y[%0, 0] = %4"),
              IsEmpty());
}

TEST(FetchAhead, NotWhereElementsAreComputedOneByOne) {
  EXPECT_THAT(fetches("%1: tile<f32, 1, 2048> = load @x[%0, 0] %2: tile<f32, 1, 2048> = mul %1, %1 "
                      "store @y[%0, 0] = %2"),
              IsEmpty());
}

TEST(FetchAhead, NotWhatManyBlocksLoadNorWhatMovesInNoSteps) {
  EXPECT_THAT(fetches(softmax_of("@x[0, 0]")), IsEmpty());
  EXPECT_THAT(fetches("%5: i32 = div %0, 2 " + softmax_of("@x[%5, 0]")), IsEmpty());
  EXPECT_THAT(fetches("%5: i32 = mul %0, %0 " + softmax_of("@x[%5, 0]")), IsEmpty());
}

TEST(FetchAhead, OnlyWholeUnitsOfLongRows) {
  EXPECT_THAT(fetches(softmax_of("@x[%0, 4]")), SizeIs(1));
  EXPECT_THAT(fetches(softmax_of("@x[%0, 1]")), IsEmpty()) << "which begins in the middle of a unit";
  EXPECT_THAT(fetches(softmax_of("@x[%0, 0]"), FactsOfArrays(4, {.unit_stride = true, .unaliased = true})), IsEmpty());
  EXPECT_THAT(fetches(softmax_of("@x[%0, 0]", "tile<f32, 1, 512>")), IsEmpty()) << "2 KB of a block";
  EXPECT_THAT(fetches(softmax_of("@x[%0, 0]", "tile<f32, 64, 64>")), IsEmpty()) << "rows of 256 bytes";
  EXPECT_THAT(fetches(softmax_of("@x[%0, 0]", "tile<f32, 1, 2050>")), IsEmpty());
}

TEST(FetchAhead, NotWhereTheHardwareHasNoSuchInstructionNorInDebugMode) {
  EXPECT_THAT(fetches(softmax_of("@x[%0, 0]"), dense, 89), IsEmpty());
  EXPECT_THAT(test::all<Prefetch>(fetched(softmax_of("@x[%0, 0]"), dense, 90, {.debug = true})), IsEmpty());
}

TEST(FetchAhead, NotWhereBlocksDoLittleButLoad) {
  const std::string sum = "%1: tile<f32, 1, 2048> = load @x[%0, 0] %2: f32 = reduce_add %1 ";
  EXPECT_THAT(fetches(sum + "store @y[%0, 0] = %2"), IsEmpty());
  const auto stores = [&](int columns) {
    const std::string type = "tile<f32, 1, " + std::to_string(columns) + ">";
    return sum + "%3: " + type + " = broadcast %2 store @y[%0, 0] = %3";
  };
  EXPECT_THAT(fetches(stores(512)), SizeIs(1));
  EXPECT_THAT(fetches(stores(508)), IsEmpty());
}

// Windows of factors are those of many blocks.
TEST(FetchAhead, NotOfKernelsThatMultiply) {
  EXPECT_THAT(fetches("%5: i32 = mul %0, 64 %1: tile<f32, 64, 256> = load @x[%5, 0] "
                      "%2: tile<f32, 256, 64> = load @y[0, 0] "
                      "%3: tile<f32, 64, 64> = matmul %1, %2, 0.0:tile<f32, 64, 64> store @x[%5, 0] = %3"),
              IsEmpty());
}

}  // namespace
}  // namespace samite::passes
