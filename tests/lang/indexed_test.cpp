// Views through arrays of indices.
#include "samite/lang/indexed.h"

#include "tests/lang/captured.h"

namespace samite {
namespace {

using test::recorded;

TEST(Indexed, ReadsAndWritesThroughTheIndices) {
  EXPECT_EQ(recorded([](Array<float, 1> a, Array<const int, 1> order, Int i) {
              auto picked = indexed(a, order);
              picked(i) = 2;
              Float x = picked(picked.extent(0) - 1);
            }),
            "%0: i32 = load @p1[@p2]; store @p0[%0] = 2.0; %1: i32 = extent @p1, 0; %2: i32 = sub %1, 1; "
            "%3: i32 = load @p1[%2]; %4: f32 = load @p0[%3]");
}

TEST(Indexed, AlongOneDimensionAndThenAnother) {
  EXPECT_EQ(recorded([](Array<const float, 2> a, Array<const int, 1> rows, Array<const std::int64_t, 1> columns, Int i,
                        Int j) { Float x = indexed<1>(indexed(a, rows), columns)(i, j); }),
            "%0: i64 = load @p2[@p4]; %1: i32 = load @p1[@p3]; %2: f32 = load @p0[%1, %0]");
}

}  // namespace
}  // namespace samite
