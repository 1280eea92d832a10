// Thread loops inside of others, and with larger steps: the plain loops that targets run compute the same.
#include "samite/passes/threads/plain_thread_loops.h"

#include "samite/base/error.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/analysis/uniformity.h"
#include "tests/passes/interpreter.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace samite::passes {
namespace {

using namespace ir;
using testing::HasSubstr;

constexpr const char *nested = R"(kernel @halves(@y: array<i32, 2>) blocks 1 of 32 scheduled {
  for.thread %0: i32 in 0 .. 5 step 1 {
    if true {
      for.thread %1: i32 in 0 .. %0 step 1 {
        %2: i32 = mul %0, 100
        %3: i32 = add %2, %1
        store @y[%0, %1] = %3
      }
    }
    for.thread %4: i32 in %0 .. 5 step 1 {
      store @y[%0, %4] = %4
    }
  }
})";

constexpr const char *stepped = R"(kernel @thirds(@y: array<i32, 1>) threads 1 {
  %0: i32 = launch_begin 0
  %1: i32 = launch_end 0
  for.thread %2: i32 in %0 .. %1 step 3 {
    store @y[%2] = %2
  }
})";

Kernel plain(const std::string &text) {
  const Kernel kernel = parse_kernel(text);
  verify(kernel, Form::lowered, "the test");
  Kernel made = plain_thread_loops(kernel);
  verify(made, Form::lowered, "plain_thread_loops");
  return made;
}

std::vector<int> elements(const Kernel &kernel, std::vector<std::int64_t> launch, std::vector<std::int64_t> extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  test::Arguments arguments;
  arguments.add_array(std::vector<int>(static_cast<std::size_t>(count), -1), std::move(extents));
  return test::interpret(kernel, std::move(launch), arguments, {.lowered = true}).arguments.elements<int>(0);
}

TEST(PlainThreadLoops, OneInAnotherIsSerial) {
  const std::string text = to_string(plain(nested));
  EXPECT_THAT(text, HasSubstr("for.thread %0: i32 in 0 .. 5 step 1 {"));
  EXPECT_THAT(text, HasSubstr("for %1: i32 in 0 .. %0 step 1 {"));
  EXPECT_THAT(text, HasSubstr("for %4: i32 in %0 .. 5 step 1 {"));
  std::vector<int> expected;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j) expected.push_back(j < i ? 100 * i + j : j);
  EXPECT_EQ(elements(plain(nested), {1}, {5, 5}), expected);
}

TEST(PlainThreadLoops, OneInLargerStepsLeavesOutWhatIsBetween) {
  EXPECT_THAT(to_string(plain(stepped)), HasSubstr("for.thread %2: i32 in %0 .. %1 step 1 {\n"
                                                   "    %3: i32 = sub %2, %0\n"
                                                   "    %4: i32 = rem %3, 3\n"
                                                   "    %5: bool = eq %4, 0\n"
                                                   "    if %5 {\n"
                                                   "      store @y[%2] = %2\n"));
  EXPECT_EQ(elements(plain(stepped), {8}, {8}), (std::vector{0, -1, -1, 3, -1, -1, 6, -1}));
}

// An inner loop keeps its step: a serial loop has steps of any size.
TEST(PlainThreadLoops, AnInnerOneKeepsItsStep) {
  const std::string text = to_string(plain(R"(kernel @k(@y: array<i32, 2>) threads 1 {
    for.thread %0: i32 in 0 .. 4 step 1 {
      for.thread %1: i32 in 0 .. 4 step 2 {
        store @y[%0, %1] = 1
      }
    }
  })"));
  EXPECT_THAT(text, HasSubstr("for %1: i32 in 0 .. 4 step 2 {\n      store"));
}

TEST(PlainThreadLoops, OthersStayWhatTheyAre) {
  std::string text = stepped;
  text.replace(text.find("step 3"), 6, "step 1");
  EXPECT_EQ(to_string(plain(text)), to_string(parse_kernel(text)));
}

// The analysis of lanes agrees on a loop inside of another.
TEST(PlainThreadLoops, AreWhatTheAnalysisOfLanesTakes) {
  EXPECT_THROW(uniformity(parse_kernel(nested)), InternalError);
  const Uniformity found = uniformity(plain(nested));
  EXPECT_EQ(found.of(0), Shape::Linear);
  EXPECT_EQ(found.of(1), Shape::Uniform);
  EXPECT_EQ(found.of(4), Shape::Linear) << "lanes begin one apart";
}

}  // namespace
}  // namespace samite::passes
