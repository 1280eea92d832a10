#include "samite/jit/tape.h"

#include "samite/samite.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Device device = test::device();

const Kernel scale{"scale", {"y", "x", "a"}, [](Array<float, 1> y, Array<const float, 1> x, Float a) {
                     Int i = thread_index();
                     y(i) = a * x(i);
                   }};
const Kernel square{"square", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                      Int i = thread_index();
                      y(i) = x(i) * x(i);
                    }};
const Kernel total{
    "total", {"sum", "x"}, [](Array<float, 1> sum, Array<const float, 1> x) { atomic_add(sum(0), x(thread_index())); }};

Buffer<float> tracked(std::initializer_list<float> values) {
  return Buffer<float>(device, {static_cast<std::int64_t>(values.size())}, values, Gradient::tracked);
}

TEST(Tape, GoesBackOverOrdinaryAndRecordedLaunches) {
  auto x = tracked({1, 2, 3}), y = tracked({0, 0, 0}), z = tracked({0, 0, 0}), sum = tracked({0});
  Launch recorded = square.record({3}, z, y);
  Tape tape;
  tape.record([&] {
    scale.launch({3}, y, x, 2.0f);
    recorded.launch();
    total.launch({3}, sum, z);
  });
  EXPECT_EQ(tape.size(), 3u);
  tape.backward(sum);
  EXPECT_EQ(sum.at(0), 56);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(8, 16, 24));  // d/dx (2x)^2 = 8x
}

TEST(Tape, MayGoBackMoreThanOnce) {
  auto x = tracked({3}), y = tracked({0});
  Tape tape;
  tape.record([&] { square.launch({1}, y, x); });
  tape.backward(y);
  tape.backward(y);
  EXPECT_EQ(x.gradient().at(0), 12) << "gradients add up";
  tape.zero_gradients();
  EXPECT_EQ(x.gradient().at(0), 0);
  tape.backward(y);
  EXPECT_EQ(x.gradient().at(0), 6);
}

TEST(Tape, TakesCotangents) {
  auto x = tracked({1, 2}), y = tracked({0, 0});
  Tape tape;
  tape.record([&] { square.launch({2}, y, x); });
  tape.backward({{y, Buffer<float>(device, {2}, {10, 100})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(20, 400));
}

TEST(Tape, RemembersTheArgumentsOfEachLaunch) {
  auto x = tracked({1}), y = tracked({0}), z = tracked({0});
  Launch launch = scale.record({1}, y, x, 2.0f);
  Tape tape;
  tape.record([&] {
    launch.launch();
    launch.set("a", 5.0f);
    launch.set("y", z);
    launch.set("x", y);
    launch.launch();
  });
  tape.backward(z);
  EXPECT_EQ(x.gradient().at(0), 10);
}

// A linear chain needs no values, so two buffers in turn will do.
TEST(Tape, GoesBackThroughBuffersUsedInTurn) {
  auto a = tracked({1}), b = tracked({0});
  Tape tape;
  tape.record([&] {
    for (int step = 0; step < 3; ++step) {
      scale.launch({1}, b, a, 2.0f);
      scale.launch({1}, a, b, 3.0f);
    }
  });
  tape.backward(a);
  EXPECT_EQ(a.gradient().at(0), 216);
}

TEST(Tape, KeepsWhatALaterLaunchOverwrites) {
  auto a = tracked({3}), b = tracked({0});
  Tape tape;
  tape.record([&] {
    square.launch({1}, b, a);  // 9
    square.launch({1}, a, b);  // 81
    square.launch({1}, b, a);  // 6561
  });
  EXPECT_GT(tape.kept_bytes(), 0);
  tape.backward(b);
  EXPECT_EQ(a.gradient().at(0), 8 * 2187) << "d x^8 = 8 x^7";
}

TEST(Tape, KeepsWhatALaunchOverwritesInPlace) {
  Kernel in_place{"in_place", {"x"}, [](Array<float, 1> x) {
                    Int i = thread_index();
                    x(i) = x(i) * x(i);
                  }};
  auto x = tracked({3, 2});
  Tape tape;
  tape.record([&] {
    in_place.launch({2}, x);
    in_place.launch({2}, x);
  });
  EXPECT_THAT(x.to_vector(), ElementsAre(81, 16));
  tape.backward({{x, Buffer<float>(device, {2}, {1, 1})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(108, 32));
}

TEST(Tape, KeepsWhatALaunchOverwritesThroughAnotherArgument) {
  auto x = tracked({3});
  Tape tape;
  tape.record([&] { square.launch({1}, x, x); });
  tape.backward(x);
  EXPECT_EQ(x.gradient().at(0), 6);
}

TEST(Tape, SkipsLaunchesThatNoGradientPasses) {
  auto x = tracked({2}), y = tracked({0});
  Buffer<float> untracked(device, {1});
  Tape tape;
  tape.record([&] {
    square.launch({1}, y, x);
    scale.launch({1}, untracked, y, 2.0f);
  });
  tape.backward(y);
  EXPECT_EQ(x.gradient().at(0), 4);
}

TEST(Tape, IsReadable) {
  auto x = tracked({2}), y = tracked({0});
  Tape tape;
  tape.record([&] { square.launch({1}, y, x); });
  EXPECT_EQ(tape.to_string(), "Tape of 1 launches\n  0: square over (1)");
  tape.clear();
  EXPECT_EQ(tape.size(), 0u);
}

TEST(TapeRefuses, ValuesThatWereOverwrittenSince) {
  auto x = tracked({2}), y = tracked({0});
  x.set_name("state");
  Tape tape;
  tape.record([&] { square.launch({1}, y, x); });
  x.fill(100);
  std::string message = message_of<UserError>([&] { tape.backward(y); });
  EXPECT_THAT(message, HasSubstr("kernel 'square'"));
  EXPECT_THAT(message, HasSubstr("argument 1 ('x'), 'state'"));
  EXPECT_THAT(message, HasSubstr("overwritten 1 times since"));
}

TEST(TapeRefuses, ValuesThatALaterLaunchOverwroteWhereItMayNotKeepThem) {
  auto a = tracked({2}), b = tracked({0});
  Tape tape{{.keep_values = false}};
  tape.record([&] {
    square.launch({1}, b, a);
    square.launch({1}, a, b);
  });
  EXPECT_EQ(tape.kept_bytes(), 0);
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(a); }), HasSubstr("overwritten"));
}

TEST(TapeRefuses, AnArrayThatSomethingElseWroteInBetween) {
  auto x = tracked({2}), y = tracked({0}), z = tracked({0});
  Tape tape;
  tape.record([&] {
    scale.launch({1}, y, x, 2.0f);
    y.fill(7);
    scale.launch({1}, z, y, 2.0f);
  });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(z); }), HasSubstr("something that is not on it"));
}

TEST(TapeRefuses, AGradientThatWouldBeLostInBetween) {
  auto x = tracked({3}), z = tracked({0});
  Buffer<float> between(device, {1}), further(device, {1});
  further.set_name("further");
  Tape tape;
  tape.record([&] {
    square.launch({1}, between, x);
    scale.launch({1}, further, between, 2.0f);
    square.launch({1}, z, further);
  });
  std::string message = message_of<UserError>([&] { tape.backward(z); });
  EXPECT_THAT(message, HasSubstr("argument 1 ('x'), 'further', of launch 2, kernel 'square'"));
  EXPECT_THAT(message, HasSubstr("construct it with Gradient::tracked"));
}

TEST(TapeRefuses, AnObjectiveThatIsNotOneTrackedElementOnIt) {
  auto x = tracked({1, 2}), y = tracked({0, 0});
  Buffer<float> plain(device, {1});
  Tape tape;
  tape.record([&] { square.launch({2}, y, x); });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(y); }), HasSubstr("needs one element"));
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(plain); }), HasSubstr("tracks no gradient"));
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(tracked({1})); }), HasSubstr("no launch on the tape uses"));
}

TEST(TapeRefuses, ToRecordInsideOfAnother) {
  Tape outer, inner;
  EXPECT_THAT(message_of<UserError>([&] { outer.record([&] { inner.record([] {}); }); }),
              HasSubstr("records a tape already"));
  EXPECT_EQ(Tape::recording(), nullptr) << "an exception ends the recording";
}

}  // namespace
}  // namespace samite::test
