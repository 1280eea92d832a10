// Functions of the host on a tape, with adjoints of their own.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <cstring>
#include <vector>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

Buffer<double> taped_numbers(std::vector<double> values, Gradient gradient = Gradient::tracked) {
  return Buffer<double>(device, {values.size()}, values, gradient);
}

const Kernel taped_squares{"taped_squares", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                             Int i = thread_index();
                             y(i) = x(i) * x(i);
                           }};

// y = x^3 on the host, and its gradient from the values that the tape passes.
void cube_on_host(Tape &tape, const Buffer<double> &y, const Buffer<double> &x, const FunctionOptions &options = {}) {
  tape.record_function(
      {y}, {x},
      [=] {
        std::vector<double> values = x.to_vector();
        for (double &value : values) value = value * value * value;
        Buffer<double>(y).copy_from(std::span<const double>(values));
      },
      [](const FunctionGradients &of) {
        const std::vector<double> x = Buffer<double>(of.input_values[0]).to_vector(),
                                  cotangent = Buffer<double>(of.outputs[0]).to_vector();
        std::vector<double> sum = Buffer<double>(of.inputs[0]).to_vector();
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += 3 * x[i] * x[i] * cotangent[i];
        Buffer<double>(of.inputs[0]).copy_from(std::span<const double>(sum));
      },
      options);
}

TEST(TapeFunction, IsAPartOfAChain) {
  auto x = taped_numbers({1, 2}), y = taped_numbers({0, 0}), z = taped_numbers({0, 0}), w = taped_numbers({0, 0});
  Tape tape;
  tape.record([&] {
    taped_squares.launch({2}, y, x);
    cube_on_host(tape, z, y, {.name = "cube"});
    taped_squares.launch({2}, w, z);
  });
  EXPECT_EQ(tape.size(), 3u);
  EXPECT_THAT(tape.to_string(), HasSubstr("1: cube"));
  EXPECT_THAT(w.to_vector(), ElementsAre(1, 4096));
  tape.backward({{w, taped_numbers({1, 1}, Gradient::untracked)}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(12, 12 * 2048)) << "of x^12";
  EXPECT_THAT(z.gradient().to_vector(), ElementsAre(0, 0));
  tape.zero_gradients();
  tape.backward({{w, taped_numbers({1, 0}, Gradient::untracked)}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(12, 0)) << "a second time";
}

TEST(TapeFunction, IsRecordedOutsideOfRecordToo) {
  auto x = taped_numbers({2}), y = taped_numbers({0});
  Tape tape;
  cube_on_host(tape, y, x);
  tape.backward(y);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(12));
}

TEST(TapeFunction, ReadsValuesThatWereOverwrittenSince) {
  auto x = taped_numbers({2}), y = taped_numbers({0}), z = taped_numbers({0}), other = taped_numbers({5});
  Tape tape;
  tape.record([&] {
    cube_on_host(tape, y, x);
    taped_squares.launch({1}, z, y);
    x.copy_from(other);
  });
  EXPECT_GE(tape.kept_bytes(), 8);
  tape.backward(z);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2 * 8 * 12));
}

TEST(TapeFunction, RefusesValuesThatWereOverwrittenOutside) {
  auto x = taped_numbers({2}), y = taped_numbers({0});
  Tape tape;
  cube_on_host(tape, y, x);
  x.fill(1);
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(y); }), HasSubstr("were overwritten since"));
}

TEST(TapeFunction, WhatItDoesIsNotRecorded) {
  auto x = taped_numbers({3}), y = taped_numbers({0}), inside = taped_numbers({0});
  Tape tape;
  tape.record([&] {
    tape.record_function(
        {y}, {x}, [&] { taped_squares.launch({1}, inside, x), taped_squares.launch({1}, y, inside); },
        [](const FunctionGradients &of) { Buffer<double>(of.inputs[0]).fill(7); });
  });
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ(y.at(0), 81);
  tape.backward(y);
  EXPECT_EQ(x.gradient().at(0), 7);
}

TEST(TapeFunction, NamesAnArrayThatItWritesUndeclared) {
  auto x = taped_numbers({3}), y = taped_numbers({0}), state = taped_numbers({2});
  state.set_name("state");
  Tape tape;
  tape.record([&] { taped_squares.launch({1}, y, state); });
  const auto writes_state = [&] {
    tape.record_function({y}, {x}, [&] { state.fill(1); }, [](const FunctionGradients &) {}, {.name = "advance"});
  };
  const std::string message = message_of<UserError>(writes_state);
  EXPECT_THAT(message, HasSubstr("'advance' on a tape wrote to 'state'"));
  EXPECT_THAT(message, HasSubstr("not among its outputs"));
}

TEST(TapeFunction, DebugModeFindsWritesToAddresses) {
  SAMITE_ON_THE_CPU();
  auto x = taped_numbers({3}), y = taped_numbers({0}), state = taped_numbers({2});
  state.set_name("state");
  Tape tape;
  tape.record([&] { taped_squares.launch({1}, y, state); });
  const auto writes_state = [&] {
    tape.record_function({y}, {x}, [&] { *state.data() += 1; }, [](const FunctionGradients &) {});
  };
  writes_state();  // not seen
  const bool before = debug_mode();
  set_debug_mode(true);
  const std::string message = message_of<UserError>(writes_state);
  set_debug_mode(before);
  EXPECT_THAT(message, HasSubstr("wrote to 'state'"));
}

TEST(TapeFunction, ABackwardThatWritesToAnArrayIsNamed) {
  auto x = taped_numbers({3}), y = taped_numbers({0});
  x.set_name("x");
  Tape tape;
  tape.record_function({y}, {x}, [] {}, [&](const FunctionGradients &) { x.fill(1); });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(y); }),
              HasSubstr("'backward of function' on a tape wrote to 'x'"));
}

TEST(TapeFunction, RefusesToLoseAGradient) {
  auto x = taped_numbers({2}), y = taped_numbers({0}, Gradient::untracked), z = taped_numbers({0});
  Tape tape;
  tape.record([&] {
    cube_on_host(tape, y, x);
    taped_squares.launch({1}, z, y);
  });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(z); }), HasSubstr("a gradient would be lost"));
}

TEST(TapeFunction, RefusesWrongArrays) {
  auto x = taped_numbers({1, 2}), y = taped_numbers({0, 0});
  Tape tape, other;
  const auto nothing = [] {};
  const auto none = [](const FunctionGradients &) {};
  const auto message = [&](const std::vector<AnyBuffer> &outputs, const std::vector<AnyBuffer> &inputs) {
    return message_of<UserError>([&] { tape.record_function(outputs, inputs, nothing, none, {.name = "f"}); });
  };
  EXPECT_THAT(message({}, {x}), HasSubstr("'f' on a tape has no outputs"));
  EXPECT_THAT(message({y}, {Buffer<double>()}), HasSubstr("input 0 is an empty buffer"));
  EXPECT_THAT(message({x}, {x.slice(0, 1, 2)}), HasSubstr("input 0 and output 0 share elements"));
  EXPECT_THAT(message({x.slice(0, 0, 1).broadcast({3})}, {y}), HasSubstr("broadcast"));
  EXPECT_THAT(message_of<UserError>([&] { tape.record_function({y}, {x}, nothing, nullptr); }),
              HasSubstr("both a forward and a backward"));
  EXPECT_THAT(message_of<UserError>([&] { other.record([&] { tape.record_function({y}, {x}, nothing, none); }); }),
              HasSubstr("records another tape"));
  EXPECT_EQ(tape.size(), 0u);
}

TEST(TapeFunction, OfTheHostHasNoSecondDerivative) {
  auto x = taped_numbers({2}), y = taped_numbers({0});
  x.gradient().track_gradient(), y.gradient().track_gradient();
  Tape inner, outer;
  cube_on_host(inner, y, x);
  EXPECT_THAT(message_of<UserError>([&] { outer.record([&] { inner.backward(y); }); }),
              HasSubstr("FunctionOptions::differentiable_backward"));
}

TEST(TapeFunction, OfLaunchesHasASecondDerivative) {
  auto x = taped_numbers({2}), y = taped_numbers({0});
  x.gradient().track_gradient(), y.gradient().track_gradient();
  const Kernel slope{"slope", [](Array<double, 1> sum, Array<const double, 1> x, Array<const double, 1> cotangent) {
                       Int i = thread_index();
                       sum(i) += 3 * x(i) * x(i) * cotangent(i);
                     }};
  Tape inner, outer;
  inner.record_function(
      {y}, {x}, [&] { y.set({0}, 8); },
      [&](const FunctionGradients &of) {
        slope.launch({1}, Buffer<double>(of.inputs[0]), Buffer<double>(of.input_values[0]),
                     Buffer<double>(of.outputs[0]));
      },
      {.differentiable_backward = true});
  outer.record([&] { inner.backward(y); });
  outer.backward(x.gradient());
  EXPECT_EQ(x.gradient().at(0), 12 + 12) << "the slope, and then the slope of it";
}

TEST(TapeFunction, GradientsThatAreNotFiniteAreNamed) {
  auto x = taped_numbers({2}), y = taped_numbers({0});
  Tape tape(TapeOptions{.check_finite = true});
  tape.record_function(
      {y}, {x}, [] {},
      [](const FunctionGradients &of) { Buffer<double>(of.inputs[0]).fill(std::numeric_limits<double>::quiet_NaN()); });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(y); }), HasSubstr("input 0"));
}

TEST(WithoutGradients, LaunchesAreConstants) {
  auto x = taped_numbers({3}), y = taped_numbers({0}), z = taped_numbers({0});
  auto scale = taped_numbers({0}, Gradient::untracked);
  const Kernel product{"product", [](Array<double, 1> z, Array<const double, 1> y, Array<const double, 1> s) {
                         Int i = thread_index();
                         z(i) = y(i) * s(i);
                       }};
  Tape tape;
  tape.record([&] {
    taped_squares.launch({1}, y, x);
    without_gradients([&] { taped_squares.launch({1}, scale, y); });
    product.launch({1}, z, y, scale);
  });
  EXPECT_EQ(tape.size(), 2u);
  tape.backward(z);
  EXPECT_EQ(x.gradient().at(0), 6 * 81);
}

TEST(WithoutGradients, RefusesATrackedArrayOfTheTape) {
  auto x = taped_numbers({3}), y = taped_numbers({0}), z = taped_numbers({0});
  Tape tape;
  tape.record([&] {
    taped_squares.launch({1}, y, x);
    without_gradients([&] { taped_squares.launch({1}, y, x); });
    taped_squares.launch({1}, z, y);
  });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(z); }), HasSubstr("was written between two launches"));
}

TEST(WithoutGradients, WithoutATapeIsTheWork) {
  auto x = taped_numbers({3}), y = taped_numbers({0});
  without_gradients([&] { taped_squares.launch({1}, y, x); });
  EXPECT_EQ(y.at(0), 9);
}

}  // namespace
}  // namespace samite::test
