#include "samite/jit/non_finite.h"

#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using on_device::device;

constexpr int line_of_the_root = __LINE__ + 3;  // below
const Kernel roots{"roots", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                     Int i = thread_index();
                     Double root = sqrt(2 * x(i));
                     y(i) = 3 * root;
                   }};

template <class K>
std::string finding(const K &kernel, std::initializer_list<double> at, std::initializer_list<double> cotangents) {
  const auto n = static_cast<std::int64_t>(at.size());
  Buffer<double> x(device, {n}, at, Gradient::tracked), y(device, {n}, Gradient::tracked);
  kernel.launch({n}, y, x);
  y.gradient().copy_from(cotangents);
  return message_of<UserError>(
      [&] { kernel.launch({n}, {.direction = Direction::adjoint, .check_finite = true}, y, x); });
}

TEST(CheckFinite, LetsFiniteGradientsPass) {
  Buffer<double> x(device, {2}, {2, 8}, Gradient::tracked), y(device, {2}, Gradient::tracked);
  y.gradient().fill(1);
  roots.launch({2}, {.direction = Direction::adjoint, .check_finite = true}, y, x);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(1.5, 0.75)) << "3 / sqrt(2 x)";
}

TEST(CheckFinite, NamesTheFirstInstanceTheLineAndTheValues) {
  std::string message = finding(roots, {1, 4, 0, 9, 0}, {1, 1, 5, 1, 1});
  EXPECT_THAT(
      message,
      AllOf(HasSubstr("kernel 'roots'"), HasSubstr("first instance whose gradient is not finite is (2)"),
            HasSubstr("non_finite_test.cpp:" + std::to_string(line_of_the_root) + ":"), HasSubstr("derivative of sqrt"),
            HasSubstr("gives inf"), HasSubstr("cotangent 15"), HasSubstr("operand 0")));
}

TEST(CheckFinite, LooksIntoLoopsAndBranches) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  Double sum = 0;
                  for (Int j : range(4)) {
                    Double shifted = x(i) - cast<Double>(j);
                    if_(shifted < 3, [&] { sum += log(abs(shifted)); });
                  }
                  y(i) = sum;
                }};
  EXPECT_THAT(finding(kernel, {0.5, 2.5, 1, 2}, {1, 1, 0, 1}),
              AllOf(HasSubstr("is (2)"), HasSubstr("derivative of log"), HasSubstr("cotangent 0"), HasSubstr("nan")));
}

TEST(CheckFinite, OfSeveralDimensionsAndFloats) {
  Kernel kernel{"kernel", [](Array<float, 2> y, Array<const float, 2> x) {
                  auto [i, j] = thread_index<2>();
                  y(i, j) = 1 / x(i, j);
                }};
  Buffer<float> x(device, {2, 3}, {1, 2, 3, 4, 0, 6}, Gradient::tracked), y(device, {2, 3}, Gradient::tracked);
  kernel.launch({2, 3}, y, x);
  y.gradient().fill(1);
  EXPECT_THAT(message_of<UserError>(
                  [&] { kernel.launch({2, 3}, {.direction = Direction::adjoint, .check_finite = true}, y, x); }),
              AllOf(HasSubstr("is (1, 1)"), HasSubstr("derivative of div")));
}

TEST(CheckFinite, OfATapeNamesTheLaunchThatMadeIt) {
  Kernel square{"square", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = x(i) * x(i);
                }};
  Buffer<double> x(device, {2}, {1, 0}, Gradient::tracked), y(device, {2}, Gradient::tracked),
      z(device, {2}, Gradient::tracked);
  Tape tape(TapeOptions{.check_finite = true});
  tape.record([&] {
    square.launch({2}, y, x);
    roots.launch({2}, z, y);
  });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward({{z, Buffer<double>(device, {2}, {1, 1})}}); }),
              AllOf(HasSubstr("kernel 'roots'"), HasSubstr("is (1)"), HasSubstr("sqrt")));
}

TEST(CheckFinite, TellsWhatWasThereBefore) {
  Buffer<double> x(device, {2}, {2, 8}, Gradient::tracked), y(device, {2}, Gradient::tracked);
  y.gradient().copy_from({1, NAN});
  EXPECT_THAT(
      message_of<UserError>([&] { roots.launch({2}, {.direction = Direction::adjoint, .check_finite = true}, y, x); }),
      AllOf(HasSubstr("element (1) of the gradient of argument 0 ('y') is nan"), HasSubstr("before the launch")));
}

TEST(CheckFinite, TellsAnOverflowingSum) {
  Kernel kernel{"kernel", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) { y(thread_index()) = x(0); }};
  Buffer<double> x(device, {1}, {1}, Gradient::tracked), y(device, {2}, Gradient::tracked);
  kernel.launch({2}, y, x);
  y.gradient().fill(1.5e308);
  EXPECT_THAT(
      message_of<UserError>([&] { kernel.launch({2}, {.direction = Direction::adjoint, .check_finite = true}, y, x); }),
      AllOf(HasSubstr("gradient of argument 1 ('x') is inf"), HasSubstr("sum has overflowed")));
}

// The operation within a tile is unknown, and the message names none.
TEST(CheckFinite, TellsTheElementOfATileKernel) {
  const TileKernel tiles{"tiles", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                           tile::store(y, {block_index()}, sqrt(tile::load(x, {block_index()}, {4})));
                         }};
  Buffer<float> x(device, {8}, {1, 1, 1, 1, 1, 1, 0, 1}, Gradient::tracked), y(device, {8}, Gradient::tracked);
  tiles.launch({2}, y, x);
  y.gradient().fill(1);
  EXPECT_THAT(
      message_of<UserError>([&] { tiles.launch({2}, {.direction = Direction::adjoint, .check_finite = true}, y, x); }),
      AllOf(HasSubstr("element (6) of the gradient of argument 1 ('x') is inf"),
            HasSubstr("look among them for a derivative that is infinite"), Not(HasSubstr("overflowed"))));
}

}  // namespace
}  // namespace samite::test
