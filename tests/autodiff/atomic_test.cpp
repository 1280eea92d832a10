// Atomic operations and gradients: additions are differentiated, all others are refused if a gradient depends on them.
#include "tests/autodiff/differentiate.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string in_atomic_test(int line) { return "atomic_test.cpp:" + std::to_string(line); }

// For a kernel (y, a, count, x), in which y, x and, on request, a track gradients.
template <class F>
std::string refusal_of_atomics(const F &function, bool a_is_active = true) {
  return message_of<UserError>([&] {
    adjoint_of<Array<float, 1>, Array<float, 1>, Array<std::int32_t, 1>, Array<const float, 1>>(
        {"y", "a", "count", "x"}, function, {true, a_is_active, false, true});
  });
}

TEST(AdjointOfAtomics, OfAnAdditionWhoseOldValueIsUnused) {
  Kernel kernel{"sum", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  atomic_add(out(i % 2), in(i)*in(i));
                  atomic_sub(out(1), sin(in(i)));
                }};
  EXPECT_LT(gradient_error(kernel, 5, random_values(5, -1, 1, 8), 2), 1e-7);
}

TEST(AdjointOfAtomics, WhoseResultsNoGradientNeeds) {
  Kernel kernel{"count", [](Array<double, 1> out, Array<const double, 1> in, Array<std::int32_t, 1> count,
                            Array<double, 1> largest) {
                  Int i = thread_index();
                  atomic_max(largest(0), stop_gradient(in(i)));
                  Int number = atomic_add(count(0), 1);
                  count(1 + i) = number;
                  out(i) = in(i)*in(i);
                }};
  Buffer<double> in(test::device(), {3}, {1, 2, 3}, Gradient::tracked), out(test::device(), {3}, Gradient::tracked);
  Buffer<std::int32_t> count(test::device(), {4});
  Buffer<double> largest(test::device(), {1});
  out.gradient().fill(1);
  kernel.launch({3}, {.direction = Direction::adjoint}, out, in, count, largest);
  EXPECT_EQ(in.gradient().to_vector(), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(count.at(0), 0) << "an adjoint does not count again";
  EXPECT_EQ(largest.at(0), 0);
}

TEST(AdjointOfAtomics, TheTangentRunsThemOnce) {
  Kernel kernel{"count", [](Array<double, 1> out, Array<const double, 1> in, Array<std::int32_t, 1> count) {
                  Int i = thread_index();
                  out(atomic_add(count(0), 1)) = in(i)*in(i);
                }};
  Buffer<double> in(test::device(), {1}, {3}, Gradient::tracked), out(test::device(), {1}, Gradient::tracked);
  Buffer<std::int32_t> count(test::device(), {1});
  in.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::tangent}, out, in, count);
  EXPECT_EQ(count.at(0), 1);
  EXPECT_EQ(out.gradient().at(0), 6);
}

TEST(AdjointRefuses, TheOldValueOfAnAdditionWhereAGradientPasses) {
  int line = 0;
  std::string message =
      refusal_of_atomics([&](Array<float, 1> y, Array<float, 1> a, Array<std::int32_t, 1>, Array<const float, 1> x) {
        Int i = thread_index();
        line = __LINE__ + 1;
        y(i) = atomic_add(a(0), x(i));
      });
  EXPECT_THAT(message, HasSubstr(in_atomic_test(line)));
  EXPECT_THAT(message, HasSubstr("the old value of the atomic_add on array 'a' is used, and it depends on the order"));
  EXPECT_THAT(message, HasSubstr("Mend it by leaving unused what atomic_add returns"));
}

TEST(AdjointRefuses, AGradientThroughAnExchange) {
  int line = 0;
  std::string message =
      refusal_of_atomics([&](Array<float, 1> y, Array<float, 1> a, Array<std::int32_t, 1>, Array<const float, 1> x) {
        Int i = thread_index();
        line = __LINE__ + 1;
        y(i) = atomic_exchange(a(0), x(i));
      });
  EXPECT_THAT(message, HasSubstr(in_atomic_test(line)));
  EXPECT_THAT(message, HasSubstr("a gradient would pass through the atomic_exchange on array 'a'"));
  EXPECT_THAT(message, HasSubstr("Mend it with atomic_add"));
}

TEST(AdjointRefuses, AGradientThroughAnyOtherAtomicOperation) {
  auto of = [](auto step) {
    return refusal_of_atomics(
        [&](Array<float, 1> y, Array<float, 1> a, Array<std::int32_t, 1>, Array<const float, 1> x) {
          Int i = thread_index();
          step(a(0), Float(x(i)));
          y(i) = x(i);
        });
  };
  EXPECT_THAT(of([](auto a, Float x) { atomic_max(a, x); }), HasSubstr("through the atomic_max on array 'a'"));
  EXPECT_THAT(of([](auto a, Float x) { atomic_min(a, x); }), HasSubstr("through the atomic_min on array 'a'"));
  EXPECT_THAT(of([](auto a, Float x) { atomic_compare_exchange(a, 1, x); }),
              HasSubstr("through the atomic_compare_exchange on array 'a'"));
}

TEST(AdjointRefuses, AGradientThroughAnAtomicOperationOnAnArrayThatTracksNone) {
  std::string message = refusal_of_atomics(
      [&](Array<float, 1> y, Array<float, 1> a, Array<std::int32_t, 1>, Array<const float, 1> x) {
        Int i = thread_index();
        y(i) = atomic_max(a(0), x(i)) * 2;
      },
      false);
  EXPECT_THAT(message, HasSubstr("through the atomic_max on array 'a'"));
  EXPECT_THAT(message, HasSubstr("stop_gradient(…) around the value"));
}

// The adjoint cannot recompute the place that an instance got.
TEST(AdjointRefuses, AnIndexThatAnAtomicCounterGave) {
  int line = 0;
  std::string message = refusal_of_atomics(
      [&](Array<float, 1> y, Array<float, 1>, Array<std::int32_t, 1> count, Array<const float, 1> x) {
        Int i = thread_index();
        line = __LINE__ + 1;
        Int place = atomic_add(count(0), 1);
        y(place) = x(i);
      });
  EXPECT_THAT(message, HasSubstr(in_atomic_test(line)));
  EXPECT_THAT(message, HasSubstr("needs the value that atomic_add on array 'count' returns here"));
  EXPECT_THAT(message, HasSubstr("storing the value in an array, in a kernel of its own, and reading it back"));
}

TEST(AdjointRefuses, AnElementThatOtherInstancesChangeByAtomicSteps) {
  int line = 0;
  std::string message = refusal_of_atomics(
      [&](Array<float, 1> y, Array<float, 1>, Array<std::int32_t, 1> count, Array<const float, 1> x) {
        Int i = thread_index();
        line = __LINE__ + 1;
        Int sofar = count(0);
        atomic_max(count(0), i);
        y(i) = x(i) * cast<Float>(sofar);
      });
  EXPECT_THAT(message, HasSubstr(in_atomic_test(line)));
  EXPECT_THAT(message, HasSubstr("element of array 'count' read here, which other instances may have changed"));
}

}  // namespace
}  // namespace samite::test
