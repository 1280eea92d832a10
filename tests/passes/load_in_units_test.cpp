// Which loads of tiles move units of 16 bytes.
#include "samite/jit/pipeline.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::ElementsAre;

constexpr ArrayFacts in_rows{.unit_stride = true, .unaliased = true, .aligned_rows = true};

std::vector<bool> in_units(const std::string &body, ArrayFacts facts = in_rows) {
  const ir::Kernel plan = jit::plan(test::lowered_block(body), {gpu_architecture(90), FactsOfArrays(4, facts)});
  ir::verify(plan, ir::Form::lowered, "load_in_units");
  std::vector<bool> found;
  for (const ir::TileLoad &load : test::all<ir::TileLoad>(plan))
    if (!load.stream) found.push_back(load.in_units);
  for (const ir::LoadStream &stream : test::all<ir::LoadStream>(plan)) found.push_back(stream.in_units);
  return found;
}

std::string load_from(const std::string &column) {
  return "%1: i32 = mul @n, 4 %2: i32 = add %1, 2 %3: tile<f32, 8, 64> = load @x[@n, " + column +
         "] %4: f32 = reduce_add %3 store @y[0, 0] = %4";
}

TEST(LoadInUnits, AreThoseWhoseColumnIsAMultiple) {
  EXPECT_THAT(in_units(load_from("0")), ElementsAre(true));
  EXPECT_THAT(in_units(load_from("%1")), ElementsAre(true)) << "four f32 are a unit, also where 4 n wraps around";
  EXPECT_THAT(in_units(load_from("%2")), ElementsAre(false));
  EXPECT_THAT(in_units(load_from("@n")), ElementsAre(false));
  EXPECT_THAT(in_units(load_from("-8")), ElementsAre(true));
}

TEST(LoadInUnits, AreOfRowsThatBeginWithUnits) {
  ArrayFacts apart = in_rows, anywhere = in_rows;
  apart.unit_stride = false;
  anywhere.aligned_rows = false;
  EXPECT_THAT(in_units(load_from("0"), apart), ElementsAre(false));
  EXPECT_THAT(in_units(load_from("0"), anywhere), ElementsAre(false));
}

TEST(LoadInUnits, StreamsAreWhereTheirFirstWindowIs) {
  const std::vector<bool> found = in_units(test::pipelined_product);
  EXPECT_FALSE(found.empty());
  for (const bool units : found) EXPECT_TRUE(units);
  for (const bool units : in_units(test::pipelined_product, {.unaliased = true})) EXPECT_FALSE(units);
}

// The first factor's windows are one column, and eight, from each other: those of the second, as many rows.
TEST(LoadInUnits, StreamsGoOnInWholeUnits) {
  const auto streams = [](const std::string &columns) {
    std::string text = test::pipelined_product;
    text.replace(text.find("mul %1, 16"), 10, "mul %1, " + columns);
    const ir::Kernel plan = jit::plan(test::lowered_block(text), {gpu_architecture(90), FactsOfArrays(4, in_rows)});
    std::vector<bool> found;
    for (const ir::LoadStream &stream : test::all<ir::LoadStream>(plan)) found.push_back(stream.in_units);
    return found;
  };
  EXPECT_THAT(streams("1"), ElementsAre(false, true));
  EXPECT_THAT(streams("4"), ElementsAre(false, true));
  EXPECT_THAT(streams("8"), ElementsAre(true, true));
}

TEST(LoadInUnits, AreReadBackAsPrinted) {
  const ir::Kernel plan =
      jit::plan(test::lowered_block(test::pipelined_product), {gpu_architecture(90), FactsOfArrays(4, in_rows)});
  const std::string text = ir::to_string(plan);
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
  EXPECT_NE(text.find(" in_units"), std::string::npos) << text;
}

}  // namespace
}  // namespace samite::passes
