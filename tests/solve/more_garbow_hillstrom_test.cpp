// Least squares on the problems of Moré, Garbow and Hillstrom, Testing unconstrained optimization software, ACM TOMS 7,
// 1981: from their starts to their published sums of squares. The numbers are theirs; if they list several minima, or a
// value that a sum takes at infinity, each counts.
#include "tests/solve/systems.h"

#include <gtest/gtest.h>

#include <array>
#include <numbers>

namespace samite::test {
namespace {

using namespace systems;
using namespace solvers;

template <int N>
using Unknowns = Vector<Double, N>;

LeastSquaresReport solved_to_the_end(LeastSquares &problem) {
  return problem.solve({.iterations = 2000, .cost_tolerance = 1e-15, .gradient_tolerance = 0, .step_tolerance = 1e-15});
}

void expect_one_of(const char *name, double squares, const Numbers &minima, const LeastSquaresReport &report) {
  for (const double minimum : minima)
    if (std::abs(squares - minimum) <= (minimum == 0 ? 1e-10 : 1e-5 * minimum)) return;
  ADD_FAILURE() << name << " ends at " << squares << " instead of " << minima[0] << "\n"
                << report << "\n"
                << report.history();
}

// All residuals at once.
template <int N, class F>
void expect_minimum(const char *name, const F &residuals, const Numbers &start, const Numbers &minima) {
  LeastSquares problem;
  const ParameterBlocks x = problem.add_parameters("x", on_device(start, Gradient::untracked).reshape({1, N}));
  problem.add_residuals("system", residuals, {{x, Buffer<std::int32_t>(device(), {1})}});
  const LeastSquaresReport report = solved_to_the_end(problem);
  expect_one_of(name, 2 * report.final_cost, minima, report);
}

// Residual i from 1 to `count`, with number i of `data`, if there are any.
template <int N, class F>
void expect_minimum(const char *name, const F &residual, std::size_t count, Numbers data, const Numbers &start,
                    const Numbers &minima) {
  LeastSquares problem;
  const ParameterBlocks x = problem.add_parameters("x", on_device(start, Gradient::untracked).reshape({1, N}));
  Numbers numbers;
  for (std::size_t i = 1; i <= count; ++i) numbers.push_back(static_cast<double>(i));
  data.resize(count);
  problem.add_residuals("series", residual, {{x, Buffer<std::int32_t>(device(), {count})}},
                        {on_device(numbers, Gradient::untracked), on_device(data, Gradient::untracked)});
  const LeastSquaresReport report = solved_to_the_end(problem);
  expect_one_of(name, 2 * report.final_cost, minima, report);
}

Numbers filled(int n, double value) { return Numbers(static_cast<std::size_t>(n), value); }

template <int N>
Double sum_of(const Unknowns<N> &x) {
  Double sum = x[0];
  for (int i = 1; i < N; ++i) sum += x[i];
  return sum;
}

TEST(MoreGarbowHillstrom, TwoAndThreeUnknowns) {
  expect_minimum<2>("Rosenbrock", [](const Vec2d &x) { return Vec2d(10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0]); },
                    {-1.2, 1}, {0});
  expect_minimum<2>("Freudenstein and Roth",
                    [](const Vec2d &x) {
                      return Vec2d(-13.0 + x[0] + ((5.0 - x[1]) * x[1] - 2.0) * x[1],
                                   -29.0 + x[0] + ((x[1] + 1.0) * x[1] - 14.0) * x[1]);
                    },
                    {0.5, -2}, {48.9842, 0});
  expect_minimum<2>("Powell, badly scaled",
                    [](const Vec2d &x) { return Vec2d(1e4 * x[0] * x[1] - 1.0, exp(-x[0]) + exp(-x[1]) - 1.0001); },
                    {0, 1}, {0});
  expect_minimum<2>("Brown, badly scaled",
                    [](const Vec2d &x) { return Vec3d(x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2.0); }, {1, 1}, {0});
  expect_minimum<2>("Beale",
                    [](const Vec2d &x) {
                      return Vec3d(1.5 - x[0] * (1.0 - x[1]), 2.25 - x[0] * (1.0 - x[1] * x[1]),
                                   2.625 - x[0] * (1.0 - x[1] * x[1] * x[1]));
                    },
                    {1, 1}, {0});
  expect_minimum<3>("helical valley",
                    [](const Vec3d &x) {
                      const Double turn = atan(x[1] / x[0]) / (2 * std::numbers::pi) + select(x[0] < 0.0, 0.5, 0.0);
                      return Vec3d(10.0 * (x[2] - 10.0 * turn), 10.0 * (sqrt(x[0] * x[0] + x[1] * x[1]) - 1.0), x[2]);
                    },
                    {-1, 0, 0}, {0});
}

TEST(MoreGarbowHillstrom, FourUnknowns) {
  expect_minimum<4>("Powell, singular",
                    [](const Vec4d &x) {
                      const Double a = x[1] - 2.0 * x[2], b = x[0] - x[3];
                      return Vec4d(x[0] + 10.0 * x[1], std::sqrt(5.0) * (x[2] - x[3]), a * a, std::sqrt(10.0) * b * b);
                    },
                    {3, -1, 0, 1}, {0});
  expect_minimum<4>("Wood",
                    [](const Vec4d &x) {
                      return Vec6d(10.0 * (x[1] - x[0] * x[0]), 1.0 - x[0], std::sqrt(90.0) * (x[3] - x[2] * x[2]),
                                   1.0 - x[2], std::sqrt(10.0) * (x[1] + x[3] - 2.0), std::sqrt(0.1) * (x[1] - x[3]));
                    },
                    {-3, -1, -3, -1}, {0});
  expect_minimum<4>("penalty I",
                    [](const Vec4d &x) {
                      const double a = std::sqrt(1e-5);
                      return Vec5d(a * (x[0] - 1.0), a * (x[1] - 1.0), a * (x[2] - 1.0), a * (x[3] - 1.0),
                                   dot(x, x) - 0.25);
                    },
                    {1, 2, 3, 4}, {2.24997e-5});
  expect_minimum<4>(
      "penalty II",
      [](const Vec4d &x) {
        const double a = std::sqrt(1e-5);
        std::array<Double, 8> r;
        r[0] = x[0] - 0.2;
        for (int i = 1; i < 4; ++i) {
          const auto k = static_cast<std::size_t>(i);
          r[k] = a * (exp(x[i] / 10.0) + exp(x[i - 1] / 10.0) - (std::exp((i + 1) / 10.0) + std::exp(i / 10.0)));
          r[k + 3] = a * (exp(x[i] / 10.0) - std::exp(-0.1));
        }
        r[7] = 4.0 * x[0] * x[0] + 3.0 * x[1] * x[1] + 2.0 * x[2] * x[2] + x[3] * x[3] - 1.0;
        return r;
      },
      filled(4, 0.5), {9.37629e-6});
}

TEST(MoreGarbowHillstrom, Series) {
  expect_minimum<2>(
      "Jennrich and Sampson",
      [](const Vec2d &x, const Double &i, const Double &) { return 2.0 + 2.0 * i - (exp(i * x[0]) + exp(i * x[1])); },
      10, {}, {0.3, 0.4}, {124.362});
  expect_minimum<3>("Bard",
                    [](const Vec3d &x, const Double &i, const Double &y) {
                      const Double v = 16.0 - i;
                      return y - (x[0] + i / (v * x[1] + min(i, v) * x[2]));
                    },
                    15, {0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39},
                    {1, 1, 1}, {8.21487e-3, 17.4286});
  expect_minimum<3>("Gaussian",
                    [](const Vec3d &x, const Double &i, const Double &y) {
                      const Double t = (8.0 - i) / 2.0 - x[2];
                      return x[0] * exp(-x[1] * t * t / 2.0) - y;
                    },
                    15,
                    {0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521, 0.3989, 0.3521, 0.2420, 0.1295, 0.0540,
                     0.0175, 0.0044, 0.0009},
                    {0.4, 1, 0}, {1.12793e-8});
  expect_minimum<3>(
      "Meyer",
      [](const Vec3d &x, const Double &i, const Double &y) { return x[0] * exp(x[1] / (45.0 + 5.0 * i + x[2])) - y; },
      16, {34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872},
      {0.02, 4000, 250}, {87.9458});
  expect_minimum<3>("Gulf",
                    [](const Vec3d &x, const Double &i, const Double &) {
                      const Double t = i / 100.0, y = 25.0 + pow(-50.0 * log(t), 2.0 / 3);
                      return exp(-pow(abs(y - x[1]), x[2]) / x[0]) - t;
                    },
                    99, {}, {5, 2.5, 0.15}, {0});
  expect_minimum<3>("Box",
                    [](const Vec3d &x, const Double &i, const Double &) {
                      const Double t = 0.1 * i;
                      return exp(-t * x[0]) - exp(-t * x[1]) - x[2] * (exp(-t) - exp(-10.0 * t));
                    },
                    10, {}, {0, 10, 20}, {0});
  expect_minimum<4>("Brown and Dennis",
                    [](const Vec4d &x, const Double &i, const Double &) {
                      const Double t = i / 5.0, a = x[0] + t * x[1] - exp(t), b = x[2] + x[3] * sin(t) - cos(t);
                      return a * a + b * b;
                    },
                    20, {}, {25, 5, -5, -1}, {85822.2});
  expect_minimum<6>("Biggs",
                    [](const Vec6d &x, const Double &i, const Double &) {
                      const Double t = 0.1 * i, y = exp(-t) - 5.0 * exp(-10.0 * t) + 3.0 * exp(-4.0 * t);
                      return x[2] * exp(-t * x[0]) - x[3] * exp(-t * x[1]) + x[5] * exp(-t * x[4]) - y;
                    },
                    13, {}, {1, 2, 1, 1, 1, 1}, {5.65565e-3, 0});
}

TEST(MoreGarbowHillstrom, SeriesWithData) {
  const Numbers u{4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625};
  const Numbers y{0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246};
  LeastSquares problem;
  const ParameterBlocks x =
      problem.add_parameters("x", on_device({0.25, 0.39, 0.415, 0.39}, Gradient::untracked).reshape({1, 4}));
  problem.add_residuals("enzyme",
                        [](const Vec4d &x, const Double &u, const Double &y) {
                          return y - x[0] * (u * u + u * x[1]) / (u * u + u * x[2] + x[3]);
                        },
                        {{x, Buffer<std::int32_t>(device(), {11})}},
                        {on_device(u, Gradient::untracked), on_device(y, Gradient::untracked)});
  const LeastSquaresReport report = solved_to_the_end(problem);
  expect_one_of("Kowalik and Osborne", 2 * report.final_cost, {3.07505e-4}, report);

  expect_minimum<11>("Osborne 2",
                     [](const Unknowns<11> &x, const Double &i, const Double &y) {
                       const Double t = (i - 1.0) / 10.0;
                       const auto bump = [&](int height, int width, int place) {
                         const Double away = t - x[place];
                         return x[height] * exp(-away * away * x[width]);
                       };
                       return y - (x[0] * exp(-t * x[4]) + bump(1, 5, 8) + bump(2, 6, 9) + bump(3, 7, 10));
                     },
                     65, {1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608,
                          0.655, 0.616, 0.606, 0.602, 0.626, 0.651, 0.724, 0.649, 0.649, 0.694, 0.644, 0.624, 0.661,
                          0.612, 0.558, 0.533, 0.495, 0.500, 0.423, 0.395, 0.375, 0.372, 0.391, 0.396, 0.405, 0.428,
                          0.429, 0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591, 0.559,
                          0.597, 0.625, 0.739, 0.710, 0.729, 0.720, 0.636, 0.581, 0.428, 0.292, 0.162, 0.098, 0.054},
                     {1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5}, {4.01377e-2});
}

template <int N>
void expect_minimum_of_watson(const Numbers &minima) {
  LeastSquares problem;
  const ParameterBlocks x = problem.add_parameters("x", on_device(filled(N, 0), Gradient::untracked).reshape({1, N}));
  Numbers t;
  for (int i = 1; i <= 29; ++i) t.push_back(i / 29.0);
  problem.add_residuals("polynomial",
                        [](const Unknowns<N> &x, const Double &t) {
                          Double value = x[N - 1], slope = 0;
                          for (int j = N - 2; j >= 0; --j) {
                            slope = slope * t + (j + 1.0) * x[j + 1];
                            value = value * t + x[j];
                          }
                          return slope - value * value - 1.0;
                        },
                        {{x, Buffer<std::int32_t>(device(), {29})}}, {on_device(t, Gradient::untracked)});
  problem.add_residuals("ends", [](const Unknowns<N> &x) { return Vec2d(x[0], x[1] - x[0] * x[0] - 1.0); },
                        {{x, Buffer<std::int32_t>(device(), {1})}});
  const LeastSquaresReport report = solved_to_the_end(problem);
  expect_one_of("Watson", 2 * report.final_cost, minima, report);
}

TEST(MoreGarbowHillstrom, Watson) {
  expect_minimum_of_watson<6>({2.28767e-3});
  expect_minimum_of_watson<9>({1.39976e-6});
}

constexpr int many = 10;
using Many = Unknowns<many>;

TEST(MoreGarbowHillstrom, SystemsOfTenUnknowns) {
  const auto expect_zero = [](const char *name, const auto &residual, const Numbers &start, const Numbers &minima) {
    const auto all = [residual](const Many &x) {
      return Many::generate([&](int i) { return Double(residual(x, i)); });
    };
    expect_minimum<many>(name, all, start, minima);
  };
  Numbers places;  // t = i h
  for (int i = 1; i <= many; ++i) places.push_back(i / (many + 1.0));
  Numbers bent = places;
  for (double &t : bent) t *= t - 1;
  const auto at = [](const Many &x, int i) { return i < 0 || i >= many ? Double(0.0) : Double(x[i]); };
  const double h = 1 / (many + 1.0);
  expect_zero("trigonometric",
              [](const Many &x, int i) {
                Double sum = many + (i + 1.0) * (1.0 - cos(x[i])) - sin(x[i]);
                for (int j = 0; j < many; ++j) sum -= cos(x[j]);
                return sum;
              },
              filled(many, 0.1), {0, 2.79506e-5});
  expect_zero("Brown, almost linear",
              [](const Many &x, int i) {
                if (i < many - 1) return Double(x[i] + sum_of<many>(x) - (many + 1.0));
                Double product = x[0];
                for (int j = 1; j < many; ++j) product *= x[j];
                return Double(product - 1.0);
              },
              filled(many, 0.5), {0, 1});
  expect_zero("discrete boundary value",
              [=](const Many &x, int i) {
                const Double bend = x[i] + (i + 1) * h + 1.0;
                return 2.0 * x[i] - at(x, i - 1) - at(x, i + 1) + h * h / 2 * bend * bend * bend;
              },
              bent, {0});
  expect_zero("discrete integral",
              [=](const Many &x, int i) {
                const double t = (i + 1) * h;
                Double sum = x[i];
                for (int j = 0; j < many; ++j) {
                  const double s = (j + 1) * h;
                  const Double bend = x[j] + s + 1.0;
                  sum += h / 2 * (j <= i ? (1 - t) * s : t * (1 - s)) * bend * bend * bend;
                }
                return sum;
              },
              bent, {0});
  expect_zero("Broyden, tridiagonal",
              [=](const Many &x, int i) { return (3.0 - 2.0 * x[i]) * x[i] - at(x, i - 1) - 2.0 * at(x, i + 1) + 1.0; },
              filled(many, -1), {0});
  expect_zero("Broyden, banded",
              [](const Many &x, int i) {
                Double sum = x[i] * (2.0 + 5.0 * x[i] * x[i]) + 1.0;
                for (int j = std::max(0, i - 5); j <= std::min(many - 1, i + 1); ++j)
                  if (j != i) sum -= x[j] * (1.0 + x[j]);
                return sum;
              },
              filled(many, -1), {0});
}

TEST(MoreGarbowHillstrom, LinearAndPolynomial) {
  Numbers start;
  for (int j = 1; j <= many; ++j) start.push_back(1 - j / static_cast<double>(many));
  expect_minimum<many>("variably dimensioned",
                       [](const Many &x) {
                         std::array<Double, many + 2> r;
                         Double sum = 0;
                         for (int j = 0; j < many; ++j) {
                           r[static_cast<std::size_t>(j)] = x[j] - 1.0;
                           sum += (j + 1.0) * (x[j] - 1.0);
                         }
                         r[many] = sum, r[many + 1] = sum * sum;
                         return r;
                       },
                       start, {0});
  const auto linear = [](const char *name, const auto &residual, double minimum) {
    const auto all = [residual](const Vec5d &x) {
      return Many::generate([&](int i) { return Double(residual(x, i + 1)); });
    };
    expect_minimum<5>(name, all, filled(5, 1), {minimum});
  };
  linear(
      "linear, full rank",
      [](const Vec5d &x, int i) {
        return (i <= 5 ? Double(x[std::min(i, 5) - 1]) : Double(0.0)) - 0.2 * sum_of<5>(x) - 1.0;
      },
      5);
  const auto weighted = [](const Vec5d &x, int from, int to) {
    Double sum = 0;
    for (int j = from; j <= to; ++j) sum += j * 1.0 * x[j - 1];
    return sum;
  };
  linear("linear, rank 1", [=](const Vec5d &x, int i) { return i * 1.0 * weighted(x, 1, 5) - 1.0; }, 90.0 / 42);
  linear(
      "linear, rank 1 with zeros",
      [=](const Vec5d &x, int i) {
        return i == 1 || i == many ? Double(-1.0) : Double((i - 1.0) * weighted(x, 2, 4) - 1.0);
      },
      124.0 / 34);
}

template <int N>
void expect_minimum_of_chebyquad(const Numbers &minima) {
  Numbers start;
  for (int j = 1; j <= N; ++j) start.push_back(j / (N + 1.0));
  expect_minimum<N>(
      "Chebyquad",
      [](const Unknowns<N> &x) {
        // T_i of the interval from 0 to 1, by their recurrence; the integral is 0 for odd i, else -1 / (i^2 - 1).
        std::array<Double, N> r;
        for (Double &residual : r) residual = 0.0;
        for (int j = 0; j < N; ++j) {
          const Double z = 2.0 * x[j] - 1.0;
          Double before = 1.0, now = z;
          for (int i = 1; i <= N; ++i) {
            r[static_cast<std::size_t>(i - 1)] += now / N;
            const Double next = 2.0 * z * now - before;
            before = now, now = next;
          }
        }
        for (int i = 2; i <= N; i += 2) r[static_cast<std::size_t>(i - 1)] += 1.0 / (i * i - 1);
        return r;
      },
      start, minima);
}

TEST(MoreGarbowHillstrom, Chebyquad) {
  expect_minimum_of_chebyquad<8>({3.51687e-3});
  expect_minimum_of_chebyquad<9>({0});
  expect_minimum_of_chebyquad<10>({6.50395e-3, 4.77271e-3});
}

}  // namespace
}  // namespace samite::test
