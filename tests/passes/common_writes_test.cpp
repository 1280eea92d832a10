// Writes of all instances to one element, distinguished from those of one instance, and of some.
#include "samite/passes/analysis/common_writes.h"

#include "samite/ir/parse.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using namespace ir;

// The lines of them.
std::vector<std::uint32_t> lines(const std::string &body) {
  Kernel kernel = parse_kernel(
      "kernel @k(@a: array<f32, 1>, @b: array<f32, 2>, @x: array<const f32, 1>, @n: i32, @f: f32) threads 2 { "
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: f32 = load @x[%1] " +
      body + "}");
  verify(kernel, Form::structured, "the test");
  std::vector<std::uint32_t> lines;
  for (const CommonWrite &write : common_writes(kernel)) lines.push_back(write.where.line);
  return lines;
}

const auto one = testing::ElementsAre(7u);
const auto none = testing::IsEmpty();

TEST(CommonWrites, OfOneIndex) {
  EXPECT_THAT(lines(R"(accumulate @a[0] += %2 at "k.cpp":7)"), one);
  EXPECT_THAT(lines(R"(accumulate atomic @a[0] += %2 at "k.cpp":7)"), none);
  EXPECT_THAT(lines(R"(store @a[@n] = %2 at "k.cpp":7)"), one);
  EXPECT_THAT(lines(R"(%3: f32 = load @a[0] %4: f32 = add %3, 1.0 store @a[0] = %4 at "k.cpp":7)"), one) << "a counter";
  EXPECT_THAT(lines(R"(store @a[%0] = %2 at "k.cpp":7)"), none);
  EXPECT_THAT(lines(R"(store @b[0, %0] = %2 at "k.cpp":7 store @b[%1, 0] = %2 at "k.cpp":7)"), none);
}

TEST(CommonWrites, OfWhatIsComputedAlike) {
  EXPECT_THAT(lines(R"(%3: i32 = extent @a, 0 %4: i32 = sub %3, 1 store @a[%4] = %2 at "k.cpp":7)"), one);
  EXPECT_THAT(lines(R"(%3: f32 = load @x[0] %4: i32 = cast %3 store @a[%4] = %2 at "k.cpp":7)"), one);
  EXPECT_THAT(lines(R"(%3: f32 = load @x[%0] %4: i32 = cast %3 store @a[%4] = %2 at "k.cpp":7)"), none);
  EXPECT_THAT(lines(R"(%3: f32 = atomic_add @a[1], 1.0 %4: i32 = cast %3 store @a[%4] = %2 at "k.cpp":7)"), none)
      << "a number for each";
}

TEST(CommonWrites, OfAValueThatIsTheSameForAllAreFlags) {
  EXPECT_THAT(lines(R"(store @a[0] = 1.0 at "k.cpp":7 store @a[1] = @f at "k.cpp":7)"), none);
}

TEST(CommonWrites, WhereAllInstancesComeToThem) {
  const std::string store = R"( { store @a[3] = %2 at "k.cpp":7 })";
  EXPECT_THAT(lines("%3: bool = eq %0, 0 if %3" + store), none);
  EXPECT_THAT(lines("%3: bool = eq @n, 0 if %3" + store), one);
  EXPECT_THAT(lines("%3: bool = eq @n, 0 %4: bool = lt %1, 1 if %3 { if %4 { } else " + store + "}"), none);
  EXPECT_THAT(lines("for %3: i32 in 0 .. @n step 1" + store), one);
  EXPECT_THAT(lines(R"(for %3: i32 in 0 .. @n step 1 { store @a[%3] = %2 at "k.cpp":7 })"), one);
  EXPECT_THAT(lines("for %3: i32 in 0 .. %0 step 1" + store), none);
  EXPECT_THAT(lines(R"(for %3: i32 in %0 .. @n step 1 { store @a[%3] = %2 at "k.cpp":7 })"), none);
}

}  // namespace
}  // namespace samite::passes
