// Which accesses of a loop over a tile in registers are done for several elements at once.
#include "samite/passes/analysis/grouped_elements.h"

#include "samite/jit/pipeline.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const FactsOfArrays dense(4, {.unit_stride = true, .unaliased = true, .aligned_rows = true});

// A product of f16, with sums in registers, and the loops over them.
struct Found {
  ir::Kernel plan;
  GroupedElements grouped;
};
Found of_product(const std::string &then, const FactsOfArrays &arrays = dense, int threads = 64) {
  Found found{jit::plan(test::lowered_block("%1: tile<f16, 64, 16> = load @h[0, 0] %2: tile<f16, 16, 64> = load "
                                            "@h[0, 0] %3: tile<f32, 64, 64> = matmul %1, %2, 0.0:tile<f32, 64, 64> " +
                                                then,
                                            threads),
                        {gpu_architecture(90), arrays}),
              {}};
  const IndexForms forms(found.plan);
  const auto spaces = test::allocations(found.plan);
  ir::for_each_statement(found.plan.body, [&](const ir::Stmt &stmt) {
    const ir::For *loop = stmt.as<ir::For>();
    if (!loop || loop->kind != ir::LoopKind::Thread) return;
    ir::for_each_statement(loop->body, [&](const ir::Stmt &inner) {
      const auto array = ir::local_array_touched(inner);
      for (const ir::Allocate &own : spaces)
        if (array == own.array && std::holds_alternative<ir::FragmentLayout>(own.layout))
          found.grouped = grouped_elements(forms, *loop, std::get<ir::FragmentLayout>(own.layout), arrays);
    });
  });
  return found;
}

TEST(GroupedElements, AStoreAlongRowsAndColumnsHasOneAddressForAThread) {
  const Found found = of_product("store @x[@n, 8] = %3");
  ASSERT_THAT(found.grouped.stores, SizeIs(1));
  EXPECT_EQ(found.grouped.stores[0].access->array, 0u);
  EXPECT_THAT(found.grouped.stores[0].rows.value(), ElementsAre(0u));
  EXPECT_THAT(found.grouped.bounds, SizeIs(1)) << "what is outside of the array is left out";
  EXPECT_THAT(found.grouped.loads, IsEmpty());
}

TEST(GroupedElements, LoadsAreOfArraysThatTheLoopDoesNotWrite) {
  const std::string added = "%4: tile<f32, 64, 64> = load @y[0, 0] %5: tile<f32, 64, 64> = add %3, %4 store ";
  const Found apart = of_product(added + "@x[0, 0] = %5");
  EXPECT_THAT(apart.grouped.stores, SizeIs(1));
  EXPECT_THAT(of_product("store @x[0, 0] = %3", FactsOfArrays(4)).grouped.stores, IsEmpty())
      << "elements that do not lie one after another";
}

TEST(GroupedElements, FourPiecesSideBySideOf16BitsAreStoredTogether) {
  const Found wide = of_product("store @x[0, 0] = %3");
  ASSERT_THAT(wide.grouped.stores, SizeIs(1));
  EXPECT_FALSE(wide.grouped.stores[0].in_quads);
  const Found narrow = of_product("%4: tile<f16, 64, 64> = cast %3 store @h[0, 0] = %4");
  ASSERT_THAT(narrow.grouped.stores, SizeIs(1));
  EXPECT_TRUE(narrow.grouped.stores[0].in_quads);
}

// No run-time check remains if the array's rows begin with units and the first column is a multiple of one.
TEST(GroupedElements, WhetherUnitsAreWholeIsKnownOfTheFirstColumn) {
  const auto known = [](const std::string &then, const FactsOfArrays &arrays = dense) {
    const GroupedElements found = of_product(then, arrays).grouped;
    return found.stores.size() == 1 ? found.stores[0].in_units : found.additions.at(0).in_units;
  };
  const std::string narrow = "%4: tile<f16, 64, 64> = cast %3 ";
  EXPECT_TRUE(known("store @x[@n, 0] = %3")) << "two f32 of a row";
  EXPECT_TRUE(known("store @x[@n, 6] = %3"));
  EXPECT_TRUE(known("store @x[@n, -2] = %3"));
  EXPECT_FALSE(known("store @x[@n, 7] = %3"));
  EXPECT_FALSE(known("store @x[0, @n] = %3"));
  EXPECT_TRUE(known("%5: i32 = mul @n, 64 store @x[0, %5] = %3"));
  EXPECT_TRUE(known("%5: i32 = mul @n, 64 %6: i32 = sub 4, %5 store @x[0, %6] = %3"));
  EXPECT_FALSE(known("%5: i32 = mul @n, 64 %6: i32 = div %5, 64 store @x[0, %6] = %3"));
  EXPECT_TRUE(known(narrow + "store @h[0, 8] = %4")) << "eight f16";
  EXPECT_FALSE(known(narrow + "store @h[0, 4] = %4"));
  EXPECT_TRUE(known("accumulate @x[0, 2] += %3"));
  EXPECT_FALSE(known("accumulate @x[0, 1] += %3"));
  EXPECT_FALSE(known("store @x[0, 0] = %3", FactsOfArrays(4, {.unit_stride = true, .unaliased = true})))
      << "rows that begin anywhere";
}

// The store rounds them, as it would the rounded ones.
TEST(GroupedElements, WhatIsRoundedFromF32IsStoredAsItWas) {
  const Found narrow = of_product("%4: tile<f16, 64, 64> = cast %3 store @h[0, 0] = %4");
  ASSERT_TRUE(narrow.grouped.stores.at(0).unrounded);
  EXPECT_EQ(narrow.grouped.stores[0].unrounded->type(), ir::Type(ScalarType::Float32));
  EXPECT_EQ(narrow.grouped.stores[0].access->value.type(), ir::Type(ScalarType::Float16));
  const auto rounds = [](const std::string &after) { return of_product(after).grouped.stores.at(0).unrounded; };
  EXPECT_FALSE(rounds("store @x[0, 0] = %3"));
  EXPECT_FALSE(rounds("%4: tile<f16, 64, 64> = cast %3 %5: tile<f16, 64, 64> = neg %4 store @h[0, 0] = %5"))
      << "an operation on rounded numbers";
  EXPECT_FALSE(rounds("%4: tile<f64, 64, 64> = cast %3 %5: tile<f16, 64, 64> = cast %4 store @h[0, 0] = %5"))
      << "from f64";
}

TEST(GroupedElements, AdditionsGoTogetherWhereNothingElseTouchesTheArray) {
  const Found alone = of_product("accumulate @x[@n, 8] += %3");
  ASSERT_THAT(alone.grouped.additions, SizeIs(1));
  EXPECT_FALSE(alone.grouped.additions[0].in_quads);
  EXPECT_THAT(alone.grouped.additions[0].rows.value(), ElementsAre(0u));
  EXPECT_TRUE(alone.grouped.rotates);
  EXPECT_TRUE(of_product("%4: tile<f16, 64, 64> = cast %3 accumulate @h[0, 0] += %4").grouped.additions.at(0).in_quads);

  // Others add, too: each element in a step of its own, which the hardware has for several neighbours of these types.
  ASSERT_THAT(of_product("accumulate atomic @x[0, 0] += %3").grouped.additions, SizeIs(1));
  const Found halves = of_product("%4: tile<f16, 64, 64> = cast %3 accumulate atomic @h[0, 0] += %4");
  ASSERT_THAT(halves.grouped.additions, SizeIs(1));
  EXPECT_FALSE(halves.grouped.additions[0].in_quads);
  EXPECT_THAT(of_product("accumulate @x[0, 0] += %3", FactsOfArrays(4)).grouped.additions, IsEmpty())
      << "elements that do not lie one after another";
  EXPECT_THAT(of_product("%4: tile<f32, 64, 64> = load @x[0, 0] %5: tile<f32, 64, 64> = add %3, %4 "
                         "accumulate @x[0, 0] += %5")
                  .grouped.additions,
              IsEmpty())
      << "the loop reads it";
  EXPECT_THAT(of_product("%4: tile<f32, 64, 64> = transpose(1, 0) %3 accumulate @x[0, 0] += %4").grouped.additions,
              IsEmpty());
}

// Arrays with rows that end with a unit of 16 bytes: each group is inside or outside as a whole.
FactsOfArrays ending_with_units(std::int64_t divisor) {
  FactsOfArrays arrays = dense;
  for (ArrayFacts &facts : arrays) facts.aligned_rows = true, facts.row_divisor = divisor;
  return arrays;
}

TEST(GroupedElements, GoInPacksWhereEachIsInsideOrOutside) {
  const auto in_packs = [](const std::string &then, std::int64_t divisor = 4) {
    return of_product(then, ending_with_units(divisor), 128).grouped.in_packs;
  };
  const Found found = of_product("store @x[0, 0] = %3", ending_with_units(4), 128);
  EXPECT_TRUE(found.grouped.in_packs);
  EXPECT_TRUE(found.grouped.once);
  EXPECT_FALSE(found.grouped.rotates);
  EXPECT_TRUE(in_packs("accumulate atomic @x[0, 0] += %3"));

  EXPECT_FALSE(in_packs("store @x[0, 0] = %3", 1)) << "a row may end anywhere";
  EXPECT_FALSE(of_product("store @x[0, 0] = %3", ending_with_units(4), 64).grouped.in_packs) << "a thread has 32";
  EXPECT_FALSE(in_packs("store @x[0, @n] = %3")) << "nor where the window does";
  EXPECT_FALSE(in_packs("accumulate @x[0, 0] += %3")) << "additions that wait for others";
  EXPECT_FALSE(in_packs("%4: tile<f16, 64, 64> = cast %3 store @h[0, 0] = %4")) << "stored in quads";
}

TEST(GroupedElements, WhereBoundsAreAskedForElementsGoAroundInTheirRegisters) {
  EXPECT_TRUE(of_product("store @x[0, 0] = %3").grouped.rotates);
  EXPECT_FALSE(GroupedElements().rotates);
}

// A mask that holds for a whole tile is tested once; elements are then selected without it.
TEST(GroupedElements, ConditionsThatHoldOfAWholeTileAreAskedForAtItsCorners) {
  const std::string columns = "%10: tile<i32, 64, 64> = coordinate 1 ", rows = "%11: tile<i32, 64, 64> = coordinate 0 ",
                    number = "%12: tile<i32, 64, 64> = broadcast @n ";
  const auto selected = [&](const std::string &condition) {
    return of_product(columns + rows + number + condition +
                      " %14: tile<f32, 64, 64> = select %13, %3, 0.0:tile<f32, 64, 64> "
                      "%15: tile<f32, 64, 1> = reduce_add %14 store @x[0, 0] = %15")
        .grouped;
  };
  const GroupedElements bound = selected("%13: tile<bool, 64, 64> = lt %10, %12");
  EXPECT_THAT(bound.bounds, SizeIs(1));
  EXPECT_FALSE(bound.all_corners) << "columns grow from the first element to the last";
  EXPECT_FALSE(bound.rotates) << "a few instructions for each element";
  const GroupedElements causal = selected("%13: tile<bool, 64, 64> = le %10, %11");
  EXPECT_THAT(causal.bounds, SizeIs(1));
  EXPECT_TRUE(causal.all_corners) << "the first and the last element are on the diagonal";
  EXPECT_THAT(selected("%16: tile<i32, 64, 64> = mul %10, %10 %13: tile<bool, 64, 64> = lt %16, %12").bounds,
              IsEmpty());
  EXPECT_THAT(selected("%13: tile<bool, 64, 64> = eq %10, %11").bounds, IsEmpty());
}

TEST(GroupedElements, AnotherWayThroughTheArrayIsNone) {
  EXPECT_THAT(of_product("%4: tile<f32, 64, 64> = transpose(1, 0) %3 store @x[0, 0] = %4").grouped.stores, IsEmpty());
}

}  // namespace
}  // namespace samite::passes
