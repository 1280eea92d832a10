// Every function of floating values and its derivatives, forward and reverse, in every type, against MPFR: at zeros,
// denormal, smallest, largest and infinite numbers, NaN, equal operands and both sides of every branch of the
// derivative rules, and at numbers of all sizes. docs/functions.md has the largest errors.
//
// SAMITE_TEST_PRINT_ERRORS=1 prints the rows of its table as measured on this machine.
#include "tests/autodiff/exact.h"
#include "tests/runtime/test_device.h"

#include "samite/lang/algebra.h"
#include "samite/samite.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

namespace samite::test {
namespace {

Real square(const Real &a) { return a * a; }
Real sign_of(const Real &a) { return a.is_zero() || a.is_nan() ? a : copysign(1, a); }

// The derivative of digamma: numbers up to 100 by its sum, and the asymptotic series (Abramowitz and Stegun, 6.4.12).
Real trigamma(Real x) {
  if (x < 0) return square(pi() / sin(pi() * x)) - trigamma(Real(1) - x);
  Real sum = 0;
  for (; x < 100; x = x + 1) sum = sum + Real(1) / square(x);
  const Real r = Real(1) / x, q = r * r;
  Real series = Real(-174611) / 330;
  for (const Real &bernoulli : {Real(43867) / 798, Real(-3617) / 510, Real(7) / 6, Real(-691) / 2730, Real(5) / 66,
                                Real(-1) / 30, Real(1) / 42, Real(-1) / 30, Real(1) / 6})
    series = bernoulli + q * series;
  return sum + r + square(r) / 2 + r * q * series;
}

// A row: name; the kernel's function of a and b; its value, and its derivatives with respect to x and y.
// clang-format off
#define SAMITE_FUNCTIONS(X) \
  X("a / b", a / b, x / y, Real(1) / y, -x / square(y)) \
  X("abs", abs(a), abs(x), sign_of(x), 0) \
  X("min", min(a, b), min(x, y), x.is_nan() ? 0 : x < y || x == y || y.is_nan() ? 1 : 0, y.is_nan() ? 0 : x < y || x == y ? 0 : 1) \
  X("max", max(a, b), max(x, y), x.is_nan() ? 0 : y < x || x == y || y.is_nan() ? 1 : 0, y.is_nan() ? 0 : y < x || x == y ? 0 : 1) \
  X("sqrt", sqrt(a), sqrt(x), Real(0.5) / sqrt(x), 0) \
  X("rsqrt", rsqrt(a), Real(1) / sqrt(x), Real(-0.5) / (sqrt(x) * sqrt(x) * sqrt(x)), 0) \
  X("cbrt", cbrt(a), cbrt(x), Real(1) / (Real(3) * square(cbrt(x))), 0) \
  X("exp", exp(a), exp(x), exp(x), 0) \
  X("exp2", exp2(a), exp2(x), exp2(x) * log(Real(2)), 0) \
  X("expm1", expm1(a), expm1(x), exp(x), 0) \
  X("log", log(a), log(x), Real(1) / x, 0) \
  X("log2", log2(a), log2(x), Real(1) / (x * log(Real(2))), 0) \
  X("log10", log10(a), log10(x), Real(1) / (x * log(Real(10))), 0) \
  X("log1p", log1p(a), log1p(x), Real(1) / (Real(1) + x), 0) \
  X("sin", sin(a), sin(x), cos(x), 0) \
  X("cos", cos(a), cos(x), -sin(x), 0) \
  X("tan", tan(a), tan(x), Real(1) / square(cos(x)), 0) \
  X("asin", asin(a), asin(x), rsqrt((Real(1) - x) * (Real(1) + x)), 0) \
  X("acos", acos(a), acos(x), -rsqrt((Real(1) - x) * (Real(1) + x)), 0) \
  X("atan", atan(a), atan(x), Real(1) / (Real(1) + square(x)), 0) \
  X("atan2", atan2(a, b), atan2(x, y), y / (square(x) + square(y)), -x / (square(x) + square(y))) \
  X("sinh", sinh(a), sinh(x), cosh(x), 0) \
  X("cosh", cosh(a), cosh(x), sinh(x), 0) \
  X("tanh", tanh(a), tanh(x), Real(1) / square(cosh(x)), 0) \
  X("asinh", asinh(a), asinh(x), rsqrt(square(x) + 1), 0) \
  X("acosh", acosh(a), acosh(x), rsqrt((x - 1) * (x + 1)), 0) \
  X("atanh", atanh(a), atanh(x), Real(1) / ((Real(1) - x) * (Real(1) + x)), 0) \
  X("erf", erf(a), erf(x), Real(2) / sqrt(pi()) * exp(-square(x)), 0) \
  X("erfc", erfc(a), erfc(x), Real(-2) / sqrt(pi()) * exp(-square(x)), 0) \
  X("lgamma", lgamma(a), lgamma(x), digamma(x), 0) \
  X("digamma", digamma(a), digamma(x), trigamma(x), 0) \
  X("pow", pow(a, b), pow(x, y), y * pow(x, y - 1), x.is_zero() ? Real(0) : pow(x, y) * log(x)) \
  X("pow(a, 3)", pow(a, 3), x * x * x, Real(3) * square(x), 0) \
  X("hypot", hypot(a, b), hypot(x, y), hypot(x, y).is_zero() ? 0 : x / hypot(x, y), hypot(x, y).is_zero() ? 0 : y / hypot(x, y)) \
  X("norm", norm(Vector<Traced<T>, 3>(a, b, a)), sqrt(square(x) + square(y) + square(x)), (x.is_zero() && y.is_zero()) ? 0 : Real(2) * x / sqrt(square(x) + square(y) + square(x)), (x.is_zero() && y.is_zero()) ? 0 : y / sqrt(square(x) + square(y) + square(x))) \
  X("fmod", fmod(a, b), fmod(x, y), 1, -trunc(x / y)) \
  X("fma", fma(a, b, a), x * y + x, y + 1, x) \
  X("copysign", copysign(a, b), copysign(x, y), copysign(1, x) * copysign(1, y), 0) \
  X("floor", floor(a), floor(x), 0, 0) \
  X("ceil", ceil(a), ceil(x), 0, 0) \
  X("round", round(a), round(x), 0, 0) \
  X("trunc", trunc(a), trunc(x), 0, 0) \
  X("sign", sign(a), sign_of(x), 0, 0)
// clang-format on

struct MeasuredFunction {
  const char *name;
  Real (*value)(const Real &, const Real &);
  Real (*partials[2])(const Real &, const Real &);
};
#define SAMITE_ROW(name, in_kernel, value, by_x, by_y)                                                       \
  {name,                                                                                                     \
   [](const Real &x, const Real &y) -> Real { return (static_cast<void>(x), static_cast<void>(y), value); }, \
   {[](const Real &x, const Real &y) -> Real { return (static_cast<void>(x), static_cast<void>(y), by_x); }, \
    [](const Real &x, const Real &y) -> Real { return (static_cast<void>(x), static_cast<void>(y), by_y); }}},
const MeasuredFunction measured_functions[] = {SAMITE_FUNCTIONS(SAMITE_ROW)};
#undef SAMITE_ROW
constexpr int function_count = std::size(measured_functions);

// All functions, each of operands of its own.
template <class T>
auto all_functions() {
  return Kernel{"all_functions", [](Array<T, 2> out, Array<const T, 2> xs, Array<const T, 2> ys) {
                  Int i = thread_index();
                  int row = 0;
#define SAMITE_ROW(name, in_kernel, value, by_x, by_y) \
  {                                                    \
    Traced<T> a = xs(row, i), b = ys(row, i);          \
    out(row, i) = in_kernel;                           \
    ++row;                                             \
  }
                  SAMITE_FUNCTIONS(SAMITE_ROW)
#undef SAMITE_ROW
                }};
}

// Start values: corner cases, and numbers next to those at which functions and their derivatives turn.
template <class T>
std::vector<T> corners() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> numbers;
  const auto add = [&](T x) { numbers.push_back(x), numbers.push_back(T(-x)); };
  for (const T x : {T(0.0f), Limits::denorm_min(), T(T(3.0f) * Limits::denorm_min()), Limits::min(), Limits::max(),
                    Limits::infinity()})
    add(x);
  for (const double at : {0.5, 1.0, 1.4616321449683623, 2.0, 3.0, 10.0, 40.0, 0x1p14, 0x1p30, 0x1p60, 0x1p-50, 0x1p500,
                          0x1p-480, 0x1p-14, 88.0, 709.0, 11.0})
    for (const double beside : {-1.0, 0.0, 1.0}) {
      const T x = T(at * (1 + beside * std::ldexp(1.0, 1 - Format<T>::digits)));
      if (std::isfinite(static_cast<double>(x)) && static_cast<double>(x) != 0) add(x);
    }
  numbers.push_back(Limits::quiet_NaN());
  return numbers;
}

// Pairs of corners, and of numbers of all sizes: near to one another, far from it, equal, and of moderate size.
template <class T>
std::array<std::vector<T>, 2> operands() {
  std::array<std::vector<T>, 2> pairs;
  const auto add = [&](double x, double y) { pairs[0].push_back(T(x)), pairs[1].push_back(T(y)); };
  std::vector<double> numbers;
  for (const T x : corners<T>()) numbers.push_back(static_cast<double>(x));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    add(numbers[i], numbers[i]);
    add(numbers[i], numbers[(7 * i + 3) % numbers.size()]);
    add(numbers[i], numbers[(5 * i + 11) % numbers.size()]);
  }
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  const auto of_any_size = [&](double exponents) {
    return std::ldexp(std::copysign(1 + std::abs(unit(random)), unit(random)),
                      static_cast<int>(exponents * unit(random)));
  };
  for (int i = 0; i < 200; ++i) {
    const double exponents = Format<T>::highest - 1;
    const double x = of_any_size(exponents);
    add(x, of_any_size(exponents));
    add(x, x * (1.5 + unit(random)));
    add(10 * unit(random), 10 * unit(random));
    add(1 - std::ldexp(1 + unit(random), -1 - i % Format<T>::digits), of_any_size(4));
    add(of_any_size(6), of_any_size(3));
  }
  return pairs;
}

// Skips points with nothing to compare: no derivative, or none that the type's own numbers have.
bool compared(const MeasuredFunction &function, const Real &x, const Real &y, const Real &value, const Real &derivative,
              int lowest, int digits) {
  const std::string_view name = function.name;
  if (value.is_nan() || derivative.is_nan()) return false;
  if (name == "atan2" && x.is_zero() && y.is_zero()) return false;
  if (name == "atan2" && x.is_infinite() && y.is_infinite()) return false;
  // Near numbers of this size, parity is lost.
  if (name == "pow" && x < 0 && power_of_two(digits - 1) < abs(y)) return false;
  // No more digits than the result has.
  if ((name == "hypot" || name == "norm") && !value.is_zero() && abs(value) < power_of_two(lowest)) return false;
  if (x.is_infinite() || y.is_infinite())
    return name != "pow" && name != "norm" && name != "hypot" && name != "a / b" && name != "fmod" && name != "fma";
  return true;
}

template <class T>
bool in_range(const Real &number) {
  return abs(number) < power_of_two(Format<T>::highest + 1) - power_of_two(Format<T>::highest - Format<T>::digits);
}

struct Errors {
  double value = 0, derivative = 0;
};

template <class T>
std::map<std::string, Errors> largest_errors() {
  const auto [x, y] = operands<T>();
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<T> xs, ys;
  for (int f = 0; f < function_count; ++f) {
    xs.insert(xs.end(), x.begin(), x.end());
    ys.insert(ys.end(), y.begin(), y.end());
  }
  const Device device = test::device();
  Buffer<T> in_x(device, {function_count, n}, xs, Gradient::tracked);
  Buffer<T> in_y(device, {function_count, n}, ys, Gradient::tracked);
  Buffer<T> out(device, {function_count, n}, Gradient::tracked);
  const auto kernel = all_functions<T>();
  kernel.launch({n}, out, in_x, in_y);
  const std::vector<T> values = out.to_vector();
  out.gradient().fill(T(1.0f));
  kernel.launch({n}, {.direction = Direction::adjoint}, out, in_x, in_y);
  const std::array<std::vector<T>, 2> adjoints{in_x.gradient().to_vector(), in_y.gradient().to_vector()};
  std::array<std::vector<T>, 2> tangents;
  for (int k = 0; k < 2; ++k) {
    in_x.gradient().fill(T(k == 0 ? 1.0f : 0.0f));
    in_y.gradient().fill(T(k == 0 ? 0.0f : 1.0f));
    kernel.launch({n}, {.direction = Direction::tangent}, out, in_x, in_y);
    tangents[static_cast<std::size_t>(k)] = out.gradient().to_vector();
  }

  std::map<std::string, Errors> errors;
  for (int f = 0; f < function_count; ++f) {
    const MeasuredFunction &function = measured_functions[f];
    Errors &largest = errors[function.name];
    int shown = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Real a(static_cast<double>(x[i])), b(static_cast<double>(y[i]));
      const Real value = function.value(a, b);
      const std::size_t at = static_cast<std::size_t>(f) * x.size() + i;
      const auto take = [&](double &worst, const char *what, T got, const Real &exact) {
        const double error = ulps(got, exact);
        worst = std::max(worst, error);
        if (!(error < 1e3) && ++shown <= 4)
          ADD_FAILURE() << function.name << ", " << what << " at (" << static_cast<double>(x[i]) << ", "
                        << static_cast<double>(y[i]) << "): " << static_cast<double>(got) << " for "
                        << exact.to_double();
      };
      take(largest.value, "value", values[at], value);
      for (std::size_t k = 0; k < 2; ++k) {
        const Real derivative = function.partials[k](a, b);
        if (!compared(function, a, b, value, derivative, Format<T>::lowest, Format<T>::digits) ||
            (!value.is_infinite() && !in_range<T>(value)))
          continue;
        take(largest.derivative, k == 0 ? "adjoint by x" : "adjoint by y", adjoints[k][at], derivative);
        take(largest.derivative, k == 0 ? "tangent by x" : "tangent by y", tangents[k][at], derivative);
      }
    }
  }
  return errors;
}

// The numbers of a row of docs/functions.md that begins with the function's name.
std::map<std::string, std::vector<double>> documented() {
  std::ifstream file(std::string(SAMITE_SOURCE_DIR) + "/docs/functions.md");
  std::map<std::string, std::vector<double>> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `") || std::ranges::count(line, '|') != 10) continue;  // the table of errors
    std::istringstream cells(line.substr(3));
    std::string name, cell;
    std::getline(cells, name, '`');
    std::getline(cells, cell, '|');
    while (std::getline(cells, cell, '|'))
      if (!cell.empty()) rows[name].push_back(std::strtod(cell.c_str(), nullptr));
  }
  return rows;
}

template <class T>
void expect_as_documented(std::size_t column) {
  const auto rows = documented();
  for (const auto &[name, errors] : largest_errors<T>()) {
    if (std::getenv("SAMITE_TEST_PRINT_ERRORS"))
      fmt::print("| `{}` | {:.3g} | {:.3g} |\n", name, errors.value, errors.derivative);
    const auto row = rows.find(name);
    EXPECT_TRUE(row != rows.end() && row->second.size() == 8) << name << " has no row in docs/functions.md";
    if (row == rows.end() || row->second.size() != 8) continue;
    EXPECT_LE(errors.value, row->second[column]) << name;
    EXPECT_LE(errors.derivative, row->second[column + 4]) << "derivative of " << name;
  }
}

TEST(Corners, OfFloat) {
  SAMITE_ON_THE_CPU();
  expect_as_documented<float>(0);
}
TEST(Corners, OfDouble) {
  SAMITE_ON_THE_CPU();
  expect_as_documented<double>(1);
}
TEST(Corners, OfHalf) {
  SAMITE_ON_THE_CPU();
  expect_as_documented<half>(2);
}
TEST(Corners, OfBFloat16) {
  SAMITE_ON_THE_CPU();
  expect_as_documented<bfloat16>(3);
}

}  // namespace
}  // namespace samite::test
