// Functions that call themselves while they are captured, and branches that nest without end.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace samite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Always true, which compilers cannot see: they would warn of the recursion.
bool endless = true;

// NOLINTBEGIN(misc-no-recursion)

// Conditions that are traced end nothing.
Float factorial(Float n) { return endless ? select(n <= 1, 1.0f, n * factorial(n - 1)) : n; }
Float copied(Float x) { return endless ? copied(x) + 1 : x; }
Int even(Int n);
Int odd(Int n) { return even(n - 1); }
Int even(Int n) { return endless ? odd(n - 1) : n; }
void count_down(Array<float, 1> y, Int n) {
  if_(n > 0, [&] { count_down(y, n - 1); });
}
Float returned(Float x) {
  return returning<Float>([&](auto return_) {
    if_(x < 0, [&] { return_(0); });
    return returned(x - 1);
  });
}

// NOLINTEND(misc-no-recursion)

template <class Function>
std::string refusal_of_capture(Function function) {
  return message_of<UserError>(
      [&] { Kernel{"endless", {"y"}, [&](Array<float, 1> y) { function(y, thread_index()); }}; });
}

TEST(DeepCaptures, AFunctionThatCallsItselfWithoutEndIsRefused) {
  const auto stack = AllOf(HasSubstr("deep_captures_test.cpp"), HasSubstr("the thread's stack is nearly used up"),
                           HasSubstr("a condition that C++ knows"), HasSubstr("range or while_"));
  EXPECT_THAT(refusal_of_capture([](auto y, Int i) { y(i) = factorial(y(i)); }), stack);
  EXPECT_THAT(refusal_of_capture([](auto y, Int i) { y(i) = copied(y(i)); }), stack);
  EXPECT_THAT(refusal_of_capture([](auto y, Int i) { y(i) = cast<Float>(even(i)); }), stack);
}

TEST(DeepCaptures, OnesThatOpenBranchesAreRefusedByTheirNesting) {
  const auto nesting = AllOf(HasSubstr("deep_captures_test.cpp"), HasSubstr("nest more than 320 deep"),
                             HasSubstr("an end that C++ knows"));
  EXPECT_THAT(refusal_of_capture([](auto y, Int i) { count_down(y, i); }), nesting);
  EXPECT_THAT(refusal_of_capture([](auto y, Int i) { y(i) = returned(y(i)); }), nesting);
}

// On any thread, however small its stack is.
TEST(DeepCaptures, AThreadsOwnStackIsTheLimit) {
  std::string message;
  std::thread([&] { message = refusal_of_capture([](auto y, Int i) { y(i) = factorial(y(i)); }); }).join();
  EXPECT_THAT(message, HasSubstr("the thread's stack is nearly used up"));
}

// In a forked process the first thread runs on the stack of the thread that forked it.
TEST(DeepCaptures, AForkedThreadsStackIsTheLimit) {
  int status = -1;
  std::thread([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      const std::string message = refusal_of_capture([](auto y, Int i) { y(i) = factorial(y(i)); });
      ::_exit(message.find("the thread's stack is nearly used up") == std::string::npos ? 1 : 0);
    }
    ::waitpid(child, &status, 0);
  }).join();
  EXPECT_EQ(status, 0);
}

TEST(DeepCaptures, ARecursionThatCppEndsIsPartOfTheKernel) {
  struct Power {
    static Float of(const Float &x, int n) {
      return n == 0 ? Float(1) : x * of(x, n - 1);
    }  // NOLINT(misc-no-recursion)
  };
  Kernel kernel{"power", {"y"}, [](Array<float, 1> y) { y(thread_index()) = Power::of(y(thread_index()), 100); }};
  EXPECT_EQ(kernel.name(), "power");
}

// NOLINTNEXTLINE(misc-no-recursion)
void nest(Array<float, 1> y, const Int &i, int depth) {
  if (depth == 0)
    y(i) += 1;
  else
    if_(y(i) > static_cast<float>(-depth), [&] { nest(y, i, depth - 1); });
}

TEST(DeepCaptures, TwentyThousandBranchesAreRefused) {
  EXPECT_THAT(refusal_of_capture([](auto y, Int i) { nest(y, i, 20'000); }), HasSubstr("nest more than 320 deep"));
}

// The statements after a jump are in a branch of their own.
TEST(DeepCaptures, TwentyThousandJumpsAreRefused) {
  EXPECT_THAT(refusal_of_capture([](auto y, Int i) {
                for (int k = 0; k < 20'000; ++k) if_(y(i) > static_cast<float>(k), [&] { return_(); });
              }),
              AllOf(HasSubstr("deep_captures_test.cpp"), HasSubstr("more than 320 branches, loops and jumps")));
}

}  // namespace
}  // namespace samite
