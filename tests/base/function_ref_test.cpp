#include "samite/base/function_ref.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace samite {
namespace {

int twice(int x) { return 2 * x; }
int of_five(FunctionRef<int(int)> function) { return function(5); }

TEST(FunctionRef, CallsWhatItIsGiven) {
  int calls = 0;
  const auto counted = [&calls](int x) { return x + ++calls; };
  EXPECT_EQ(of_five(counted), 6);
  EXPECT_EQ(of_five(counted), 7);
  EXPECT_EQ(of_five([](int x) { return -x; }), -5);
  EXPECT_EQ(of_five(twice), 10);
  EXPECT_EQ(of_five(&twice), 10);
}

TEST(FunctionRef, IsAsGoodAsWhatItRefersTo) {
  int value = 0;
  auto changes = [own = 0, &value](int by) mutable { value = own += by; };
  const FunctionRef<void(int)> one = changes, other = one;
  one(2);
  other(3);
  EXPECT_EQ(value, 5);
}

TEST(FunctionRef, HandsOnReferencesAndWhatOnlyMoves) {
  std::string text = "a";
  const auto append = [](std::string &to, std::unique_ptr<int> number) -> std::string & {
    return to += std::to_string(*number);
  };
  const FunctionRef<std::string &(std::string &, std::unique_ptr<int>)> ref = append;
  EXPECT_EQ(&ref(text, std::make_unique<int>(7)), &text);
  EXPECT_EQ(text, "a7");
}

TEST(FunctionRef, DropsAResultThatNobodyWants) {
  int calls = 0;
  const auto counted = [&calls] { return ++calls; };
  const FunctionRef<void()> ref = counted;
  ref();
  EXPECT_EQ(calls, 1);
}

static_assert(!std::is_constructible_v<FunctionRef<int(int)>, int>);
static_assert(!std::is_constructible_v<FunctionRef<int(int)>, int (*)(std::string)>);

}  // namespace
}  // namespace samite
