// The recipients of reports on long work, and launches that are recorded side by side.
#include "samite/jit/progress.h"
#include "samite/jit/definition.h"

#include "samite/jit/prepare.h"
#include "samite/samite.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace samite::test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Collects reports during its lifetime.
class Heard {
 public:
  Heard()
      : before_(set_progress_sink([this](std::string_view text) {
          const std::lock_guard lock(mutex_);
          lines_.emplace_back(text);
        })) {}
  ~Heard() { set_progress_sink(before_); }

  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  ProgressSink before_;  // declared last: reports until then need the other members
};

TEST(Progress, LongWorkIsNamedAndItsTimeSaid) {
  Heard heard;
  {
    const jit::LongWork work("compiling 'step'", 1);
    while (heard.lines().empty()) std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_THAT(heard.lines(), ElementsAre("compiling 'step' …", StartsWith("compiling 'step': 0.")));
}

TEST(Progress, ShortWorkIsNot) {
  Heard heard;
  {
    const jit::LongWork work("compiling 'step'", 100000);
  }
  EXPECT_THAT(heard.lines(), IsEmpty());
}

TEST(Progress, ASinkComesBeforeTheEnvironment) {
  EXPECT_FALSE(jit::progress_is_heard());
  setenv("SAMITE_PROGRESS", "0", 1);
  EXPECT_FALSE(jit::progress_is_heard());
  setenv("SAMITE_PROGRESS", "1", 1);
  EXPECT_TRUE(jit::progress_is_heard());
  testing::internal::CaptureStderr();
  jit::tell_progress("to standard error");
  {
    Heard heard;
    jit::tell_progress("to the sink");
    EXPECT_THAT(heard.lines(), ElementsAre("to the sink"));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "samite: to standard error\n");
  unsetenv("SAMITE_PROGRESS");
}

const Kernel prepared_scale{"scale_of_prepare", [](Array<float, 1> y, Array<const float, 1> x, Float a) {
                              Int i = thread_index();
                              y(i) = a * x(i);
                            }};

TEST(Prepare, LaunchesAreThoseOfTheFunctionsInOrder) {
  const Buffer<float> x(test::device(), {3}, {1, 2, 3}, Gradient::tracked), y(test::device(), {3}, Gradient::tracked);
  auto [forward, adjoint] =
      prepare([&] { return prepared_scale.record({3}, y, x, 2.0f); },
              [&] { return prepared_scale.record({3}, {.direction = Direction::adjoint}, y, x, 2.0f); });
  EXPECT_EQ(prepared_scale.definition()->variants().size(), 2u) << "both are compiled";
  forward.launch();
  EXPECT_EQ(y.to_vector(), (std::vector<float>{2, 4, 6}));
  y.gradient().copy_from({1, 1, 1});
  adjoint.launch();
  EXPECT_EQ(x.gradient().to_vector(), (std::vector<float>{2, 2, 2}));
}

TEST(Prepare, ThrowsWhatTheFirstOfThemThrows) {
  const Buffer<float> x(test::device(), {3}), y(test::device(), {3});
  std::atomic<int> ended = 0;
  const auto refused = [&](const char *why) {
    return [&, why]() -> Launch {
      ++ended;
      throw UserError(why);
    };
  };
  EXPECT_THAT(message_of<UserError>([&] {
                prepare([&] { return prepared_scale.record({3}, y, x, 1.0f); }, refused("the first"),
                        refused("the second"));
              }),
              HasSubstr("the first"));
  EXPECT_EQ(ended, 2) << "when all have ended";
}

}  // namespace
}  // namespace samite::test
