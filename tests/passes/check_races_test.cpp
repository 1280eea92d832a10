// Which arrays get shadows in debug mode, and that each access checks them. tests/jit/cuda_races_test.cpp runs the
// checks.
#include "samite/passes/threads/check_races.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CheckedForRaces checked(const std::string &body, bool may_share = false) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @k(@x: array<f32, 1>, @y: array<f32, 1>, @n: i32) threads 1 { %0: i32 = thread_index 0 " + body + " }");
  ir::verify(kernel, ir::Form::structured, "the test");
  CheckedForRaces made = check_races(kernel, {may_share, may_share, false});
  ir::verify(made.kernel, ir::Form::structured, "check_races");
  return made;
}

TEST(CheckRaces, ArraysThatAreOnlyReadHaveNoShadows) {
  const CheckedForRaces made = checked("%1: f32 = load @x[%0] print \"x is \", %1");
  EXPECT_FALSE(made.races.any());
  EXPECT_THAT(made.races.accesses, IsEmpty());
}

TEST(CheckRaces, AWrittenArrayHasAWordForItsWriters) {
  const CheckedForRaces made = checked("store @y[%0] = 1.0");
  ASSERT_THAT(made.races.shadows, SizeIs(1));
  EXPECT_EQ(made.races.shadows[0].array, 1u);
  EXPECT_THAT(made.races.accesses, SizeIs(1));
  EXPECT_EQ(made.races.accesses[0].touch, Touch::write);
  EXPECT_THAT(ir::to_string(made.kernel), HasSubstr("check race"));
}

TEST(CheckRaces, AnArrayThatIsReadToo) {
  const CheckedForRaces made = checked("%1: f32 = load @y[%0] %2: i32 = add %0, 1 store @y[%2] = %1");
  EXPECT_THAT(made.races.shadows, SizeIs(3)) << "a word of writers, two of readers";
  EXPECT_THAT(made.races.accesses, SizeIs(2));
}

TEST(CheckRaces, AtomicAdditionsDoNotRaceAmongThemselves) {
  EXPECT_FALSE(checked("accumulate atomic @y[0] += 1.0").races.any());
  EXPECT_TRUE(checked("accumulate atomic @y[0] += 1.0 %1: f32 = load @y[%0] print \"x is \", %1").races.any());
}

TEST(CheckRaces, ArraysThatMayShareMemoryAreCheckedTogether) {
  const std::string body = "%1: f32 = load @x[%0] store @y[%0] = %1";
  EXPECT_THAT(checked(body).races.shadows, SizeIs(1));
  EXPECT_THAT(checked(body, true).races.shadows, SizeIs(6)) << "both have words of writers and of readers";
}

TEST(CheckRaces, AWordHasAnInstanceAndItsAccess) {
  const RaceWord word = RaceWord::of((std::int64_t{7} + 1) << RaceWord::access_bits | 3);
  EXPECT_EQ(word.instance, 7);
  EXPECT_EQ(word.access, std::optional<std::size_t>(3));
}

}  // namespace
}  // namespace samite::passes
