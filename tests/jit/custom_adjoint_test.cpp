// Functions with adjoints of the user's own, their replays, and adjoints that a kernel calls.
#include "samite/lang/custom_adjoint.h"

#include "samite/lang/algebra.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

Buffer<double> tracked(std::initializer_list<double> values) {
  return Buffer<double>(device, {static_cast<std::int64_t>(values.size())}, values, Gradient::tracked);
}

// The gradients of x for the cotangents of y, of a kernel of (y, x).
template <class K>
std::vector<double> gradient_of(const K &kernel, Buffer<double> &y, Buffer<double> &x,
                                std::initializer_list<double> cotangents) {
  x.zero_gradient();
  kernel.launch({x.count()}, y, x);
  y.gradient().copy_from(cotangents);
  kernel.launch({x.count()}, {.direction = Direction::adjoint}, y, x);
  return x.gradient().to_vector();
}

TEST(CustomAdjoint, ReplacesTheDerivativeAndNotTheFunction) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto square = custom_adjoint([](Double a) { return a * a; },
                                               [](Double a, Double, Double cotangent) { return 10 * a * cotangent; });
                  Int i = thread_index();
                  y(i) = 1 + square(3 * x(i));
                }};
  auto x = tracked({1, 2}), y = tracked({0, 0});
  auto gradient = gradient_of(kernel, y, x, {1, 100});
  EXPECT_THAT(y.to_vector(), ElementsAre(10, 37));
  EXPECT_THAT(gradient, ElementsAre(90, 18000)) << "10 a, times 3";
}

TEST(CustomAdjoint, IsGivenTheResult) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto root =
                      custom_adjoint([](Double a) { return sqrt(a); },
                                     [](Double, Double r, Double cotangent) { return cotangent / max(2 * r, 1); });
                  Int i = thread_index();
                  y(i) = root(x(i));
                }};
  auto x = tracked({0, 4}), y = tracked({0, 0});
  EXPECT_THAT(gradient_of(kernel, y, x, {1, 1}), ElementsAre(1, 0.25)) << "finite at 0";
}

TEST(CustomAdjoint, MayClipTheCotangent) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto clipped =
                      custom_adjoint([](Double a) { return a; },
                                     [](Double, Double, Double cotangent) { return clamp(cotangent, -1, 1); });
                  Int i = thread_index();
                  Double a = 100 * clipped(x(i));
                  y(i) = a * a;
                }};
  auto x = tracked({1, -2, 0}), y = tracked({0, 0, 0});
  EXPECT_THAT(gradient_of(kernel, y, x, {1, 1, 1}), ElementsAre(1, -1, 0));
}

TEST(CustomAdjoint, TakesSeveralArgumentsAndIntegers) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto mix = custom_adjoint([](Double a, Int n, Double b) { return a * b + cast<Double>(n); },
                                            [](Double a, Int n, Double b, Double, Double cotangent) {
                                              Double da = b * cotangent, db = (a + cast<Double>(n)) * cotangent;
                                              return std::tuple{da, db};
                                            });
                  Int i = thread_index();
                  y(i) = mix(x(i), i + 1, x(1 - i) * 2);
                }};
  auto x = tracked({3, 5}), y = tracked({0, 0});
  auto gradient = gradient_of(kernel, y, x, {1, 10});
  EXPECT_THAT(y.to_vector(), ElementsAre(31, 32));
  // of y0: 10 to x0 and 2 (3 + 1) to x1; of y1: 10 * 6 to x1 and 10 * 2 (5 + 2) to x0
  EXPECT_THAT(gradient, ElementsAre(150, 68));
}

TEST(CustomAdjoint, OfVectors) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto scaled = custom_adjoint([](Vec2d v, Double s) { return v * s; },
                                               [](Vec2d v, Double s, Vec2d, Vec2d cotangent) {
                                                 return std::tuple{2 * (cotangent * s), 3 * dot(cotangent, v)};
                                               });
                  Int i = thread_index();
                  Vec2d v = scaled(Vec2d{x(0), x(1)}, x(2));
                  if_(i == 0, [&] { y(0) = v[0] + 10 * v[1]; });
                }};
  auto x = tracked({2, 3, 5}), y = tracked({0, 0, 0});
  auto gradient = gradient_of(kernel, y, x, {1, 0, 0});
  EXPECT_EQ(y.at(0), 160);
  EXPECT_THAT(gradient, ElementsAre(10, 100, 96));
}

TEST(CustomAdjoint, InLoopsAndBranches) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto twice = custom_adjoint([](Double a) { return 2 * a; },
                                              [](Double, Double, Double cotangent) { return 2 * cotangent; });
                  Int i = thread_index();
                  Double product = 1;
                  for (Int j : range(3)) {
                    if_(j != 1, [&] { product *= twice(x(i)); }, [&] { product += twice(x(i)); });
                  }
                  y(i) = product;
                }};
  auto x = tracked({0.5, -2}), y = tracked({0, 0});
  // (2x + 2x) 2x = 8 x²
  auto gradient = gradient_of(kernel, y, x, {1, 1});
  EXPECT_THAT(y.to_vector(), ElementsAre(2, 32));
  EXPECT_THAT(gradient, ElementsAre(8, -32));
}

TEST(CustomAdjoint, ThatReturnsItsArgumentIsNotTheArgument) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto same =
                      custom_adjoint([](Double a) { return a; }, [](Double, Double, Double c) { return 10 * c; });
                  Int i = thread_index();
                  Double own = x(i);
                  y(i) = same(own) * own;
                }};
  auto x = tracked({3}), y = tracked({0});
  EXPECT_THAT(gradient_of(kernel, y, x, {1}), ElementsAre(33));
}

TEST(CustomAdjoint, MayHaveLoopsBranchesAndReturns) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto power = custom_adjoint(
                      [](Double a) {
                        return returning<Double>([&](auto return_) {
                          if_(a < 0, [&] { return_(0); });
                          Double product = 1;
                          for (Int j : range(3)) product *= a + 0 * cast<Double>(j);
                          return product;
                        });
                      },
                      [](Double a, Double, Double cotangent) {
                        Double sum = 0;
                        for (Int j : range(3)) if_(a >= 0, [&] { sum += a * a + 0 * cast<Double>(j); });
                        return sum * cotangent;
                      });
                  Int i = thread_index();
                  y(i) = power(x(i));
                }};
  auto x = tracked({2, -2}), y = tracked({0, 0});
  auto gradient = gradient_of(kernel, y, x, {1, 1});
  EXPECT_THAT(y.to_vector(), ElementsAre(8, 0));
  EXPECT_THAT(gradient, ElementsAre(12, 0));
}

TEST(CustomAdjoint, MayCallAnother) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto inner =
                      custom_adjoint([](Double a) { return a + 1; }, [](Double, Double, Double c) { return 5 * c; });
                  auto outer = custom_adjoint([&](Double a) { return 2 * inner(a); },
                                              [&](Double a, Double, Double c) { return inner(a) * c; });
                  Int i = thread_index();
                  y(i) = outer(x(i)) + inner(x(i));
                }};
  auto x = tracked({2}), y = tracked({0});
  auto gradient = gradient_of(kernel, y, x, {1});
  EXPECT_EQ(y.at(0), 9);
  EXPECT_THAT(gradient, ElementsAre(8)) << "a + 1 of the outer, 5 of the inner";
}

TEST(CustomAdjoint, MayAddToTheGradientsOfArrays) {
  // A look-up whose gradient is distributed to both neighbours.
  Kernel kernel{"kernel",
                {"y", "table", "place"},
                [](Array<double, 1> y, Array<const double, 1> table, Array<const int, 1> place) {
                  Int i = thread_index();
                  Int at = place(i);
                  auto look_up = custom_adjoint([&](Double scale) { return scale * table(at); },
                                                [&](Double, Double, Double cotangent) {
                                                  add_to_gradient(table(at), 0.5 * cotangent);
                                                  add_to_gradient(table(at + 1), 0.25 * cotangent);
                                                  return 0 * cotangent;
                                                });
                  y(i) = look_up(1.0);
                }};
  auto table = tracked({1, 2, 3, 4}), y = tracked({0, 0, 0});
  Buffer<int> place(device, {3}, {0, 2, 2});
  kernel.launch({3}, y, table, place);
  EXPECT_THAT(y.to_vector(), ElementsAre(1, 3, 3));
  y.gradient().copy_from({1, 10, 100});
  kernel.launch({3}, {.direction = Direction::adjoint}, y, table, place);
  EXPECT_THAT(table.gradient().to_vector(), ElementsAre(0.5, 0.25, 55, 27.5));
}

TEST(CustomAdjoint, MayWriteToArrays) {
  Kernel kernel{
      "kernel", {"y", "x", "clipped"}, [](Array<double, 1> y, Array<const double, 1> x, Array<int, 1> clipped) {
        auto clip = custom_adjoint([](Double a) { return a; },
                                   [&](Double, Double, Double cotangent) {
                                     if_(abs(cotangent) > 1, [&] { atomic_add(clipped(0), 1); });
                                     return clamp(cotangent, -1, 1);
                                   });
        Int i = thread_index();
        y(i) = clip(x(i)) * x(i);
      }};
  auto x = tracked({1, 2, -3}), y = tracked({0, 0, 0});
  Buffer<int> clipped(device, {1});
  kernel.launch({3}, y, x, clipped);
  EXPECT_EQ(clipped.at(0), 0) << "the forward kernel runs the function alone";
  const auto version = clipped.version();
  y.gradient().fill(1);
  kernel.launch({3}, {.direction = Direction::adjoint}, y, x, clipped);
  EXPECT_EQ(clipped.at(0), 2);
  EXPECT_GT(clipped.version(), version);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(2, 3, -4)) << "x + clamp(x)";
}

TEST(CustomAdjoint, ThatIsWrongIsFoundByTheGradientCheck) {
  Kernel kernel{"kernel", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                  auto cube = custom_adjoint([](Double a) { return a * a * a; },
                                             [](Double a, Double, Double cotangent) { return 2 * a * a * cotangent; });
                  Int i = thread_index();
                  if_(i == 1, [&] { y(i) = cube(x(i)); }, [&] { y(i) = x(i) * x(i); });
                }};
  auto x = tracked({1, 2, 3}), y = tracked({0, 0, 0});
  GradientReport report = gradcheck(kernel, {3}, y, x);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.name, "x");
  EXPECT_THAT(report.index, ElementsAre(1));
  EXPECT_NEAR(report.analytic / report.numeric, 2.0 / 3, 1e-6);
}

// The tangents of y for the tangents of x, of a kernel of (y, x).
template <class K>
std::vector<double> tangents_of(const K &kernel, Buffer<double> &y, Buffer<double> &x,
                                std::initializer_list<double> tangents) {
  x.gradient().copy_from(tangents);
  kernel.launch({1}, {.direction = Direction::tangent}, y, x);
  return y.gradient().to_vector();
}

// With gradients that no function has, so that they can only come from the given adjoint.
TEST(CustomAdjoint, IsTransposedForATangent) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto mix = custom_adjoint(
                      [](Double a, Double b) { return std::tuple{a + b, a * b}; },
                      [](Double a, Double, std::tuple<Double, Double> results, std::tuple<Double, Double> cotangents) {
                        auto [sum, product] = results;
                        auto [c, d] = cotangents;
                        return std::tuple{10 * c + a * d, select(a > 0, sum * c, 0) - d / 4};
                      });
                  auto [sum, product] = mix(2 * x(0), x(1));
                  y(0) = sum;
                  y(1) = product;
                  y(2) = sum * product;
                }};
  auto x = tracked({1, 3}), y = tracked({0, 0, 0});
  auto tangents = tangents_of(kernel, y, x, {1, 100});  // of mix's operands: 2 and 100
  EXPECT_THAT(y.to_vector(), ElementsAre(5, 6, 30));
  const double sum = 10 * 2 + 5 * 100, product = 2 * 2 - 100.0 / 4;
  EXPECT_THAT(tangents, ElementsAre(sum, product, 6 * sum + 5 * product));
}

// With this many results the adjoint is not run for each of them, but differentiated. Its gradients are no function's.
TEST(CustomAdjoint, OfManyResultsIsTransposedAtOnce) {
  static constexpr int count = 12;
  using Values = std::array<Double, count>;
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto turned = custom_adjoint([](Values a) { return a; },
                                               [](Values a, Values, Values cotangents) {
                                                 LocalArray<double, count> parts;
                                                 for (int k = 0; k < count; ++k) parts(k) = a[0] * cotangents[k];
                                                 Double sum = 0;
                                                 for (Int k : range(count)) {
                                                   sum += cast<Double>(k) * parts(k);
                                                   parts(k) = sum;
                                                 }
                                                 Values gradients;
                                                 for (int k = 0; k < count; ++k) gradients[k] = parts(k);
                                                 return gradients;
                                               });
                  Values values;
                  for (int k = 0; k < count; ++k) values[k] = x(k);
                  const Values results = turned(values);
                  for (int k = 0; k < count; ++k) y(k) = results[k];
                }};
  std::vector<double> numbers(count), tangents(count), expected(count);
  for (int k = 0; k < count; ++k) numbers[k] = k + 2, tangents[k] = 1 + k * k;
  for (int j = 0; j < count; ++j)
    for (int k = j; k < count; ++k) expected[j] += 2 * j * tangents[k];
  Buffer<double> x{test::device(), {count}, numbers, Gradient::tracked}, y{test::device(), {count}, Gradient::tracked};
  x.gradient().copy_from(tangents);
  kernel.launch({1}, {.direction = Direction::tangent}, y, x);
  EXPECT_EQ(y.to_vector(), numbers);
  EXPECT_EQ(y.gradient().to_vector(), expected);
}

TEST(CustomAdjoint, WithGradientsOfArraysIsTransposedForATangent) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto dot = custom_adjoint(
                      [&](Double scale) {
                        Double sum = 0;
                        for (Int k : range(3)) sum += x(k);
                        return scale * sum;
                      },
                      [&](Double scale, Double, Double c) {
                        LocalArray<double, 3> parts;
                        for (Int k : range(3)) parts(k) = c * cast<Double>(k + 1);
                        for (Int k : range(3)) if_(k != 1, [&] { add_to_gradient(x(k), scale * parts(k)); });
                        return parts(2);
                      });
                  y(0) = dot(x(3)) * 2;
                }};
  auto x = tracked({1, 2, 3, 4}), y = tracked({0});
  EXPECT_THAT(tangents_of(kernel, y, x, {1, 10, 100, 1000}), ElementsAre(2 * (4 * 1 * 1 + 4 * 3 * 100 + 3 * 1000)));
  EXPECT_EQ(y.at(0), 48);
}

TEST(Replay, ReadsBackWhatHappenedOnce) {
  // Each instance takes a slot from a counter; its weight is the slot's.
  Kernel kernel{"kernel",
                {"y", "x", "slot", "counter", "weights"},
                [](Array<double, 1> y, Array<const double, 1> x, Array<int, 1> slot, Array<int, 1> counter,
                   Array<const double, 1> weights) {
                  Int i = thread_index();
                  auto weigh = custom_adjoint(
                      [&](Double a) {
                        Int place = atomic_add(counter(0), 1);
                        slot(i) = place;
                        return a * weights(place);
                      },
                      [&](Double, Double, Double cotangent) { return cotangent * weights(slot(i)); },
                      [&](Double a) { return a * weights(slot(i)); });
                  Double weighed = weigh(x(i));
                  y(i) = weighed * weighed;
                }};
  auto x = tracked({1, 2, 3}), y = tracked({0, 0, 0});
  Buffer<int> slot(device, {3}), counter(device, {1});
  Buffer<double> weights(device, {3}, {2, 3, 5});
  Tape tape;
  tape.record([&] { kernel.launch({3}, y, x, slot, counter, weights); });
  tape.backward({{y, Buffer<double>(device, {3}, {1, 1, 1})}});
  EXPECT_EQ(counter.at(0), 3) << "taken once";
  for (int i = 0; i < 3; ++i) {
    double w = weights.at(slot.at(i));
    EXPECT_EQ(x.gradient().at(i), 2 * w * w * x.at(i)) << i;
  }
}

TEST(Replay, IsRefusedWhereTheTapeHasOverwrittenWhatItReads) {
  Kernel kernel{"kernel", {"y", "x", "kept"}, [](Array<double, 1> y, Array<const double, 1> x, Array<double, 1> kept) {
                  Int i = thread_index();
                  auto keep = custom_adjoint(
                      [&](Double a) {
                        kept(i) = exp(stop_gradient(a));
                        return exp(a);
                      },
                      [&](Double, Double, Double cotangent) { return cotangent * kept(i); },
                      [&](Double) { return Double(kept(i)); });
                  y(i) = keep(x(i));
                }};
  auto x = tracked({1}), y = tracked({0}), z = tracked({0});
  Buffer<double> kept(device, {1});
  Tape tape;
  tape.record([&] {
    kernel.launch({1}, y, x, kept);
    kernel.launch({1}, z, y, kept);
  });
  EXPECT_THAT(message_of<UserError>([&] { tape.backward({{z, Buffer<double>(device, {1}, {1})}}); }),
              AllOf(HasSubstr("launch 0"), HasSubstr("argument 2 ('kept')"), HasSubstr("overwritten since")));
}

TEST(StopGradient, EndsAGradient) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = stop_gradient(x(i) * x(i)) * x(i);
                }};
  auto x = tracked({3}), y = tracked({0});
  EXPECT_THAT(gradient_of(kernel, y, x, {1}), ElementsAre(9));
  EXPECT_EQ(y.at(0), 27);
}

TEST(AdjointOf, IsTheDerivative) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto f = [](Double a, Double b) { return sin(a) * b + b * b; };
                  Int i = thread_index();
                  auto [da, db] = adjoint_of(f)(x(i), 2.0, 10.0);
                  y(i) = da + 1000 * db;
                }};
  auto x = tracked({0.5, 1}), y = tracked({0, 0});
  kernel.launch({2}, y, x);
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(y.at(i), 20 * std::cos(x.at(i)) + 10000 * (std::sin(x.at(i)) + 4), 1e-9);
}

TEST(AdjointOf, OfLoopsBranchesArraysAndLocalsFromOutside) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  Double factor = x(0);
                  factor += 1;
                  auto f = [&](Double a, Int n) {
                    Double product = factor;
                    for (Int j : range(n)) {
                      product *= a + x(j);
                      if_(product > 100, [&] { product = product / 2; });
                    }
                    return product;
                  };
                  y(i) = adjoint_of(f)(x(i), 3, 1.0);
                }};
  std::vector<double> values{0.5, 1, 7};
  auto x = tracked({0.5, 1, 7}), y = tracked({0, 0, 0});
  kernel.launch({3}, y, x);
  auto f = [&](double a) {
    double product = 1.5;
    for (int j = 0; j < 3; ++j) {
      product *= a + values[static_cast<std::size_t>(j)];
      if (product > 100) product /= 2;
    }
    return product;
  };
  for (int i = 0; i < 3; ++i) {
    double a = x.at(i);
    EXPECT_NEAR(y.at(i), (f(a + 1e-6) - f(a - 1e-6)) / 2e-6, 1e-5) << i;
  }
}

TEST(AdjointOf, CanBeDifferentiated) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = adjoint_of([](Double a) { return a * a * a; })(x(i), 1.0);
                }};
  auto x = tracked({2}), y = tracked({0});
  EXPECT_THAT(gradient_of(kernel, y, x, {1}), ElementsAre(12));
  EXPECT_EQ(y.at(0), 12);
  GradientReport report = gradcheck(kernel, {1}, y, x);
  EXPECT_TRUE(report.passed) << report;
}

TEST(AdjointOf, OfItselfIsTheSecondDerivative) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  auto first = [](Double a) { return adjoint_of([](Double b) { return b * b * b; })(a, 1.0); };
                  y(i) = adjoint_of(first)(x(i), 1.0);
                }};
  auto x = tracked({2}), y = tracked({0});
  kernel.launch({1}, y, x);
  EXPECT_EQ(y.at(0), 12);
}

TEST(AdjointOf, ACustomAdjointIsTheOneGiven) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  auto f = custom_adjoint([](Double a) { return a; }, [](Double, Double, Double c) { return 7 * c; });
                  Int i = thread_index();
                  y(i) = adjoint_of(f)(x(i), 2.0);
                }};
  auto x = tracked({2}), y = tracked({0});
  kernel.launch({1}, y, x);
  EXPECT_EQ(y.at(0), 14);
}

TEST(AdjointOf, OfVectors) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  Vec3d v{x(0), x(1), x(2)};
                  Vec3d gradient = adjoint_of([](Vec3d a) { return dot(a, a); })(v, 1.0);
                  y(i) = gradient[0] + 10 * gradient[1] + 100 * gradient[2];
                }};
  auto x = tracked({1, 2, 3}), y = tracked({0});
  kernel.launch({1}, y, x);
  EXPECT_EQ(y.at(0), 642);
}

// ---- refused programs

template <class K>
std::string refusal(const K &kernel, Direction direction = Direction::adjoint) {
  auto x = tracked({1, 2}), y = tracked({0, 0});
  return message_of<UserError>([&] { kernel.launch({2}, {.direction = direction}, y, x); });
}

TEST(CustomAdjointRefuses, ValuesFromOutsideThatCarryAGradient) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  Double factor = 2 * x(0);
                  auto f = custom_adjoint([&](Double a) { return factor * a; },
                                          [&](Double, Double, Double c) { return factor * c; });
                  y(i) = f(x(i));
                }};
  EXPECT_THAT(refusal(kernel), AllOf(HasSubstr("kernel 'kernel'"), HasSubstr("value from outside"),
                                     HasSubstr("argument"), HasSubstr("custom_adjoint_test.cpp:")));
}

TEST(CustomAdjointRefuses, AnArgumentThatIsUsedFromOutsideToo) {
  Kernel kernel{"kernel", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  Double own = x(i);
                  auto f =
                      custom_adjoint([&](Double a) { return own * a; }, [&](Double, Double, Double c) { return c; });
                  y(i) = f(own);
                }};
  EXPECT_THAT(refusal(kernel), HasSubstr("value from outside"));
}

TEST(CustomAdjointRefuses, ArraysWhoseGradientItDoesNotGive) {
  Kernel kernel{"kernel", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  auto f = custom_adjoint([&](Double a) { return x(0) * a; },
                                          [&](Double, Double, Double c) { return x(0) * c; });
                  y(i) = f(x(i));
                }};
  EXPECT_THAT(refusal(kernel), AllOf(HasSubstr("array 'x'"), HasSubstr("add_to_gradient")));
}

TEST(CustomAdjointRefuses, WritesToTrackedArrays) {
  Kernel kernel{"kernel", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  auto f = custom_adjoint(
                      [&](Double a) {
                        y(1 - i) = a;
                        return a;
                      },
                      [](Double, Double, Double c) { return c; });
                  y(i) = f(x(i));
                }};
  EXPECT_THAT(refusal(kernel), AllOf(HasSubstr("writes to array 'y'"), HasSubstr("returning the value")));
}

// Checks that no tangent belongs to the adjoint.
template <class A>
std::string tangent_refusal(const A &adjoint) {
  Kernel kernel{"kernel", [&](Array<double, 1> y, Array<const double, 1> x, Array<double, 1> other) {
                  Int i = thread_index();
                  auto f = custom_adjoint([](Double a) { return a; },
                                          [&](Double a, Double r, Double c) { return adjoint(a, r, c, other); });
                  y(i) = f(x(i));
                  other(i) = 0;
                }};
  auto x = tracked({1}), y = tracked({0});
  Buffer<double> other(device, {1});
  return message_of<UserError>([&] { kernel.launch({1}, {.direction = Direction::tangent}, y, x, other); });
}

using Other = Array<double, 1>;

TEST(CustomAdjointRefuses, TangentsOfWhatIsNotLinearByLine) {
  auto is_refused = AllOf(HasSubstr("tangent of kernel 'kernel'"), HasSubstr("adjoint of its own"),
                          HasSubstr("not linear in the cotangent"), HasSubstr("stop_gradient"),
                          HasSubstr("custom_adjoint_test.cpp:"));
  EXPECT_THAT(tangent_refusal([](Double, Double, Double c, Other) { return clamp(c, -1, 1); }), is_refused);
  EXPECT_THAT(tangent_refusal([](Double, Double, Double c, Other) { return c * c; }), is_refused);
  EXPECT_THAT(tangent_refusal([](Double, Double, Double c, Other) { return c + 1; }), is_refused);
  EXPECT_THAT(tangent_refusal([](Double a, Double, Double, Other) { return a; }), is_refused);
  EXPECT_THAT(tangent_refusal([](Double, Double, Double c, Other) {
                Double result = 0;
                if_(c > 0, [&] { result = c; });
                return result;
              }),
              is_refused);
  EXPECT_THAT(tangent_refusal([](Double, Double, Double c, Other) {
                Double power = c;
                for (Int k : range(3)) power *= 0.5 * power;
                return power;
              }),
              is_refused);
}

TEST(CustomAdjointRefuses, TangentsOfWhatActsOnArraysByLine) {
  EXPECT_THAT(tangent_refusal([](Double, Double, Double c, Other other) {
                other(0) = 1;
                return c;
              }),
              AllOf(HasSubstr("writes to array 'p2'"), HasSubstr("custom_adjoint_test.cpp:")));
  EXPECT_THAT(tangent_refusal([](Double, Double, Double c, Other other) { return c * other(0); }),
              AllOf(HasSubstr("reads array 'p2'"), HasSubstr("custom_adjoint_test.cpp:")));
}

template <class F>
std::string capture_refusal(const F &function) {
  return message_of<UserError>([&] { Kernel("kernel", function); });
}

TEST(CustomAdjointRefuses, AssignmentsToLocalsFromOutside) {
  EXPECT_THAT(
      capture_refusal([](Array<double, 1> y) {
        Double count = 0;
        auto f = custom_adjoint(
            [&](Double a) {
              count += 1;
              return a;
            },
            [](Double, Double, Double c) { return c; });
        y(0) = f(1.0) + count;
      }),
      AllOf(HasSubstr("assigns a local"), HasSubstr("return the value"), HasSubstr("custom_adjoint_test.cpp:")));
}

TEST(CustomAdjointRefuses, ToBeLeftHalfWay) {
  EXPECT_THAT(capture_refusal([](Array<double, 1> y) {
                for (Int i : range(3)) {
                  auto f = custom_adjoint(
                      [&](Double a) {
                        if_(a > 0, [] { break_(); });
                        return a;
                      },
                      [](Double, Double, Double c) { return c; });
                  y(i) = f(1.0);
                }
              }),
              AllOf(HasSubstr("break_()"), HasSubstr("half-way"), HasSubstr("returning")));
  EXPECT_THAT(capture_refusal([](Array<double, 1> y) {
                auto f = [](Double a) {
                  if_(a > 0, [] { return_(); });
                  return a;
                };
                y(0) = adjoint_of(f)(1.0, 1.0);
              }),
              AllOf(HasSubstr("return_"), HasSubstr("half-way")));
}

TEST(CustomAdjointRefuses, LocalArraysFromOutside) {
  EXPECT_THAT(capture_refusal([](Array<double, 1> y) {
                LocalArray<double, 3> a;
                auto f = [&](Double x) { return x * a(1); };
                y(0) = adjoint_of(f)(1.0, 1.0);
              }),
              HasSubstr("uses a local array that is declared outside"));
}

TEST(AdjointOfRefuses, FunctionsThatWriteToArrays) {
  EXPECT_THAT(capture_refusal([](Array<double, 1> y) {
                auto f = [&](Double a) {
                  y(1) = a;
                  return a;
                };
                y(0) = adjoint_of(f)(1.0, 1.0);
              }),
              AllOf(HasSubstr("adjoint_of"), HasSubstr("writes to array 'p0'"), HasSubstr("returning the value")));
}

TEST(AddToGradientRefuses, ToBeCalledOutsideOfAnAdjoint) {
  EXPECT_THAT(capture_refusal([](Array<double, 1> y) { add_to_gradient(y(0), 1.0); }),
              AllOf(HasSubstr("add_to_gradient"), HasSubstr("adjoint of a custom_adjoint")));
}

}  // namespace
}  // namespace samite::test
