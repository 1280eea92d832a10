#include "samite/jit/tape_access.h"

#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

const Kernel scale{"scale", {"y", "x", "a"}, [](Array<float, 1> y, Array<const float, 1> x, Float a) {
                     Int i = thread_index();
                     y(i) = a * x(i);
                   }};
const Kernel square{"square", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                      Int i = thread_index();
                      y(i) = x(i) * x(i);
                    }};
const Kernel float_total{
    "total", {"sum", "x"}, [](Array<float, 1> sum, Array<const float, 1> x) { atomic_add(sum(0), x(thread_index())); }};

Buffer<float> tracked_floats(std::initializer_list<float> values) {
  return Buffer<float>(device, {static_cast<std::int64_t>(values.size())}, values, Gradient::tracked);
}

TEST(Tape, GoesBackOverOrdinaryAndRecordedLaunches) {
  auto x = tracked_floats({1, 2, 3}), y = tracked_floats({0, 0, 0}), z = tracked_floats({0, 0, 0}),
       sum = tracked_floats({0});
  Launch recorded = square.record({3}, z, y);
  Tape tape;
  tape.record([&] {
    scale.launch({3}, y, x, 2.0f);
    recorded.launch();
    float_total.launch({3}, sum, z);
  });
  EXPECT_EQ(tape.size(), 3u);
  tape.backward(sum);
  EXPECT_EQ(sum.at(0), 56);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(8, 16, 24));  // d/dx (2x)^2 = 8x
}

TEST(Tape, MayGoBackMoreThanOnce) {
  auto x = tracked_floats({3}), y = tracked_floats({0});
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

// y = a x, and z = b y: the gradient of b is final before that of a.
TEST(Tape, CallsAsSoonAsGradientsAreFinal) {
  const Kernel scale_by{
      "scale_by", {"y", "x", "a"}, [](Array<float, 1> y, Array<const float, 1> x, Array<const float, 1> a) {
        Int i = thread_index();
        y(i) = a(i) * x(i);
      }};
  auto x = tracked_floats({2, 3}), a = tracked_floats({5, 7}), b = tracked_floats({11, 13}),
       unused = tracked_floats({0}), y = tracked_floats({0, 0}), z = tracked_floats({0, 0}), sum = tracked_floats({0});
  Tape tape;
  tape.record([&] {
    scale_by.launch({2}, y, x, a);
    scale_by.launch({2}, z, y, b);
    float_total.launch({2}, sum, z);
  });
  std::vector<std::string> calls;
  const auto note = [&](const char *name, const AnyBuffer &array) {
    return [&calls, name, array] {
      std::string text = name;
      for (const float value : Buffer<float>(array.gradient()).to_vector())
        text += ' ' + std::to_string(static_cast<int>(value));
      calls.push_back(text);
    };
  };
  tape.backward(sum, {{{a.slice(0, 0, 1), b}, note("both", a)},
                      {{a}, note("a", a)},
                      {{b.slice(0, 1, 2)}, note("b", b)},
                      {{unused}, note("unused", unused)}});
  EXPECT_THAT(calls, ElementsAre("unused 0", "b 10 21", "both 22 39", "a 22 39"));
  EXPECT_THROW(tape.backward(sum, {{{b}, [] { throw UserError({}, "stop"); }}}), UserError);
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(sum); }), HasSubstr("zero_gradients"));
}

TEST(Tape, TakesCotangents) {
  auto x = tracked_floats({1, 2}), y = tracked_floats({0, 0});
  Tape tape;
  tape.record([&] { square.launch({2}, y, x); });
  tape.backward({{y, Buffer<float>(device, {2}, {10, 100})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(20, 400));
}

TEST(Tape, RemembersTheArgumentsOfEachLaunch) {
  auto x = tracked_floats({1}), y = tracked_floats({0}), z = tracked_floats({0});
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
  auto a = tracked_floats({1}), b = tracked_floats({0});
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
  auto a = tracked_floats({3}), b = tracked_floats({0});
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
  auto x = tracked_floats({3, 2});
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
  auto x = tracked_floats({3});
  Tape tape;
  tape.record([&] { square.launch({1}, x, x); });
  tape.backward(x);
  EXPECT_EQ(x.gradient().at(0), 6);
}

TEST(Tape, SkipsLaunchesThatNoGradientPasses) {
  auto x = tracked_floats({2}), y = tracked_floats({0});
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
  auto x = tracked_floats({2}), y = tracked_floats({0});
  Tape tape;
  tape.record([&] { square.launch({1}, y, x); });
  EXPECT_EQ(tape.to_string(), "Tape of 1 launches\n  0: square over (1)");
  tape.clear();
  EXPECT_EQ(tape.size(), 0u);
}

TEST(TapeRefuses, ValuesThatWereOverwrittenSince) {
  auto x = tracked_floats({2}), y = tracked_floats({0});
  x.set_name("state");
  Tape tape;
  tape.record([&] { square.launch({1}, y, x); });
  x.fill(100);
  std::string message = message_of<UserError>([&] { tape.backward(y); });
  EXPECT_THAT(message, HasSubstr("kernel 'square'"));
  EXPECT_THAT(message, HasSubstr("argument 1 ('x'), 'state'"));
  EXPECT_THAT(message, HasSubstr("overwritten since"));
}

TEST(TapeRefuses, ValuesThatALaterLaunchOverwroteWhereItMayNotKeepThem) {
  auto a = tracked_floats({2}), b = tracked_floats({0});
  Tape tape{{.keep_values = false}};
  tape.record([&] {
    square.launch({1}, b, a);
    square.launch({1}, a, b);
  });
  EXPECT_EQ(tape.kept_bytes(), 0);
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(a); }), HasSubstr("overwritten"));
}

TEST(TapeRefuses, AnArrayThatSomethingElseWroteInBetween) {
  auto x = tracked_floats({2}), y = tracked_floats({0}), z = tracked_floats({0});
  Tape tape;
  tape.record([&] { scale.launch({1}, y, x, 2.0f); });
  y.fill(7);
  tape.record([&] { scale.launch({1}, z, y, 2.0f); });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(z); }), HasSubstr("something that is not on it"));
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(y); }), HasSubstr("something that is not on it"));
}

TEST(TapeRefuses, AGradientThatWouldBeLostInBetween) {
  auto x = tracked_floats({3}), z = tracked_floats({0});
  Buffer<float> between(device, {1}), further(device, {1});
  further.set_name("further");
  int launched = 0;
  Tape tape;
  tape.record([&] {
    square.launch({1}, between, x);
    scale.launch({1}, further, between, 2.0f);
    launched = __LINE__ + 1;
    square.launch({1}, z, further);
  });
  std::string message = message_of<UserError>([&] { tape.backward(z); });
  EXPECT_THAT(message, HasSubstr("argument 1 ('x'), 'further', of launch 2 ("));
  EXPECT_THAT(message, HasSubstr("tape_test.cpp:" + std::to_string(launched) + "), kernel 'square'"));
  EXPECT_THAT(message, HasSubstr("construct it with Gradient::tracked"));
}

TEST(TapeRefuses, AnObjectiveThatIsNotOneTrackedElementOnIt) {
  auto x = tracked_floats({1, 2}), y = tracked_floats({0, 0});
  Buffer<float> plain(device, {1});
  Tape tape;
  tape.record([&] { square.launch({2}, y, x); });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(y); }), HasSubstr("needs one element"));
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(plain); }), HasSubstr("tracks no gradient"));
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(tracked_floats({1})); }),
              HasSubstr("no launch on the tape uses"));
}

TEST(TapeRefuses, ToRecordInsideOfAnother) {
  Tape outer, inner;
  EXPECT_THAT(message_of<UserError>([&] { outer.record([&] { inner.record([] {}); }); }),
              HasSubstr("records a tape already"));
  EXPECT_EQ(jit::TapeAccess::recording(), nullptr) << "an exception ends the recording";
}

const Kernel squares_of_elements{"squares_of_elements", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                                   auto [i, j] = thread_index<2>();
                                   y(i, j) = x(i, j) * x(i, j);
                                 }};

// Step after step, each from a row, or a column, of an array to the next one.
TEST(Tape, RowsOfOneArrayDoNotDisturbEachOther) {
  constexpr std::int64_t steps = 4;
  for (const bool keep : {false, true})
    for (const int dimension : {0, 1}) {
      Buffer<double> all(device, {steps + 1, steps + 1}, Gradient::tracked);
      all.fill(1.25);
      Tape tape{{.keep_values = keep}};
      const auto part = [&](std::int64_t k) { return all.slice(dimension, k, k + 1); };
      tape.record([&] {
        for (std::int64_t k = 0; k < steps; ++k) squares_of_elements.launch(part(k).extents(), part(k + 1), part(k));
      });
      EXPECT_EQ(tape.kept_bytes(), 0);
      Buffer<double> ones(device, part(steps).extents());
      ones.fill(1);
      tape.backward({{part(steps), ones}});
      const double expected = 16 * std::pow(1.25, 15);
      for (double gradient : Buffer<double>(part(0).gradient()).clone().to_vector())
        EXPECT_NEAR(gradient, expected, 1e-9 * expected);
    }
}

TEST(Tape, ForgivesTheHostsWritesToOtherRows) {
  Buffer<double> x(device, {3, 2}, {1, 2, 3, 4, 5, 6}, Gradient::tracked), y(device, {1, 2}, Gradient::tracked),
      ones(device, {1, 2}, {1, 1});
  Tape tape;
  tape.record([&] { squares_of_elements.launch({1, 2}, y, x.slice(0, 0, 1)); });
  x.slice(0, 1, 2).fill(100);
  x.set({2, 1}, -7);
  tape.record([&] { squares_of_elements.launch({1, 2}, y, x.slice(0, 1, 2)); });
  tape.backward({{y, ones}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(0, 0, 200, 200, 0, 0));
  x.set({1, 0}, 5);
  EXPECT_THAT(message_of<UserError>([&] { tape.backward({{y, ones}}); }), HasSubstr("overwritten since"));
}

const Kernel halves_of_squares{"halves_of_squares", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                                 Int i = thread_index();
                                 y(i) = 0.5 * x(i) * x(i);
                               }};

// Launches from and to slices of one array, and the test's knowledge of each element.
class SlicesOfOneArray {
 public:
  static constexpr int size = 48;
  struct Slice {
    std::vector<int> elements;
    Buffer<double> buffer;
  };
  struct Step {
    Slice to, from;
    bool overwritten = false;  // its inputs were overwritten since
  };

  explicit SlicesOfOneArray(unsigned seed) : random_(seed), array_(device, {size}, Gradient::tracked) {
    for (int i = 0; i < size; ++i) values_.push_back(1 + i / 100.);
    array_.copy_from(values_);
  }

  void launch() {
    const int count = 1 + below(8);
    Slice to = slice(count), from = slice(count);
    while (to.buffer.overlaps(from.buffer)) to = slice(count), from = slice(count);
    halves_of_squares.launch({count}, to.buffer, from.buffer);
    for (Step &step : steps_)
      for (const int element : to.elements)
        step.overwritten = step.overwritten || std::ranges::count(step.from.elements, element) > 0;
    read_.emplace_back();
    for (std::size_t i = 0; i < to.elements.size(); ++i) {
      const double x = values_[static_cast<std::size_t>(from.elements[i])];
      read_.back().push_back(x);
      values_[static_cast<std::size_t>(to.elements[i])] = 0.5 * x * x;
    }
    steps_.push_back({to, from});
  }

  std::vector<double> gradient() const {
    std::vector<double> gradient(size, 1);
    for (std::size_t s = steps_.size(); s-- > 0;)
      for (std::size_t i = 0; i < read_[s].size(); ++i) {
        const double taken = std::exchange(gradient[static_cast<std::size_t>(steps_[s].to.elements[i])], 0);
        gradient[static_cast<std::size_t>(steps_[s].from.elements[i])] += taken * read_[s][i];
      }
    return gradient;
  }
  const std::vector<Step> &steps() const { return steps_; }
  Buffer<double> &array() { return array_; }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  Slice slice(int count) {
    const int step = 1 + below(3), begin = below(size - (count - 1) * step);
    Slice slice;
    for (int i = 0; i < count; ++i) slice.elements.push_back(begin + i * step);
    slice.buffer = array_.slice(0, begin, begin + (count - 1) * step + 1, step);
    return slice;
  }

  std::mt19937 random_;
  Buffer<double> array_;
  std::vector<double> values_;
  std::vector<Step> steps_;
  std::vector<std::vector<double>> read_;
};

TEST(Tape, KeepsOrRefusesJustWhatIsOverwritten) {
  int refused = 0;
  constexpr unsigned seeds = 60;
  for (unsigned seed = 0; seed < seeds; ++seed)
    for (const bool keep : {false, true}) {
      SlicesOfOneArray slices(seed);
      Tape tape{{.keep_values = keep}};
      tape.record([&] {
        for (unsigned i = 0; i < 2 + seed % 5; ++i) slices.launch();
      });
      std::int64_t overwritten = 0;
      for (const auto &step : slices.steps())
        if (step.overwritten) overwritten += static_cast<std::int64_t>(step.from.elements.size() * sizeof(double));
      EXPECT_EQ(tape.kept_bytes(), keep ? overwritten : 0);
      Buffer<double> ones(device, {SlicesOfOneArray::size});
      ones.fill(1);
      if (!keep && overwritten > 0) {
        ++refused;
        EXPECT_THAT(message_of<UserError>([&] { tape.backward({{slices.array(), ones}}); }), HasSubstr("overwritten"));
        continue;
      }
      tape.backward({{slices.array(), ones}});
      const std::vector<double> got = slices.array().gradient().to_vector(), expected = slices.gradient();
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-12) << seed << ", element " << i;
    }
  EXPECT_GT(refused, 10);
  EXPECT_LT(refused, 50);
}

TEST(Tape, SumsCotangentsThatMeet) {
  auto x = tracked_floats({1, 2, 3}), y = tracked_floats({0, 0, 0});
  const auto values = [](std::initializer_list<float> v) {
    return Buffer<float>(device, {static_cast<std::int64_t>(v.size())}, v);
  };
  Tape tape;
  tape.record([&] { scale.launch({3}, y, x, 2.0f); });
  tape.backward({{y, values({1, 2, 3})}, {y, values({10, 20, 30})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(22, 44, 66));
  tape.zero_gradients();
  tape.backward({{y, values({1, 2, 3})}, {y.slice(0, 1, 2), values({100})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2, 204, 6));
  tape.zero_gradients();
  tape.backward({{y.slice(0, 0, 2), values({1, 1})}, {y.slice(0, 1, 3), values({1, 1})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2, 4, 2));
  tape.zero_gradients();
  tape.backward({{y.slice(0, 2, 3).broadcast({4}), values({1, 2, 3, 4})}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(0, 0, 20));
}

TEST(Tape, TakesAGradientForACotangent) {
  auto x = tracked_floats({3}), y = tracked_floats({0}), z = tracked_floats({0});
  Tape first, second;
  first.record([&] { square.launch({1}, y, x); });
  second.record([&] { square.launch({1}, z, y); });
  second.backward(z);
  first.backward({{y, y.gradient()}});
  EXPECT_EQ(x.gradient().at(0), 4 * 27) << "d x⁴";
}

// h is only added to, so that its gradient is not taken; yet each step has the gradients of one step.
TEST(Tape, OverTheSameBuffersHasTheSameGradientsEachStep) {
  const Kernel add_square{"add_square", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                            Int i = thread_index();
                            y(i) += x(i) * x(i);
                          }};
  auto x = tracked_floats({1, 2}), h = tracked_floats({0, 0}), sum = tracked_floats({0});
  for (int step = 0; step < 3; ++step) {
    Tape tape;
    tape.record([&] {
      h.fill(0);
      sum.fill(0);
      add_square.launch({2}, h, x);
      add_square.launch({2}, h, x);
      float_total.launch({2}, sum, h);
    });
    x.zero_gradient();
    tape.backward(sum);
    EXPECT_THAT(x.gradient().to_vector(), ElementsAre(4, 8)) << "step " << step;
    EXPECT_THAT(h.gradient().to_vector(), ElementsAre(0, 0)) << "it was filled";
  }
  for (int step = 0; step < 3; ++step) {  // filled before the tape records
    h.fill(0);
    sum.fill(0);
    Tape tape;
    tape.record([&] {
      add_square.launch({2}, h, x);
      float_total.launch({2}, sum, h);
    });
    x.zero_gradient();
    tape.backward(sum);
    EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2, 4)) << "step " << step;
    EXPECT_THAT(h.gradient().to_vector(), ElementsAre(1, 1)) << "by what was there before";
  }
}

TEST(TapeRefuses, ANegativeLimitOfMemory) {
  auto x = tracked_floats({1}), y = tracked_floats({0});
  const LaunchOptions options{.memory_limit = -1};
  EXPECT_THAT(message_of<UserError>([&] { square.launch({1}, options, y, x); }),
              HasSubstr("memory_limit is a number of bytes, 0 or more; -1 is given"));
  EXPECT_THAT(message_of<UserError>([&] { square.record({1}, options, y, x); }), HasSubstr("memory_limit"));
}

TEST(TapeRefuses, ToRecordInsideOfACapture) {
  auto x = tracked_floats({1}), y = tracked_floats({0});
  Tape tape;
  EXPECT_THAT(message_of<UserError>([&] {
                capture(Stream::standard(device), [&] {
                  tape.record([&] { square.launch({1}, y, x); });
                  tape.backward(y);
                });
              }),
              HasSubstr("launches in a capture are not put on a tape"));
}

TEST(Tape, GoesBackInAGraphToo) {
  auto x = tracked_floats({1, 2}), y = tracked_floats({0, 0}), sum = tracked_floats({0});
  const Stream stream{device};
  const LaunchOptions on_stream{.stream = stream};
  Launch forward = square.record({2}, on_stream, y, x), total = float_total.record({2}, on_stream, sum, y);
  Tape tape;
  tape.record([&] {
    forward.launch();
    total.launch();
  });
  tape.backward(sum);
  Graph step = capture(stream, [&] {
    x.zero_gradient();
    sum.fill(0);
    forward.launch();
    total.launch();
    tape.backward(sum);
  });
  for (const float value : {3.0f, 5.0f}) {
    x.fill(value);
    step.launch();
    stream.synchronize();
    EXPECT_EQ(sum.at(0), 2 * value * value);
    EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2 * value, 2 * value));
  }
}

TEST(TapeRefuses, ToGoBackInAGraphWithCopiesOfValues) {
  auto x = tracked_floats({3});
  Tape tape;
  tape.record([&] { square.launch({1}, x, x); });
  EXPECT_THAT(message_of<UserError>([&] { capture(Stream::standard(device), [&] { tape.backward(x); }); }),
              HasSubstr("kept copies of 4 bytes"));
}

}  // namespace
}  // namespace samite::test
