// Every math function, as vectors and as scalars, in f32 and f64, against the C library in a wider type.
#include "tests/codegen/compiled_kernel.h"
#include "tests/codegen/cuda_on_host.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace samite::test {
namespace {

using Wide = long double;

struct Function {
  const char *name;
  Wide (*reference)(Wide, Wide);
  double low, high;            // of the first operand
  double ulps;                 // allowed, on vectors
  double low2 = 0, high2 = 0;  // range of the second operand; equal: there is none
};

// libmvec promises 4 units in the last place.
const Function functions[] = {
    {"sqrt", [](Wide x, Wide) { return std::sqrt(x); }, 0, 1e6, 0.5},
    {"rsqrt", [](Wide x, Wide) { return 1 / std::sqrt(x); }, 1e-6, 1e6, 1.5},
    {"cbrt", [](Wide x, Wide) { return std::cbrt(x); }, -1e6, 1e6, 4},
    {"exp", [](Wide x, Wide) { return std::exp(x); }, -80, 80, 4},
    {"exp2", [](Wide x, Wide) { return std::exp2(x); }, -100, 100, 4},
    {"fast_exp2", [](Wide x, Wide) { return std::exp2(x); }, -100, 100, 4},
    {"expm1", [](Wide x, Wide) { return std::expm1(x); }, -10, 80, 4},
    {"log", [](Wide x, Wide) { return std::log(x); }, 1e-6, 1e6, 4},
    {"log2", [](Wide x, Wide) { return std::log2(x); }, 1e-6, 1e6, 4},
    {"log10", [](Wide x, Wide) { return std::log10(x); }, 1e-6, 1e6, 4},
    {"log1p", [](Wide x, Wide) { return std::log1p(x); }, -0.99, 1e6, 4},
    {"sin", [](Wide x, Wide) { return std::sin(x); }, -100, 100, 4},
    {"cos", [](Wide x, Wide) { return std::cos(x); }, -100, 100, 4},
    {"tan", [](Wide x, Wide) { return std::tan(x); }, -100, 100, 4},
    {"asin", [](Wide x, Wide) { return std::asin(x); }, -1, 1, 4},
    {"acos", [](Wide x, Wide) { return std::acos(x); }, -1, 1, 4},
    {"atan", [](Wide x, Wide) { return std::atan(x); }, -100, 100, 4},
    {"atan2", [](Wide x, Wide y) { return std::atan2(x, y); }, -10, 10, 4, -10, 10},
    {"sinh", [](Wide x, Wide) { return std::sinh(x); }, -80, 80, 4},
    {"cosh", [](Wide x, Wide) { return std::cosh(x); }, -80, 80, 4},
    {"tanh", [](Wide x, Wide) { return std::tanh(x); }, -10, 10, 4},
    {"asinh", [](Wide x, Wide) { return std::asinh(x); }, -1e4, 1e4, 4},
    {"acosh", [](Wide x, Wide) { return std::acosh(x); }, 1, 1e4, 4},
    {"atanh", [](Wide x, Wide) { return std::atanh(x); }, -0.999, 0.999, 4},
    {"erf", [](Wide x, Wide) { return std::erf(x); }, -5, 5, 4},
    {"erfc", [](Wide x, Wide) { return std::erfc(x); }, -5, 9, 4},
    {"lgamma", [](Wide x, Wide) { return std::lgamma(x); }, 0.1, 50, 4},
    {"pow", [](Wide x, Wide y) { return std::pow(x, y); }, 0.01, 100, 4, -8, 8},
    {"hypot", [](Wide x, Wide y) { return std::hypot(x, y); }, -1e4, 1e4, 4, -1e4, 1e4},
    {"fmod", [](Wide x, Wide y) { return std::fmod(x, y); }, -1e4, 1e4, 0, 0.5, 7},
    {"copysign", [](Wide x, Wide y) { return std::copysign(x, y); }, -10, 10, 0, -1, 1},
    {"floor", [](Wide x, Wide) { return std::floor(x); }, -10, 10, 0},
    {"ceil", [](Wide x, Wide) { return std::ceil(x); }, -10, 10, 0},
    {"round", [](Wide x, Wide) { return std::round(x); }, -10, 10, 0},
    {"trunc", [](Wide x, Wide) { return std::trunc(x); }, -10, 10, 0},
    {"abs", [](Wide x, Wide) { return std::abs(x); }, -10, 10, 0},
};

template <class T>
double ulps_between(T got, Wide wanted) {
  if (std::isnan(got) && std::isnan(wanted)) return 0;
  const T rounded = static_cast<T>(wanted);
  if (got == rounded) return 0;
  const Wide unit = std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity()) - std::abs(rounded);
  return static_cast<double>(std::abs(static_cast<Wide>(got) - wanted) / unit);
}

class Math : public testing::TestWithParam<Function> {};

// A second type next to this one produces both lane counts, and vectors wider than a register.
template <class T>
void expect_accurate(const Function &function, bool many_doubles) {
  const bool two = function.low2 != function.high2;
  const std::string t(name(scalar_type_of<T>));
  const std::string call = std::string(" = ") + function.name;
  CompiledKernel kernel("kernel @k(@r: array<" + t + ", 1>, @s: array<" + t + ", 1>, @a: array<const " + t +
                        ", 1>, @b: array<const " + t + ", 1>, @d: array<" + (many_doubles ? "f64" : "f32") +
                        ", 1>) threads 1 {\n%0: i32 = thread_index 0\n%1: " + t + " = load @a[%0]\n%2: " + t +
                        " = load @b[%0]\n%3: " + t + call + " %1" + (two ? ", %2" : "") +
                        "\nstore @r[%0] = %3\n%4: " + t + " = load @a[0]\n%5: " + t + " = load @b[0]\n%6: " + t + call +
                        " %4" + (two ? ", %5" : "") + "\nstore @s[0] = %6\n" +
                        [&] {
                          std::string more;
                          for (int i = 7; i < 15; ++i)
                            more += "%" + std::to_string(i) + (many_doubles ? ": f64" : ": f32") + " = load @d[0]\n";
                          return more;
                        }() +
                        "}");
  std::mt19937 random(5);
  std::uniform_real_distribution<double> first(function.low, function.high), second(function.low2, function.high2);
  std::vector<T> a(2003), b(2003), r(2003), s(1), d(1);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<T>(first(random)), b[i] = static_cast<T>(second(random));
  if (std::string(function.name) == "round") a[1] = T(2.5), a[2] = T(-2.5), a[3] = T(0.49999997);
  const std::vector<double> doubles(1);
  const std::vector<float> floats(1);
  kernel.run({static_cast<long long>(a.size())},
             {array(r), array(s), array(a), array(b), many_doubles ? array(doubles) : array(floats)});

  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = ulps_between(r[i], function.reference(a[i], b[i]));
    if (off > worst) worst = off;
    ASSERT_LE(off, function.ulps) << function.name << '(' << a[i] << ", " << b[i] << ") = " << r[i];
  }
  testing::Test::RecordProperty(t + (many_doubles ? " ulps, 8-byte lanes" : " ulps, 4-byte lanes"),
                                std::to_string(worst));
  EXPECT_LE(ulps_between(s[0], function.reference(a[0], b[0])), std::max(1.5, function.ulps));
}

TEST_P(Math, Float) { expect_accurate<float>(GetParam(), false); }
TEST_P(Math, FloatBesideDoubles) { expect_accurate<float>(GetParam(), true); }
TEST_P(Math, Double) { expect_accurate<double>(GetParam(), true); }
TEST_P(Math, DoubleBesideFloats) { expect_accurate<double>(GetParam(), false); }

INSTANTIATE_TEST_SUITE_P(Functions, Math, testing::ValuesIn(functions),
                         [](const auto &info) { return std::string(info.param.name); });

// Arguments for which the result is a denormal number, zero, infinity or NaN.
TEST(MathEnds, ExpOfFloats) {
  using Limits = std::numeric_limits<float>;
  std::vector<float> x{
      -Limits::infinity(), Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Limits::lowest(), 0.0f, -0.0f,
      Limits::denorm_min()};
  for (float each = -106; each < -85; each += 0.0173f) x.push_back(each);
  for (float each = 88; each < 90; each += 0.0073f) x.push_back(each);
  x.push_back(std::nextafter(88.72284f, 0.0f));
  std::vector<float> y(x.size());
  CompiledKernel kernel(
      "kernel @k(@y: array<f32, 1>, @x: array<const f32, 1>) threads 1 {\n%0: i32 = thread_index 0\n"
      "%1: f32 = load @x[%0]\n%2: f32 = exp %1\nstore @y[%0] = %2\n}");
  kernel.run({static_cast<long long>(x.size())}, {array(y), array(x)});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Wide wanted = std::exp(static_cast<Wide>(x[i]));
    if (const float rounded = static_cast<float>(wanted); std::isinf(rounded))
      EXPECT_EQ(y[i], rounded) << x[i];
    else
      EXPECT_LE(ulps_between(y[i], wanted), 4) << x[i];
  }
}

// From denormal numbers to the largest, by the CPU's kernel and by CUDA's on the host.
template <class T>
void expect_hypot_of_all_sizes() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> sizes{0,
                       Limits::denorm_min(),
                       Limits::min(),
                       1,
                       3,
                       T(1e-20),
                       T(1e20),
                       std::sqrt(Limits::max()),
                       std::sqrt(Limits::min()),
                       Limits::max() / 2,
                       Limits::max(),
                       Limits::infinity()};
  for (int exponent = Limits::min_exponent; exponent < Limits::max_exponent; exponent += 13)
    sizes.push_back(std::ldexp(T(1.37), exponent - 1));
  std::vector<T> a, b;
  for (const T x : sizes)
    for (const T y : sizes) a.push_back(x), b.push_back(-y);
  a.push_back(Limits::infinity()), b.push_back(Limits::quiet_NaN());
  a.push_back(Limits::quiet_NaN()), b.push_back(-Limits::infinity());
  a.push_back(Limits::quiet_NaN()), b.push_back(1);
  const std::string t(name(scalar_type_of<T>));
  const std::string text = "kernel @k(@r: array<" + t + ", 1>, @a: array<const " + t + ", 1>, @b: array<const " + t +
                           ", 1>) threads 1 {\n%0: i32 = thread_index 0\n%1: " + t + " = load @a[%0]\n%2: " + t +
                           " = load @b[%0]\n%3: " + t + " = hypot %1, %2\nstore @r[%0] = %3\n}";
  for (const bool cuda : {false, true}) {
    std::vector<T> r(a.size());
    const std::vector<Argument> arguments{array(r), array(a), array(b)};
    if (cuda)
      CudaOnHost(text).run({static_cast<long long>(a.size())}, arguments);
    else
      CompiledKernel(text).run({static_cast<long long>(a.size())}, arguments);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const Wide exact = std::hypot(Wide(a[i]), Wide(b[i]));
      if (std::isnan(exact) || std::isinf(static_cast<T>(exact))) {
        EXPECT_EQ(std::isnan(exact), std::isnan(r[i])) << a[i] << ' ' << b[i];
        EXPECT_EQ(std::isinf(static_cast<T>(exact)), std::isinf(r[i])) << a[i] << ' ' << b[i];
        continue;
      }
      const T result = static_cast<T>(exact);
      const Wide unit = Wide(std::nextafter(result, Limits::infinity())) - Wide(result);
      EXPECT_LE(std::abs(Wide(r[i]) - exact), 4 * (std::isinf(unit) ? Wide(result) * Limits::epsilon() : unit))
          << (cuda ? "CUDA: " : "") << a[i] << ' ' << b[i];
    }
  }
}

TEST(Hypot, OfFloatsOfAllSizes) { expect_hypot_of_all_sizes<float>(); }
TEST(Hypot, OfDoublesOfAllSizes) { expect_hypot_of_all_sizes<double>(); }

}  // namespace
}  // namespace samite::test
