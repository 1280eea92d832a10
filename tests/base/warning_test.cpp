#include "samite/base/warning.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace samite {
namespace {

class Warning : public testing::Test {
 protected:
  Warning() {
    previous_ = set_warning_sink([this](std::string_view text) { heard_.emplace_back(text); });
  }
  ~Warning() override { set_warning_sink(previous_); }

  std::vector<std::string> heard_;

 private:
  WarningSink previous_;
};

TEST_F(Warning, GoesToTheSinkThatIsSet) {
  warn("the disk is slow");
  EXPECT_EQ(heard_, std::vector<std::string>{"the disk is slow"});
}

TEST_F(Warning, OfOneCauseIsHeardOnce) {
  warn_once("disk", "the disk is slow");
  warn_once("disk", "the disk is still slow");
  warn_once("memory", "memory is short");
  EXPECT_EQ(heard_, (std::vector<std::string>{"the disk is slow", "memory is short"}));
}

TEST_F(Warning, FromSeveralThreadsArriveOneAtATime) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int n = 0; n < 100; ++n) warn("text");
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(heard_.size(), 400u);
}

TEST(WarningByDefault, GoesToStandardError) {
  const WarningSink previous = set_warning_sink({});
  testing::internal::CaptureStderr();
  warn("the disk is slow");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "samite: the disk is slow\n");
  set_warning_sink(previous);
}

}  // namespace
}  // namespace samite
