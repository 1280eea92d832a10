#include "tests/autodiff/differentiate.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

TEST(Adjoint, OfAProductAddsEachFactorTimesTheOther) {
  auto adjoint = adjoint_of<Array<float, 1>, Array<const float, 1>, Array<const float, 1>>(
      {"z", "x", "y"},
      [](Array<float, 1> z, Array<const float, 1> x, Array<const float, 1> y) {
        Int i = thread_index();
        Float a = x(i), b = y(i);
        z(i) = a * b;
      },
      {true, true, true});
  EXPECT_EQ(to_string(adjoint.kernel),
            "kernel @kernel_adjoint(@z: array<const f32, 1>, @x: array<const f32, 1>, @y: array<const f32, 1>, "
            "@z_gradient: gradient of @z array<f32, 1>, @x_gradient: gradient of @x array<f32, 1>, "
            "@y_gradient: gradient of @y array<f32, 1>) threads 1 {\n"
            "  %0: i32 = thread_index 0\n"
            "  %1: f32 = load @x[%0]\n"
            "  %2: f32 = load @y[%0]\n"
            "  %3: f32 = exchange @z_gradient[%0]\n"
            "  %4: f32 = mul %3, %2\n"
            "  %5: f32 = mul %3, %1\n"
            "  accumulate @y_gradient[%0] += %5\n"
            "  accumulate @x_gradient[%0] += %4\n"
            "}\n");
}

auto product_of_first_two = [](Array<float, 1> z, Array<const float, 1> x, Array<const float, 1> y) {
  Int i = thread_index();
  z(i) = x(i) * sin(y(i));
};

TEST(Adjoint, ContainsNothingForInputsThatAreNotAsked) {
  auto adjoint = adjoint_of<Array<float, 1>, Array<const float, 1>, Array<const float, 1>>(
      {"z", "x", "y"}, product_of_first_two, {true, true, false});
  std::string text = to_string(adjoint.kernel);
  EXPECT_EQ(count(text, "y_gradient"), 0);
  EXPECT_EQ(count(text, "cos"), 0) << "the derivative of sin is for y alone";
  EXPECT_EQ(count(text, "load @x"), 0) << "x is needed for y's gradient alone";
  EXPECT_EQ(adjoint.values_read, std::vector<std::uint32_t>{2});
}

TEST(Adjoint, IsEmptyWhereNoOutputTracksAGradient) {
  auto adjoint = adjoint_of<Array<float, 1>, Array<const float, 1>, Array<const float, 1>>(
      {"z", "x", "y"}, product_of_first_two, {false, true, true});
  EXPECT_TRUE(adjoint.empty);
}

TEST(Adjoint, AddsPlainlyWhereIndicesAreOneToOneAndAtomicallyElsewhere) {
  auto stencil = adjoint_of<Array<float, 1>, Array<const float, 1>>({"y", "x"},
                                                                    [](Array<float, 1> y, Array<const float, 1> x) {
                                                                      Int i = thread_index();
                                                                      y(i) = x(i) + x(i + 1);
                                                                    },
                                                                    {true, true});
  std::string text = to_string(stencil.kernel);
  EXPECT_EQ(count(text, "accumulate atomic @x_gradient"), 2);
  EXPECT_EQ(count(text, "exchange @y_gradient"), 1);
}

TEST(Adjoint, AddsAtomicallyWhereGradientsMayShareMemory) {
  auto adjoint = adjoint_of<Array<float, 1>, Array<const float, 1>, Array<const float, 1>>(
      {"z", "x", "y"}, product_of_first_two, {true, true, true}, true);
  EXPECT_EQ(count(to_string(adjoint.kernel), "accumulate atomic"), 2);
}

TEST(Adjoint, OfALoopWhoseSumIsCarriedRunsTheIterationsBackwards) {
  Kernel kernel{"sums", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double sum = 0;
                  for (Int j : range(in.extent(0))) sum += sin(in(j)*in(i));
                  out(i) = sum * 2;
                }};
  EXPECT_LT(gradient_error(kernel, 7, random_values(7, -1, 1, 2), 7), 1e-7);
}

TEST(Adjoint, OfLoopsWithSteps) {
  Kernel kernel{"steps", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double sum = 0;
                  for (Int j : range(1, in.extent(0), 3)) sum += in(j)*in(j)*in(i);
                  for (Int j : range(in.extent(0) - 1, i, -2)) sum += exp(in(j));
                  for (Int j : range(5, 2)) sum += in(j)*in(j);  // never runs
                  out(i) = sum;
                }};
  EXPECT_LT(gradient_error(kernel, 8, random_values(8, -1, 1, 3), 8), 1e-7);
}

TEST(Adjoint, OfNestedLoopsAndBranches) {
  Kernel kernel{"nested", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double sum = 0, weight = in(i);
                  for (Int j : range(in.extent(0))) {
                    Double row = 0;
                    for (Int k : range(j, in.extent(0))) {
                      if_(in(k) > 0, [&] { row += in(k)*weight; }, [&] { row -= in(k)*in(k); });
                    }
                    if_(j % 2 == 0, [&] { sum += row; });
                  }
                  if_(i > 2, [&] { sum = sum * weight; });
                  out(i) = sum;
                }};
  EXPECT_LT(gradient_error(kernel, 6, random_values(6, -1, 1, 4), 6), 1e-7);
}

TEST(Adjoint, OfLocalsAssignedMoreThanOnce) {
  Kernel kernel{"reassigned", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double x = in(i), y = x;
                  x = x * x;
                  x *= y;
                  y = x + y;
                  x /= y + 2;
                  out(i) = x * y;
                }};
  EXPECT_LT(gradient_error(kernel, 5, random_values(5, 0.2, 1, 5), 5), 1e-7);
}

TEST(Adjoint, OfAValueFromBeforeALoopUsedInAndAfterIt) {
  Kernel kernel{"before", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double before = sin(in(i)), sum = 0;
                  for (Int j : range(in.extent(0))) sum += before * in(j);
                  out(i) = sum * before;
                }};
  EXPECT_LT(gradient_error(kernel, 5, random_values(5, -1, 1, 6), 5), 1e-7);
}

TEST(Adjoint, OfAnAtomicSum) {
  Kernel kernel{"total", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  atomic_add(out(i % 2), in(i)*in(i));
                }};
  EXPECT_LT(gradient_error(kernel, 33, random_values(33, -1, 1, 7), 2), 1e-7);
}

TEST(Adjoint, OfALinearUpdateInPlace) {
  Device device = test::device();
  Kernel kernel{"decay", [](Array<double, 1> x) {
                  Int i = thread_index();
                  x(i) *= 0.5;
                }};
  Buffer<double> x(device, {3}, {1, 2, 3}, Gradient::tracked);
  kernel.launch({3}, x);
  x.gradient().copy_from({10, 20, 30});
  kernel.launch({3}, {.direction = Direction::adjoint}, x);
  EXPECT_EQ(x.gradient().to_vector(), (std::vector<double>{5, 10, 15}));
}

TEST(Adjoint, EndsTheGradientOfWhatIsOverwritten) {
  Device device = test::device();
  Kernel kernel{"overwrite", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = 3 * x(i);
                }};
  Buffer<double> x(device, {2}, {1, 2}, Gradient::tracked), y(device, {2}, Gradient::tracked);
  y.gradient().copy_from({1, 10});
  kernel.launch({2}, {.direction = Direction::adjoint}, y, x);
  EXPECT_EQ(x.gradient().to_vector(), (std::vector<double>{3, 30}));
  EXPECT_EQ(y.gradient().to_vector(), (std::vector<double>{0, 0}));
}

TEST(Adjoint, KeepsTheUsersLines) {
  std::uint32_t line = 0;
  auto adjoint = adjoint_of<Array<float, 1>, Array<const float, 1>>({"y", "x"},
                                                                    [&](Array<float, 1> y, Array<const float, 1> x) {
                                                                      Int i = thread_index();
                                                                      line = __LINE__ + 1;
                                                                      y(i) = exp(x(i));
                                                                    },
                                                                    {true, true});
  int additions = 0;
  for (const ir::Stmt &stmt : adjoint.kernel.body) {
    if (!stmt.as<ir::Accumulate>()) continue;
    EXPECT_EQ(stmt.where().line, line);
    ++additions;
  }
  EXPECT_EQ(additions, 1);
}

// Values that a loop overwrites are stored if the gradient needs them.

TEST(AdjointKeeps, TheFactorsOfAProductInALoop) {
  Kernel kernel{"product", [](Array<double, 1> out, Array<const double, 1> in) {
                  Double product = 1;
                  for (Int j : range(in.extent(0))) product *= in(j);
                  out(0) = product;
                }};
  Device device = test::device();
  Buffer<double> x(device, {3}, {2, 3, 5}, Gradient::tracked), y(device, {1}, Gradient::tracked);
  y.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::adjoint}, y, x);
  EXPECT_EQ(x.gradient().to_vector(), (std::vector<double>{15, 10, 6})) << "exact";
}

TEST(AdjointKeeps, WhatNestedLoopsCarry) {
  Kernel kernel{"nested", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double outer = in(i);
                  for (Int j : range(3)) {
                    Double inner = outer;
                    for (Int k : range(j, in.extent(0))) {
                      inner = inner * cos(in(k)) + outer;
                      outer += 0.1 * inner * inner;
                    }
                    outer = outer / (1 + inner * inner);
                  }
                  out(i) = outer;
                }};
  EXPECT_LT(gradient_error(kernel, 6, random_values(6, -1, 1, 11), 6), 1e-7);
}

TEST(AdjointKeeps, WhatLoopsOfDifferentLengthsCarry) {
  Kernel kernel{"lengths", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double x = in(i);
                  for (Int j : range(i % 5)) x = sin(x) * in(j) + x * x;
                  for (Int j : range(i, -1, -3)) x = x * in(j);
                  out(i) = x;
                }};
  EXPECT_LT(gradient_error(kernel, 37, random_values(37, -1, 1, 12), 37), 1e-7);
}

TEST(AdjointKeeps, WhatAWhileLoopCarries) {
  Kernel kernel{"collatz", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index(), n = i + 1;
                  Double x = in(i);
                  while_([&] { return n != 1; },
                         [&] {
                           if_(n % 2 == 0, [&] { x = x * 0.9 + x * x * 0.01; }, [&] { x = sin(x) + 0.5; });
                           n = select(n % 2 == 0, n / 2, 3 * n + 1);
                         });
                  out(i) = x;
                }};
  EXPECT_LT(gradient_error(kernel, 20, random_values(20, 0.1, 1, 13), 20), 1e-7);
}

TEST(AdjointKeeps, NothingOfCountersAndSums) {
  auto adjoint = adjoint_of<Array<float, 1>, Array<const float, 1>>({"y", "x"},
                                                                    [](Array<float, 1> y, Array<const float, 1> x) {
                                                                      Float sum = 0;
                                                                      Int place = 3;
                                                                      for (Int j : range(x.extent(0))) {
                                                                        sum += x(place) * x(place);
                                                                        place += 2;
                                                                      }
                                                                      y(0) = sum;
                                                                    },
                                                                    {true, true});
  EXPECT_TRUE(adjoint.kept.empty());
}

TEST(AdjointKeeps, AndSaysSo) {
  std::uint32_t line = 0;
  auto adjoint = adjoint_of<Array<float, 1>, Array<const float, 1>>({"y", "x"},
                                                                    [&](Array<float, 1> y, Array<const float, 1> x) {
                                                                      Float product = 1;
                                                                      line = __LINE__ + 1;
                                                                      for (Int j : range(x.extent(0))) product *= x(j);
                                                                      y(0) = product;
                                                                    },
                                                                    {true, true});
  ASSERT_EQ(adjoint.kept.size(), 2u) << "for each chunk, and for each iteration of one";
  for (const autodiff::KeptValue &kept : adjoint.kept) {
    EXPECT_EQ(kept.loop.line, line);
    EXPECT_EQ(kept.type, ScalarType::Float32);
  }
}

// The following programs are refused, with the line and a remedy.

template <class F>
std::string refusal(const F &function) {
  return message_of<UserError>(
      [&] { adjoint_of<Array<float, 1>, Array<float, 1>>({"y", "x"}, function, {true, true}); });
}

std::string here(int line) { return "adjoint_test.cpp:" + std::to_string(line); }

TEST(AdjointRefuses, AnElementReadAfterAnyInstanceMayHaveWrittenIt) {
  int line = 0;
  std::string message = refusal([&](Array<float, 1>, Array<float, 1> x) {
    Int i = thread_index() / 2;
    x(i) = x(i) * x(i);
    line = __LINE__ + 1;
    x(i) = x(i) * x(i);
  });
  EXPECT_THAT(message, HasSubstr(here(line)));
  EXPECT_THAT(message, HasSubstr("array 'x'"));
  EXPECT_THAT(message, HasSubstr(here(line - 2)));
  EXPECT_THAT(message, HasSubstr("writing the result to another array"));
}

TEST(AdjointRefuses, ToReadWhatTheForwardLaunchHasOverwrittenWithoutACopy) {
  Kernel square{"square", {"x"}, [](Array<float, 1> x) {
                  Int i = thread_index();
                  x(i) = x(i) * x(i);
                }};
  Buffer<float> x(test::device(), {2}, Gradient::tracked);
  EXPECT_THAT(message_of<UserError>([&] { square.launch({2}, {.direction = Direction::adjoint}, x); }),
              HasSubstr("before the forward launch, which overwrites them; launch the kernel while a Tape records"));
}

TEST(AdjointRefuses, AnArrayReadAtOneIndexAndWrittenAtAnother) {
  int line = 0;
  std::string message = refusal([&](Array<float, 1>, Array<float, 1> x) {
    Int i = thread_index();
    line = __LINE__ + 1;
    x(i) = x(i + 1) * 2;
  });
  EXPECT_THAT(message, HasSubstr(here(line)));
  EXPECT_THAT(message, HasSubstr("'x' is written here and read at another index"));
}

TEST(AdjointRefuses, AGradientThroughAnArrayThatTracksNone) {
  int line = 0;
  auto function = [&](Array<float, 1> y, Array<float, 1> between, Array<float, 1> x) {
    Int i = thread_index();
    line = __LINE__ + 1;
    between(i / 2) = 3 * x(i);
    y(i) = between(i / 2) * 2;
  };
  std::string message = message_of<UserError>([&] {
    adjoint_of<Array<float, 1>, Array<float, 1>, Array<float, 1>>({"y", "between", "x"}, function, {true, false, true});
  });
  EXPECT_THAT(message, HasSubstr(here(line)));
  EXPECT_THAT(message, HasSubstr("lose a gradient: it passes through array 'between'"));
}

TEST(AdjointAccepts, AWhileLoopThatOnlyDecides) {
  Kernel kernel{"search", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index(), j = 0;
                  while_([&] { return j < 3; }, [&] { j += 2; });
                  out(i) = in(j % in.extent(0)) * in(i);
                }};
  EXPECT_LT(gradient_error(kernel, 5, random_values(5, -1, 1, 8), 5), 1e-7);
}

TEST(Adjoint, ThroughAnIntegerIsZero) {
  Kernel kernel{"kernel", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Int cell = Int(3 * in(i));
                  out(i) = cast<Double>(cell) * in(i) + floor(in(i));
                }};
  EXPECT_LT(gradient_error(kernel, 4, {0.1, 0.5, 1.2, 2.9}, 4), 1e-8) << "constant but where it jumps";
}

}  // namespace
}  // namespace samite::test
