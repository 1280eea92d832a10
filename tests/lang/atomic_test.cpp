// Atomic operations as the front end records them.
#include "samite/lang/atomic.h"

#include "tests/lang/captured.h"

namespace samite {
namespace {

using test::recorded;

TEST(Atomic, IsOneStepThatGivesTheOldValue) {
  EXPECT_EQ(recorded([](Array<float, 1> a, Array<int, 1> counts, Float x, Int i) {
              atomic_add(a(i), x);
              counts(1) = atomic_add(counts(0), 1);
            }),
            "%0: f32 = atomic_add @p0[@p3], @p2; %1: i32 = atomic_add @p1[0:i64], 1; store @p1[1:i64] = %1");
}

TEST(Atomic, SubtractionAddsTheOpposite) {
  EXPECT_EQ(recorded([](Array<float, 1> a, Float x) { atomic_sub(a(0), x); }),
            "%0: f32 = neg @p1; %1: f32 = atomic_add @p0[0:i64], %0");
}

TEST(Atomic, EveryOperationIsWrittenDown) {
  EXPECT_EQ(recorded([](Array<unsigned, 1> a, UInt x) {
              atomic_min(a(0), x);
              atomic_max(a(0), x);
              atomic_and(a(0), x);
              atomic_or(a(0), x);
              atomic_xor(a(0), x);
              atomic_exchange(a(0), x);
              atomic_compare_exchange(a(0), 7, x);
            }),
            "%0: u32 = atomic_min @p0[0:i64], @p1; %1: u32 = atomic_max @p0[0:i64], @p1; "
            "%2: u32 = atomic_and @p0[0:i64], @p1; %3: u32 = atomic_or @p0[0:i64], @p1; "
            "%4: u32 = atomic_xor @p0[0:i64], @p1; %5: u32 = atomic_exchange @p0[0:i64], @p1; "
            "%6: u32 = atomic_compare_exchange @p0[0:i64], 7:u32, @p1");
}

TEST(Atomic, ValuesPromoteToTheElement) {
  EXPECT_EQ(recorded([](Array<double, 1> a, Float x) { atomic_max(a(0), x); }),
            "%0: f64 = cast @p1; %1: f64 = atomic_max @p0[0:i64], %0");
}

TEST(Atomic, OfBoolsAreThoseOfBitsAndExchanges) {
  EXPECT_EQ(recorded([](Array<bool, 1> seen) { seen(1) = atomic_or(seen(0), true); }),
            "%0: bool = atomic_or @p0[0:i64], true; store @p0[1:i64] = %0");
}

}  // namespace
}  // namespace samite
