// Operations that bring their own adjoint to a tape: a square with an adjoint kernel that reads the result.
#include "samite/jit/definition.h"
#include "samite/jit/operation.h"

#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

Buffer<float> operand(std::vector<float> values, Gradient gradient = Gradient::tracked) {
  return Buffer<float>(device, {values.size()}, values, gradient);
}

const Kernel root{"root", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                    Int i = thread_index();
                    y(i) = sqrt(x(i));
                  }};
// From the root, not from its operand; and by another factor than a derived one, so that a test sees which one ran.
const Kernel root_adjoint{"root_adjoint",
                          {"y", "of_y", "of_x"},
                          [](Array<const float, 1> y, Array<const float, 1> of_y, Array<float, 1> of_x) {
                            Int i = thread_index();
                            of_x(i) += 5.0f * of_y(i) / y(i);
                          }};
const Kernel triple{"triple", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                      Int i = thread_index();
                      y(i) = 3.0f * x(i);
                    }};

int adjoints_made = 0;

void take_root(const AnyBuffer &x, const AnyBuffer &y) {
  const auto adjoint = [x, y](std::span<const AnyBuffer> values) {
    ++adjoints_made;
    return std::vector<jit::AdjointLaunch>{
        {root_adjoint.definition(), x.extents(), {{values[1], 0}, {y.gradient(), 0}, {x.gradient(), 0}}}};
  };
  jit::perform({.name = "root",
                .arrays = {{x, "x"}, {.buffer = y, .name = "y", .written = true, .needed = true}},
                .adjoint = adjoint},
               [&](bool) { root.launch(x.extents(), Buffer<float>(y), Buffer<float>(x)); }, {});
}

TEST(TapeOperation, RunsItsOwnAdjointWhichAdds) {
  auto x = operand({1, 4, 16}), y = operand({0, 0, 0});
  x.gradient().fill(100);
  Tape tape;
  tape.record([&] { take_root(x, y); });
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_THAT(tape.to_string(), HasSubstr("0: root"));
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 2, 4));
  tape.backward({{y, operand({1, 2, 4}, Gradient::untracked)}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(105, 105, 105));
  EXPECT_THAT(y.gradient().to_vector(), ElementsAre(0, 0, 0)) << "it overwrites y";
}

TEST(TapeOperation, IsOnePartOfAChain) {
  auto x = operand({4}), a = operand({0}), b = operand({0}), c = operand({0});
  Tape tape;
  tape.record([&] {
    triple.launch({1}, a, x);
    take_root(a, b);
    triple.launch({1}, c, b);
  });
  tape.backward(c);
  EXPECT_FLOAT_EQ(x.gradient().at(0), 3 * 5 / std::sqrt(12.0f) * 3);
}

TEST(TapeOperation, MakesItsAdjointOnce) {
  auto x = operand({4}), y = operand({0});
  Tape tape;
  tape.record([&] { take_root(x, y); });
  const int before = adjoints_made;
  tape.backward(y);
  tape.backward(y);
  EXPECT_EQ(adjoints_made, before + 1);
  EXPECT_EQ(x.gradient().at(0), 5);
}

TEST(TapeOperation, KeepsAResultThatALaterOperationOverwrites) {
  auto x = operand({4}), y = operand({0}), z = operand({0}), other = operand({100});
  Tape tape;
  tape.record([&] {
    take_root(x, y);
    triple.launch({1}, z, y);
    take_root(other, y);
  });
  EXPECT_EQ(tape.kept_bytes(), 4);
  tape.backward(z);
  EXPECT_EQ(x.gradient().at(0), 7.5f) << "with y = 2";
}

TEST(TapeOperation, KeepsAResultThatIsOverwrittenAfterAnEarlierBackward) {
  auto x = operand({4}), y = operand({0}), z = operand({0}), other = operand({100});
  Tape tape;
  tape.record([&] {
    take_root(x, y);
    triple.launch({1}, z, y);
  });
  tape.backward(z);
  tape.record([&] { take_root(other, y); });
  tape.zero_gradients();
  tape.backward(z);
  EXPECT_EQ(x.gradient().at(0), 7.5f);
}

TEST(TapeOperation, LaunchesKeepWhatIsOverwrittenAfterAnEarlierBackward) {
  const Kernel square{"square", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                        Int i = thread_index();
                        y(i) = x(i) * x(i);
                      }};
  auto first = operand({2}), x = operand({0}), y = operand({0}), other = operand({50});
  Tape tape;
  tape.record([&] {
    triple.launch({1}, x, first);
    square.launch({1}, y, x);
  });
  tape.backward(y);
  tape.record([&] { triple.launch({1}, x, other); });
  tape.zero_gradients();
  tape.backward(y);
  EXPECT_EQ(first.gradient().at(0), 2 * 6 * 3) << "with x = 6";
}

TEST(TapeOperation, ArraysThatShareMemoryHaveDerivedAdjoints) {
  auto x = operand({4, 16});
  Tape tape;
  tape.record([&] { take_root(x, x); });
  tape.backward({{x, operand({1, 1}, Gradient::untracked)}});
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(0.25f, 0.125f));
}

TEST(TapeOperation, IsDerivedWhereTheTapeLooksForNumbersThatAreNotFinite) {
  auto x = operand({4}), y = operand({0});
  Tape tape(TapeOptions{.check_finite = true});
  tape.record([&] { take_root(x, y); });
  tape.backward(y);
  EXPECT_EQ(x.gradient().at(0), 0.25f);
}

TEST(TapeOperation, WithoutGradientsIsItsLaunches) {
  auto x = operand({4}, Gradient::untracked), y = operand({0}, Gradient::untracked);
  Tape tape;
  tape.record([&] { take_root(x, y); });
  EXPECT_THAT(tape.to_string(), HasSubstr("0: root over"));
  EXPECT_EQ(y.at(0), 2);
}

TEST(TapeOperation, RefusesToLoseAGradient) {
  auto x = operand({4}), y = operand({0}, Gradient::untracked), z = operand({0});
  Tape tape;
  tape.record([&] {
    triple.launch({1}, y, x);
    take_root(y, z);
  });
  // The operation passes no gradient, so that its launch is on the tape.
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(z); }), HasSubstr("a gradient would be lost"));
}

TEST(TapeOperation, RefusesAResultThatWasOverwrittenElsewhere) {
  auto x = operand({4}), y = operand({0});
  Tape tape;
  tape.record([&] { take_root(x, y); });
  y.fill(3);
  EXPECT_THAT(message_of<UserError>([&] { tape.backward(y); }), HasSubstr("was written after the tape used it"));
}

TEST(TapeOperation, IsDifferentiatedTwiceByItsLaunches) {
  auto x = operand({4}), y = operand({0});
  x.gradient().track_gradient();
  y.gradient().track_gradient();
  Tape inner, outer;
  inner.record([&] { take_root(x, y); });
  outer.record([&] { inner.backward(y); });
  outer.backward(Buffer<float>(x.gradient()));
  // The derivative of 5 / y for y, which is a constant of the outer tape's root_adjoint; none of its launches reads x.
  EXPECT_EQ(y.gradient().at(0), -1.25f);
}

}  // namespace
}  // namespace samite::test
