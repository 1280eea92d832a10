#include "samite/jit/gradient_check.h"

#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

const Kernel cubes{"cubes", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                     Int i = thread_index();
                     y(i) = x(i) * x(i) * x(i);
                   }};
// At index 2 the gradient is half of the right one.
const Kernel steps{"steps", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                     Int i = thread_index();
                     y(i) = select(i == 2, stop_gradient(x(i)) * x(i), 2 * x(i));
                   }};
const Kernel total{"total", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                     atomic_add(sum(0), x(thread_index()));
                   }};

Buffer<double> tracked_at(std::initializer_list<double> values) {
  return Buffer<double>(device, {static_cast<std::int64_t>(values.size())}, values, Gradient::tracked);
}

// Otherwise nothing would be compared, and the check would pass.
TEST(GradientCheck, RefusesBuffersThatTrackNothing) {
  Buffer<double> plain_x{device, {3}}, plain_y{device, {3}};
  auto x = tracked_at({1, -2, 3}), y = tracked_at({7, 7, 7});
  for (const auto &into : {plain_y, y})
    EXPECT_THAT(message_of<UserError>([&] { gradcheck(cubes, {3}, into, plain_x); }),
                HasSubstr("none of the arrays that it reads tracks a gradient, so there is nothing to differentiate; "
                          "construct them with Gradient::tracked"));
  EXPECT_THAT(message_of<UserError>([&] { gradcheck(cubes, {3}, plain_y, x); }), HasSubstr("at least one output"));
  EXPECT_THAT(message_of<UserError>([&] { gradcheck([&] { cubes.launch({3}, y, x); }, {}, {y}); }),
              HasSubstr("at least one input"));
  EXPECT_THAT(message_of<UserError>([&] { gradcheck([&] { cubes.launch({3}, y, x); }, {x}, {}); }),
              HasSubstr("at least one output"));
}

TEST(GradientCheck, PassesWhereTheGradientIsRight) {
  auto x = tracked_at({1, -2, 3}), y = tracked_at({7, 7, 7});
  GradientReport report = gradcheck([&] { cubes.launch({3}, y, x); }, {x}, {y});
  EXPECT_TRUE(report.passed) << report;
  EXPECT_EQ(report.checked, 3);
  EXPECT_THAT(x.to_vector(), ElementsAre(1, -2, 3)) << "contents are put back";
  EXPECT_THAT(y.to_vector(), ElementsAre(7, 7, 7));
}

TEST(GradientCheck, GoesOverAllLaunchesOfTheWork) {
  auto x = tracked_at({1, -2, 3}), y = tracked_at({0, 0, 0}), sum = tracked_at({0});
  auto work = [&] {
    sum.fill(0);
    cubes.launch({3}, y, x);
    total.launch({3}, sum, y);
  };
  GradientReport report = gradcheck(work, {x}, {sum});
  EXPECT_TRUE(report.passed) << report;
}

TEST(GradientCheck, OfAKernelTakesItsTrackedArguments) {
  Kernel in_place{"in_place", {"y", "x", "factor"}, [](Array<double, 1> y, Array<const double, 1> x, Double factor) {
                    Int i = thread_index();
                    y(i) += factor * x(i) * x(i);
                  }};
  auto x = tracked_at({1, -2, 3}), y = tracked_at({0, 0, 0});
  GradientReport report = gradcheck(in_place, {3}, y, x, 0.5);
  EXPECT_TRUE(report.passed) << report;
  EXPECT_EQ(report.checked, 6) << "y is input and output";
}

TEST(GradientCheck, NamesTheWorstElementOfAWrongGradient) {
  auto x = tracked_at({1, 2, 3}), y = tracked_at({0, 0, 0});
  x.set_name("heights");
  GradientReport report = gradcheck([&] { steps.launch({3}, y, x); }, {x}, {y});
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.input, 0u);
  EXPECT_THAT(report.index, ElementsAre(2));
  EXPECT_NEAR(report.numeric, 2 * report.analytic, 1e-6) << "d x² is 2 x dx, and the gradient says x dx";
  EXPECT_NEAR(report.error, std::fabs(report.analytic) / std::fmax(1.0 / 3, std::fabs(report.numeric)), 1e-6)
      << "of an element of size 3";
  EXPECT_THAT(report.to_string(), HasSubstr("gradient check FAILED: of 3 elements the worst is (2) of input 0 "
                                            "('heights')"));
}

TEST(GradientCheck, NamesTheParameterOfAKernel) {
  auto x = tracked_at({1, 2, 3}), y = tracked_at({0, 0, 0});
  GradientReport report = gradcheck(steps, {3}, y, x);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.name, "x");
}

TEST(GradientCheck, ChecksAsManyElementsAsAskedFor) {
  auto x = tracked_at({1, -2, 3, 4, 5, 6}), y = tracked_at({0, 0, 0, 0, 0, 0});
  GradientReport report = gradcheck(cubes, {6}, {.elements = 2}, y, x);
  EXPECT_TRUE(report.passed) << report;
  EXPECT_EQ(report.checked, 4) << "two of each";
}

// Each output counts by its own scale, so that large ones hide no small ones.
TEST(GradientCheck, OutputsMayDifferInSize) {
  Kernel squares{"squares", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                   Int i = thread_index();
                   y(i) = x(i) * x(i);
                 }};
  auto x = tracked_at({1e6, 1e-6, 1}), y = tracked_at({0, 0, 0});
  GradientReport report = gradcheck(squares, {3}, y, x);
  EXPECT_TRUE(report.passed) << report;

  Kernel powers{"powers", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = exp(x(i));
                }};
  x.copy_from({20, -20, 0});
  report = gradcheck(powers, {3}, y, x);
  EXPECT_TRUE(report.passed) << report;
}

TEST(GradientCheck, FindsAWrongGradientOfASmallOutputBesideLargeOnes) {
  for (const double size : {1e12, 1.0, 1e-12, 1e-30}) {
    Kernel two{"two", {"y", "x"}, [&](Array<double, 1> y, Array<const double, 1> x) {
                 y(0) = x(0) * x(0);
                 y(1) = size * stop_gradient(x(0)) * x(0);  // half of the right gradient
               }};
    auto x = tracked_at({3}), y = tracked_at({0, 0});
    GradientReport report = gradcheck(two, {1}, y, x);
    EXPECT_FALSE(report.passed) << size;
    EXPECT_GT(report.error, 0.01) << size;
  }
}

TEST(GradientReport, TakesANaNForTheWorst) {
  GradientReport report;
  report.take(0, "x", {0}, 1, 100);
  report.take(0, "x", {1}, NAN, 1);
  report.take(0, "x", {2}, 0, 1e9);
  EXPECT_THAT(report.index, ElementsAre(1));
  EXPECT_EQ(report.checked, 3);
}

TEST(GradientCheckRefuses, ArraysThatTrackNoGradient) {
  auto y = tracked_at({0});
  Buffer<double> x(device, {1});
  EXPECT_THAT(message_of<UserError>([&] { gradcheck([] {}, {x}, {y}); }),
              testing::AllOf(HasSubstr("gradcheck: input 0"), HasSubstr("Gradient::tracked")));
  EXPECT_THAT(message_of<UserError>([&] { gradcheck([] {}, {y}, {x}); }), HasSubstr("gradcheck: output 0"));
}

TEST(GradientCheckRefuses, FloatsOfAKernel) {
  Kernel copy{
      "copy", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) { y(thread_index()) = x(thread_index()); }};
  Buffer<float> x(device, {1}, Gradient::tracked), y(device, {1}, Gradient::tracked);
  EXPECT_THAT(message_of<UserError>([&] { gradcheck(copy, {1}, y, x); }),
              testing::AllOf(HasSubstr("argument 0 ('y')"), HasSubstr("f64"), HasSubstr("f32")));
}

}  // namespace
}  // namespace samite::test
