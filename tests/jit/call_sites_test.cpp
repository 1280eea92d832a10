// The line of the user's program that an error names: that of the call, in addition to the kernel's own.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using on_device::device;

const Kernel doubled{"doubled", {"y", "x", "factor"}, [](Array<double, 1> y, Array<const double, 1> x, Double factor) {
                       Int i = thread_index();
                       y(i) = factor * x(i) * x(i);
                     }};

std::string here(unsigned line) { return "call_sites_test.cpp:" + std::to_string(line); }

// The message of the exception from `call` names `line` once, as the place where something was `done`.
void expect_line(const std::function<void()> &call, const std::string &done, unsigned line) {
  const std::string message = message_of<Error>(call), place = here(line);
  EXPECT_THAT(message, HasSubstr(done + " at "));
  EXPECT_THAT(message, HasSubstr(place));
  EXPECT_EQ(message.find(place), message.rfind(place)) << message;
  EXPECT_THAT(message, Not(HasSubstr("libsamite"))) << "a line of the library's";
}

// The message begins with that line.
void expect_begins(const std::function<void()> &call, unsigned line) {
  const std::string message = message_of<Error>(call);
  EXPECT_NE(message.substr(0, message.find(": ")).find(here(line)), std::string::npos) << message;
  EXPECT_THAT(message, Not(HasSubstr("libsamite"))) << "a line of the library's";
}

Buffer<double> tracked_zeros(std::int64_t count) { return Buffer<double>(device, {count}, Gradient::tracked); }

#define EXPECT_LINE(done, call) expect_line([&] { call; }, done, __LINE__)
#define EXPECT_BEGINS(call) expect_begins([&] { call; }, __LINE__)

TEST(CallSites, OfLaunches) {
  auto x = tracked_zeros(3), y = tracked_zeros(3), empty = Buffer<double>();
  const Extents extents{2, 2};
  EXPECT_LINE("launched", doubled.launch({2, 2}, y, x, 1.0));
  EXPECT_LINE("launched", doubled.launch(extents, y, x, 1.0));
  EXPECT_LINE("launched", doubled.launch({3}, empty, x, 1.0));
  EXPECT_LINE("launched", doubled.launch({3}, {.direction = Direction::adjoint}, Buffer<double>(device, {3}), x, 1.0));
  EXPECT_LINE("recorded", doubled.record({2, 2}, y, x, 1.0));
  EXPECT_LINE("recorded", doubled.record_with_adjoint({3}, Buffer<double>(device, {3}), x, 1.0));
}

TEST(CallSites, OfRecordedLaunches) {
  auto x = tracked_zeros(3), y = tracked_zeros(3);
  Launch launch = doubled.record({3}, y, x, 1.0);
  EXPECT_LINE("set", launch.set("z", x));
  EXPECT_LINE("set", launch.set("factor", x));
  EXPECT_LINE("set", launch.set("x", 2.0));
  EXPECT_LINE("set", launch.set(7, 2.0));
  EXPECT_LINE("set", launch.set(1, Buffer<double>()));
  EXPECT_LINE("set", launch.set_dim({2, 2}));
  EXPECT_LINE("set", launch.set_dim(4, 2));
  doubled.record({3}, y, x, 1.0).launch();
}

TEST(CallSites, OfDebugMode) {
  auto x = tracked_zeros(3), y = tracked_zeros(2);
  EXPECT_LINE("launched", doubled.launch({3}, {.debug = true}, y, x, 1.0); Stream::standard(device).synchronize());
}

TEST(CallSites, OfTapes) {
  auto x = tracked_zeros(3), y = tracked_zeros(3), sum = tracked_zeros(1);
  Tape tape;
  const unsigned launched = __LINE__ + 1;
  tape.record([&] { doubled.launch({3}, y, x, 1.0); });
  EXPECT_BEGINS(tape.record([&] { tape.record([] {}); }));
  EXPECT_BEGINS(tape.backward(y));
  EXPECT_BEGINS(tape.backward(sum));
  EXPECT_BEGINS(tape.backward(Buffer<double>(device, {1})));
  EXPECT_BEGINS(tape.backward({{y, Buffer<double>(device, {4})}}));
  x.fill(2);
  const std::string message = message_of<Error>([&] { tape.backward({{y, Buffer<double>(device, {3})}}); });
  EXPECT_THAT(message, AllOf(HasSubstr("launch 0 on the tape ("), HasSubstr(here(launched)),
                             HasSubstr("backward() at "), HasSubstr(here(__LINE__ - 2))));
}

TEST(CallSites, OfBuffers) {
  constexpr std::int64_t too_many = std::int64_t{1} << 56;
  EXPECT_LINE("allocated", Buffer<double>(device, {too_many}));
  Buffer<double> x(device, {3});
  EXPECT_BEGINS(x.copy_from({1, 2}));
  EXPECT_BEGINS(x.gradient());
}

TEST(CallSites, OfTools) {
  auto x = tracked_zeros(3), y = tracked_zeros(3);
  Buffer<double> plain(device, {3});
  EXPECT_LINE("checked", gradcheck(doubled, {3}, y, plain, 1.0));
  EXPECT_LINE("launched", gradcheck(doubled, {2, 2}, y, x, 1.0));
  EXPECT_LINE("checked", gradcheck([&] { doubled.launch({3}, y, x, 1.0); }, {x}, {}));
  EXPECT_LINE("computed", jacobian([&] { doubled.launch({3}, y, x, 1.0); }, plain, y));
  EXPECT_LINE("computed", hessian_vector_product([&] { doubled.launch({3}, y, x, 1.0); }, {x}, {}, y));
  EXPECT_LINE("checked", hessian_check([&] { doubled.launch({3}, y, x, 1.0); }, {plain}, y));
}

TEST(CallSites, OfDerivatives) {
  const Kernel lost{"lost", [](Array<double, 1> y) { y(thread_index()) = y(thread_index() + 1); }};
  EXPECT_LINE("adjoint()", lost.adjoint());
  EXPECT_LINE("adjoint_report()", lost.adjoint_report());
}

TEST(CallSites, OfGraphs) {
  auto x = tracked_zeros(3), y = tracked_zeros(3);
  const Stream stream(device);
  const Launch launch = doubled.record({3}, {.stream = stream}, y, x, 1.0);
  Graph graph = capture(stream, [&] { Launch(launch).launch(); });
  EXPECT_LINE("set", graph.set(3, launch));
  EXPECT_LINE("enabled", graph.enable(3, false));
  EXPECT_LINE("captured", capture(stream, [&] { capture(stream, [] {}); }));
  Tape tape;
  EXPECT_LINE("launched", tape.record([&] { graph.launch(); }));
}

TEST(LaunchRank, IsExplainedByWhatTheKernelAsksFor) {
  auto x = tracked_zeros(3), y = tracked_zeros(3);
  const unsigned asked = __LINE__ + 1;
  const Kernel one{"one", [](Array<double, 1> y) { y(thread_index()) = 1; }};
  const Kernel none{"none", [](Array<double, 1> y) { y(0) = 1; }};
  const TileKernel blocks{"blocks",
                          [](Array<double, 1> y) { tile::store(y, {block_index()}, tile::full<double>({4}, 1)); }};
  const TileKernel no_blocks{"no_blocks", [](Array<double, 1> y) { tile::store(y, {0}, tile::full<double>({4}, 1)); }};
  const auto said = [&](const auto &kernel) { return message_of<UserError>([&] { kernel.launch({2, 2}, y); }); };
  EXPECT_THAT(said(one), AllOf(HasSubstr("a launch of rank 1 is expected, as thread_index<1>() in the kernel says ("),
                               HasSubstr(here(asked)), HasSubstr("(2, 2) is given")));
  EXPECT_THAT(said(none),
              HasSubstr("a launch of rank 1 is expected, as that of a kernel that asks for no thread_index()"));
  EXPECT_THAT(said(blocks), HasSubstr("as block_index<1>() in the kernel says ("));
  EXPECT_THAT(said(no_blocks), HasSubstr("as that of a kernel that asks for no block_index()"));
}

TEST(LaunchInsideOfAKernel, IsRefused) {
  auto x = tracked_zeros(3), y = tracked_zeros(3);
  Launch recorded = doubled.record({3}, y, x, 1.0);
  const auto refusal = [&](const std::function<void()> &inside) {
    return message_of<UserError>([&] {
      Kernel outer{"outer", [&](Array<double, 1> z) {
                     inside();
                     z(thread_index()) = 1;
                   }};
    });
  };
  for (const auto &inside :
       std::vector<std::function<void()>>{[&] { doubled.launch({3}, y, x, 1.0); }, [&] { recorded.launch(); }})
    EXPECT_THAT(refusal(inside),
                AllOf(HasSubstr("kernel 'doubled': it is launched inside of another kernel's function ("),
                      HasSubstr("call_sites_test.cpp:"), HasSubstr("launched at ")));
  Tape tape;
  EXPECT_THAT(refusal([&] { tape.record([&] { doubled.launch({3}, y, x, 1.0); }); }),
              HasSubstr("inside of another kernel's function"));
  doubled.launch({3}, y, x, 1.0);  // afterwards all is as before
}

}  // namespace
}  // namespace samite::test
