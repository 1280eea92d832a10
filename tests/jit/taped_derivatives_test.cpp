// Adjoint and tangent launches while a tape records: gradients of gradients.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

const Kernel squares_on_tape{"squares_on_tape", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                               Int i = thread_index();
                               y(i) = x(i) * x(i);
                             }};
const Kernel total_on_tape{"total_on_tape", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                             atomic_add(sum(0), x(thread_index()));
                           }};
const Kernel total_of_squares{"total_of_squares", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                                Int i = thread_index();
                                atomic_add(sum(0), x(i) * x(i));
                              }};

struct TapedDerivatives : testing::Test {
  Buffer<double> x{device, {2}, {1, 2}, Gradient::tracked}, y{device, {2}, Gradient::tracked},
      sum{device, {1}, Gradient::tracked};
  Tape tape;
};

TEST_F(TapedDerivatives, ATangentLaunchRunsTheKernelToo) {
  x.gradient().fill(1);
  tape.record([&] {
    squares_on_tape.launch({2}, {.direction = Direction::tangent}, y, x);
    total_on_tape.launch({2}, sum, y);
  });
  EXPECT_THAT(y.gradient().to_vector(), ElementsAre(2, 4)) << "the tangents";
  x.zero_gradient();
  tape.backward(sum);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2, 4));
}

TEST_F(TapedDerivatives, OfATangentAreSecondDerivatives) {
  x.gradient().fill(3);
  y.gradient().track_gradient();
  tape.record([&] {
    squares_on_tape.launch({2}, {.direction = Direction::tangent}, y, x);
    total_on_tape.launch({2}, sum, y.gradient());
  });
  x.zero_gradient();
  tape.backward(sum);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(6, 6)) << "d (2 x dx)";
}

// y₀ + |d (y₀ + y₁) / dx|², in the gradients that the adjoint launch itself has left.
TEST_F(TapedDerivatives, OfAnAdjointAreThoseOfAPenalty) {
  x.gradient().track_gradient();
  const auto work = [&] {
    squares_on_tape.launch({2}, y, x);
    y.gradient().fill(1);
    squares_on_tape.launch({2}, {.direction = Direction::adjoint}, y, x);
    total_of_squares.launch({2}, sum, x.gradient());
    total_on_tape.launch({1}, sum, y);
  };
  tape.record(work);
  EXPECT_EQ(sum.at(0), 1 + 4 + 16);
  tape.zero_gradients();
  tape.backward(sum);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(10, 16)) << "2 x₀ of the loss, 8 x of the penalty";

  Launch adjoint = squares_on_tape.record({2}, {.direction = Direction::adjoint}, y, x);
  tape.clear();
  x.zero_gradient();
  tape.record([&] {
    y.gradient().fill(1);
    adjoint.launch();
    total_of_squares.launch({2}, sum, x.gradient());
  });
  x.zero_gradient();
  tape.backward(sum);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(8, 16)) << "recorded";
}

TEST_F(TapedDerivatives, OfATapeThatGoesBackWhileAnotherRecords) {
  x.gradient().track_gradient();
  Tape inner;
  inner.record([&] { squares_on_tape.launch({2}, y, x); });
  tape.record([&] {
    inner.backward({{y, Buffer<double>(device, {2}, {1, 1})}});
    total_of_squares.launch({2}, sum, x.gradient());
  });
  x.zero_gradient();
  tape.backward(sum);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(8, 16));
}

TEST_F(TapedDerivatives, AreRefusedWhereTheGradientTracksNone) {
  int line = 0;
  tape.record([&] {
    y.gradient().fill(1);
    line = __LINE__ + 1;
    squares_on_tape.launch({2}, {.direction = Direction::adjoint}, y, x);
    total_of_squares.launch({2}, sum, x.gradient());
  });
  const std::string message = message_of<UserError>([&] { tape.backward(sum); });
  EXPECT_THAT(message, HasSubstr("a gradient would be lost"));
  EXPECT_THAT(message, HasSubstr("taped_derivatives_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("call track_gradient() on that gradient before the tape is recorded"));
}

TEST_F(TapedDerivatives, AreRefusedWhereGradientsShareMemory) {
  Buffer<double> both(device, {2}, Gradient::tracked);
  Kernel product{
      "product", {"y", "a", "b"}, [](Array<double, 1> out, Array<const double, 1> a, Array<const double, 1> b) {
        Int i = thread_index();
        out(i) = a(i) * b(i);
      }};
  EXPECT_THAT(message_of<UserError>(
                  [&] { tape.record([&] { product.launch({2}, {.direction = Direction::adjoint}, y, both, both); }); }),
              HasSubstr("shares no memory with another argument"));
}

TEST_F(TapedDerivatives, AreRefusedWhereBackwardChangesWhatIsNotKept) {
  x.gradient().track_gradient();
  Tape without{{.keep_values = false}};
  without.record([&] {
    y.gradient().fill(1);
    squares_on_tape.launch({2}, {.direction = Direction::adjoint}, y, x);
    total_of_squares.launch({2}, sum, x.gradient());
  });
  EXPECT_THAT(message_of<UserError>([&] { without.backward(sum); }), HasSubstr("backward changes it"));
}

}  // namespace
}  // namespace samite::test
