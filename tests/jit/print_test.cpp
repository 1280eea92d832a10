// Prints and checks of launches: the printed lines, and the exceptions of a launch.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using on_device::device;

// Collects the printed lines during its lifetime.
class Printed {
 public:
  Printed() : before_(set_print_sink([this](std::string_view line) { lines_.emplace_back(line); })) {}
  ~Printed() { set_print_sink(before_); }
  Printed(const Printed &) = delete;
  Printed &operator=(const Printed &) = delete;

  // On CUDA, lines appear once the program has waited for the device.
  const std::vector<std::string> &lines() const {
    device.synchronize();
    return lines_;
  }

 private:
  std::vector<std::string> lines_;
  PrintSink before_;
};

TEST(Print, OneLineForEachInstanceInOrderWithinAVector) {
  Kernel kernel{"hello", [](Array<const float, 1> x) {
                  Int i = thread_index();
                  print("x(", i, ") is ", x(i), ", positive: ", x(i) > 0);
                }};
  Buffer<float> x(device, {3}, {0.1f, -2, 1e20f});
  Printed printed;
  kernel.launch({3}, x);
  EXPECT_THAT(printed.lines(), ElementsAre("x(0) is 0.1, positive: true", "x(1) is -2, positive: false",
                                           "x(2) is 1e+20, positive: true"));
}

struct Particle {
  Vec2f place;
  Int kind;
};

TEST(Print, VectorsMatricesAndStructs) {
  Kernel kernel{"vectors", [](Array<const Vec3f, 1> v, Array<const Mat2f, 1> m, const Particle &p) {
                  Vec3f first = v(0);
                  print(first, " ", v(1), " and ", first * 2);
                  print(m(0), " ", Quatf());
                  print(p, " ", std::array<Int, 2>{p.kind, 7}, " ", Transformf({1, 2, 3}, Quatf()));
                  check(first.x() > 1, "too small: ", first);
                }};
  Buffer<float> v(device, {2, 3}, {1, -2, 0.5f, 3, 4, 5}), m(device, {1, 4}, {1, 2, 3, 4});
  struct HostParticle {
    std::array<float, 2> place;
    std::int32_t kind;
  };
  Printed printed;
  const std::string message = message_of<UserError>([&] {
    kernel.launch({1}, v, m, HostParticle{{1, 2.5f}, -3});
    device.synchronize();
  });
  EXPECT_THAT(printed.lines(), ElementsAre("(1, -2, 0.5) (3, 4, 5) and (2, -4, 1)", "((1, 2), (3, 4)) (0, 0, 0, 1)",
                                           "((1, 2.5), -3) (-3, 7) ((1, 2, 3), (0, 0, 0, 1))"));
  EXPECT_THAT(message, HasSubstr("too small: (1, -2, 0.5)"));
}

TEST(Print, ValuesOfEveryType) {
  Kernel kernel{"types", [](Bool b, Int8 i8, UInt8 u8, Int16 i16, UInt16 u16, Int i, UInt u, Int64 l, UInt64 ul,
                            Float f, Double d) {
                  print(b, " ", i8, " ", u8, " ", i16, " ", u16, " ", i, " ", u, " ", l, " ", ul, " ", f, " ", d);
                }};
  Printed printed;
  kernel.launch({1}, {.stream = Stream::standard(device)}, true, -65, 65, -300, 60000, -70000, 4000000000u, -5000000000,
                10000000000000000000u, 0.1f, 0.1);
  EXPECT_THAT(printed.lines(),
              ElementsAre("true -65 65 -300 60000 -70000 4000000000 -5000000000 10000000000000000000 0.1 0.1"));
}

TEST(Print, OnlyOfTheInstancesThatComeThere) {
  Kernel kernel{"odd", [](Array<const std::int32_t, 1> n) {
                  Int i = thread_index();
                  for (Int k : range(n(i))) if_(k % 2 == 1, [&] { print(i, ": ", k); });
                }};
  Buffer<std::int32_t> n(device, {4}, {1, 4, 0, 2});
  Printed printed;
  kernel.launch({4}, n);
  std::vector<std::string> lines = printed.lines();
  std::sort(lines.begin(), lines.end());
  EXPECT_THAT(lines, ElementsAre("1: 1", "1: 3", "3: 1"));
}

TEST(Print, LinesOfManyThreadsAreWhole) {
  Kernel kernel{"many", [](Array<float, 1> out) {
                  Int i = thread_index();
                  Float x = cast<Float>(i);
                  for (Int k : range(100)) x = sin(x) + cast<Float>(k);
                  out(i) = x;
                  if_(i % 1000 == 0, [&] { print("instance ", i, " is here"); });
                }};
  Buffer<float> out(device, {100000});
  Printed printed;
  kernel.launch({100000}, out);
  std::vector<std::string> expected, lines = printed.lines();
  for (int i = 0; i < 100; ++i) expected.push_back("instance " + std::to_string(1000 * i) + " is here");
  std::sort(expected.begin(), expected.end());
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, expected);
}

TEST(Print, GoesToStandardOutputWhereNoSinkIsSet) {
  Kernel kernel{"hello", [] { print("hello from ", Int(thread_index())); }};
  testing::internal::CaptureStdout();
  kernel.launch({2}, {.stream = Stream::standard(device)});
  device.synchronize();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "hello from 0\nhello from 1\n");
}

TEST(Print, WhatTheSinkThrowsTheLaunchThrows) {
  Kernel kernel{"hello", [](Array<float, 1> out) {
                  Int i = thread_index();
                  print("hello");
                  out(i) = 1;
                }};
  PrintSink before = set_print_sink([](std::string_view) { throw std::runtime_error("no paper"); });
  Buffer<float> out(device, {2});
  EXPECT_THROW((kernel.launch({2}, out), device.synchronize()), std::runtime_error);
  set_print_sink(before);
  EXPECT_THAT(out.to_vector(), ElementsAre(1, 1));
}

TEST(Print, AnAdjointDoesNotPrintAgainAndATangentDoes) {
  Kernel kernel{"square", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double square = in(i)*in(i);
                  print("square ", square);
                  check(square < 10, "too large");
                  out(i) = square;
                }};
  Buffer<double> in(device, {1}, {3}, Gradient::tracked), out(device, {1}, Gradient::tracked);
  Printed printed;
  out.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
  EXPECT_EQ(in.gradient().at(0), 6) << "the value that is printed is differentiated";
  EXPECT_THAT(printed.lines(), ElementsAre());
  in.copy_from({4});
  kernel.launch({1}, {.direction = Direction::adjoint}, out, in);  // an adjoint does not check again either
  in.copy_from({3});
  kernel.launch({1}, {.direction = Direction::tangent}, out, in);
  EXPECT_THAT(printed.lines(), ElementsAre("square 9"));
}

TEST(Check, AFailureThrowsWithTheLineTheInstanceAndTheMessage) {
  int line = 0;
  Kernel kernel{"roots", [&](Array<float, 2> out, Array<const float, 2> in) {
                  auto [i, j] = thread_index<2>();
                  line = __LINE__ + 1;
                  check(in(i, j) >= 0, "no root of ", in(i, j), " in row ", i);
                  out(i, j) = sqrt(abs(in(i, j)));
                }};
  Buffer<float> in(device, {2, 3}, {1, 4, 9, 16, -25, -36}), out(device, {2, 3});
  std::string message = message_of<UserError>([&] {
    kernel.launch({2, 3}, out, in);
    device.synchronize();
  });
  EXPECT_THAT(message, HasSubstr("print_test.cpp:" + std::to_string(line) +
                                 ": kernel 'roots' (forward): a check failed in instance (1, 1): no root of -25 in "
                                 "row 1"));
  EXPECT_THAT(out.to_vector(), ElementsAre(1, 2, 3, 4, 5, 6)) << "the launch went on";

  in.copy_from({1, 1, 1, 1, 1, 1});
  kernel.launch({2, 3}, out, in);
  EXPECT_THAT(out.to_vector(), ElementsAre(1, 1, 1, 1, 1, 1)) << "launches after it work";
}

TEST(Check, TheFirstInstanceIsNamedHoweverTheLaunchIsCut) {
  Kernel kernel{"check", [](Array<float, 1> out) {
                  Int i = thread_index();
                  Float x = cast<Float>(i);
                  for (Int k : range(100)) x = sin(x) + cast<Float>(k);
                  out(i) = x;
                  check(i < 54321, "i is ", i);
                }};
  Buffer<float> out(device, {100000});
  for (int repeat = 0; repeat < 5; ++repeat)
    EXPECT_THAT(message_of<UserError>([&] {
                  kernel.launch({100000}, out);
                  device.synchronize();
                }),
                HasSubstr("a check failed in instance (54321): i is 54321"));
}

TEST(Check, OnlyOfTheInstancesThatComeThere) {
  Kernel kernel{"check", [](Array<const float, 1> x) {
                  Int i = thread_index();
                  if_(i != 1, [&] { check(x(i) > 0); });
                }};
  Buffer<float> x(device, {3}, {1, -1, 1});
  EXPECT_NO_THROW(kernel.launch({3}, x));
  x.copy_from({1, -1, -1});
  const std::string message = message_of<UserError>([&] {
    kernel.launch({3}, x);
    device.synchronize();
  });
  EXPECT_THAT(without_call(message), testing::EndsWith("a check failed in instance (2)"));
}

TEST(Check, OfARecordedLaunchToo) {
  Kernel kernel{"check", {"limit"}, [](Int limit) { check(limit < 3, "limit is ", limit); }};
  Launch launch = kernel.record({4}, {.stream = Stream::standard(device)}, 5);
  EXPECT_THAT(message_of<UserError>([&] {
                launch.launch();
                device.synchronize();
              }),
              HasSubstr("in instance (0): limit is 5"));
  launch.set("limit", 1);
  EXPECT_NO_THROW(launch.launch());
}

}  // namespace
}  // namespace samite::test
