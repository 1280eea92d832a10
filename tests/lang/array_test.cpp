// Array elements, indices and extents.

#include "samite/lang/array.h"

#include "samite/base/error.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

namespace samite {
namespace {

using test::captured;
using test::difference;
using test::recorded;
using ::testing::HasSubstr;

TEST(Array, ReadingLoadsAndAssigningStores) {
  EXPECT_EQ(recorded([](Array<float, 1> out, Array<const float, 1> in, Int i) {
              Float x = in(i);
              out(i) = x;
              out(0) = in(1);
              out(i) = 2;
            }),
            "%0: f32 = load @p1[@p2]; store @p0[@p2] = %0; %1: f32 = load @p1[1:i64]; store @p0[0:i64] = %1; "
            "store @p0[@p2] = 2.0");
}

TEST(Array, HasOneToFourDimensions) {
  EXPECT_EQ(recorded([](Array<int, 2> b, Array<int, 3> c, Array<int, 4> d, Int i, Int j) {
              b(i, j) = c(j, i, 1);
              d(i, 0, j, 1) = b(0, i);
            }),
            "%0: i32 = load @p1[@p4, @p3, 1:i64]; store @p0[@p3, @p4] = %0; %1: i32 = load @p0[0:i64, @p3]; "
            "store @p2[@p3, 0:i64, @p4, 1:i64] = %1");
}

TEST(Array, AValueThatPromotesIsCastWhenStored) {
  EXPECT_EQ(recorded([](Array<double, 1> out, Array<const float, 1> in, Int n) {
              out(0) = in(0);
              out(1) = n;
            }),
            "%0: f32 = load @p1[0:i64]; %1: f64 = cast %0; store @p0[0:i64] = %1; %2: f64 = cast @p2; "
            "store @p0[1:i64] = %2");
}

TEST(Array, CompoundAssignmentLoadsComputesAndStores) {
  EXPECT_EQ(recorded([](Array<float, 1> a, Float x) { a(0) += x; }),
            "%0: f32 = load @p0[0:i64]; %1: f32 = add %0, @p1; store @p0[0:i64] = %1");
  EXPECT_EQ(recorded([](Array<float, 1> a, Float x) { a(0) -= x; }),
            "%0: f32 = load @p0[0:i64]; %1: f32 = sub %0, @p1; store @p0[0:i64] = %1");
  EXPECT_EQ(recorded([](Array<float, 1> a) { a(0) *= 2; }),
            "%0: f32 = load @p0[0:i64]; %1: f32 = mul %0, 2.0; store @p0[0:i64] = %1");
  EXPECT_EQ(recorded([](Array<float, 1> a) { a(0) /= a(1); }),
            "%0: f32 = load @p0[1:i64]; %1: f32 = load @p0[0:i64]; %2: f32 = div %1, %0; store @p0[0:i64] = %2");
}

TEST(Array, AutoIsTheElementAndFloatItsValueNow) {
  EXPECT_EQ(difference(
                [](Array<float, 1> a, Array<float, 1> out) {
                  auto element = a(0);
                  Float value = a(0);
                  element = 7;
                  out(0) = element;
                  out(1) = value;
                },
                R"(
                %0: f32 = load @p0[0:i64]
                store @p0[0:i64] = 7.0
                %1: f32 = load @p0[0:i64]
                store @p1[0:i64] = %1
                store @p1[1:i64] = %0)"),
            "");
}

TEST(Array, AnElementStaysWhereItWasThoughItsIndexMovesOn) {
  EXPECT_EQ(difference(
                [](Array<float, 1> a, Int i) {
                  auto element = a(i);
                  i += 1;
                  element = 1;
                  a(i) = 2;
                },
                "%0: i32 = add @p1, 1 store @p0[@p1] = 1.0 store @p0[%0] = 2.0"),
            "");
}

TEST(Array, AssigningAnElementToAnElementCopiesTheValue) {
  EXPECT_EQ(difference(
                [](Array<float, 1> a, Array<const float, 1> b) {
                  auto first = a(0);
                  auto second = a(1);
                  first = second;
                  a(2) = a(3) = b(0);
                },
                R"(
                %0: f32 = load @p0[1:i64]
                store @p0[0:i64] = %0
                %1: f32 = load @p1[0:i64]
                store @p0[3:i64] = %1
                %2: f32 = load @p0[3:i64]
                store @p0[2:i64] = %2)"),
            "");
}

TEST(Array, ElementsComputeLikeValues) {
  EXPECT_EQ(recorded([](Array<float, 1> a) { return -a(0) * 2; }),
            "%0: f32 = load @p0[0:i64]; %1: f32 = neg %0; %2: f32 = mul %1, 2.0");
  EXPECT_EQ(recorded([](Array<const int, 1> a, Double x) { return a(0) < x; }),
            "%0: i32 = load @p0[0:i64]; %1: f64 = cast %0; %2: bool = lt %1, @p1");
}

TEST(Index, IsAnyInteger) {
  EXPECT_EQ(recorded([](Array<float, 1> a, Int i, Int64 j) {
              a(i) = 0;
              a(j) = 0;
              a(std::size_t{3}) = 0;
            }),
            "store @p0[@p1] = 0.0; store @p0[@p2] = 0.0; store @p0[3:i64] = 0.0");
  EXPECT_EQ(recorded([](Array<float, 1> a, Int8 i, UInt16 j) { a(i) = a(j); }),
            "%0: i32 = cast @p2; %1: i32 = cast @p1; %2: f32 = load @p0[%0]; store @p0[%1] = %2");
  EXPECT_EQ(recorded([](Array<float, 1> a, UInt i, UInt64 j) { a(i) = a(j); }),
            "%0: i64 = cast @p2; %1: i64 = cast @p1; %2: f32 = load @p0[%0]; store @p0[%1] = %2");
}

TEST(Index, MayBeAnElement) {
  EXPECT_EQ(recorded([](Array<float, 1> a, Array<const int, 1> map, Array<std::uint8_t, 1> bytes) {
              a(map(0)) = a(bytes(1));
            }),
            "%0: u8 = load @p2[1:i64]; %1: i32 = cast %0; %2: i32 = load @p1[0:i64]; %3: f32 = load @p0[%1]; "
            "store @p0[%2] = %3");
}

template <class I>
concept Indexes = requires(Array<float, 1> a, I i) { a(i); };

TEST(Index, IsNeitherFloatingNorBool) {
  EXPECT_TRUE(Indexes<Int>);
  EXPECT_TRUE(Indexes<Element<const int>>);
  EXPECT_FALSE(Indexes<Float>);
  EXPECT_FALSE(Indexes<float>);
  EXPECT_FALSE(Indexes<Bool>);
  EXPECT_FALSE(Indexes<bool>);
  EXPECT_FALSE(Indexes<Element<float>>);
  EXPECT_FALSE(Indexes<Element<bool>>);
  EXPECT_FALSE(Indexes<Element<const bool>>);
}

TEST(Extent, IsAnInt) {
  EXPECT_EQ(recorded([](Array<const float, 3> a) { return a.extent(2) - 1; }),
            "%0: i32 = extent @p0, 2; %1: i32 = sub %0, 1");
}

TEST(Extent, OfADimensionThatIsNotThereIsAnErrorThatNamesTheLine) {
  unsigned line = 0;
  std::string message = message_of<UserError>([&] {
    captured([&](Array<float, 2> a) {
      line = __LINE__ + 1;
      return a.extent(2);
    });
  });
  EXPECT_THAT(message, HasSubstr("array_test.cpp:" + std::to_string(line) +
                                 ": extent(2) of an array of rank 2; dimensions are 0 to 1"));
  EXPECT_THAT(message_of<UserError>([] { captured([](Array<float, 1> a) { return a.extent(-1); }); }),
              HasSubstr("extent(-1) of an array of rank 1"));
}

TEST(Interior, HasANeighbourOnEachSideInEachDimension) {
  EXPECT_EQ(difference([](Array<float, 2> a, Int i, Int j) { if_(interior(a, i, j), [&] { a(i, j) = 1; }); },
                       R"(
      %0: i32 = extent @p0, 0
      %1: i32 = extent @p0, 1
      %2: i32 = sub %0, 1
      %3: bool = gt @p1, 0
      %4: bool = lt @p1, %2
      %5: bool = and %3, %4
      %6: i32 = sub %1, 1
      %7: bool = gt @p2, 0
      %8: bool = lt @p2, %6
      %9: bool = and %5, %7
      %10: bool = and %9, %8
      if %10 { store @p0[@p1, @p2] = 1.0 })"),
            "");
}

TEST(Interior, TakesAnyIndices) {
  EXPECT_EQ(difference([](Array<const float, 1> a, Array<bool, 1> out, Int64 i) { out(0) = interior(a, i); },
                       R"(
      %0: i32 = extent @p0, 0
      %1: i64 = cast %0
      %2: i64 = sub %1, 1:i64
      %3: bool = gt @p2, 0:i64
      %4: bool = lt @p2, %2
      %5: bool = and %3, %4
      store @p1[0:i64] = %5)"),
            "");
  EXPECT_EQ(captured([](Array<const float, 3> a, Int8 k, UInt j) { return interior(a, k, j, 1); }).launch_rank, 1);
}

}  // namespace
}  // namespace samite
