#include "samite/autodiff/rules.h"

#include "tests/autodiff/differentiate.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

bool differentiable(ir::Op op) {
  switch (ir::info(op).typing) {
    case ir::Typing::Same:
    case ir::Typing::Floating:
    case ir::Typing::Select:
    case ir::Typing::Cast: return true;
    case ir::Typing::Copy: return op == ir::Op::Copy;
    default: return false;
  }
}

TEST(Rules, EveryOperationOnFloatingValuesHasOne) {
#define SAMITE_CHECK(name, text, arity, typing, pure) \
  EXPECT_EQ(autodiff::has_rule(ir::Op::name), differentiable(ir::Op::name)) << text;
  SAMITE_OPS(SAMITE_CHECK)
#undef SAMITE_CHECK
}

struct Function {
  const char *name;
  double low, high;  // of the arguments: inside the domain, away from kinks
  std::function<Double(Double, Double)> f;
};

void PrintTo(const Function &function, std::ostream *stream) { *stream << function.name; }

// Every differentiable function and operator of the language, of x and y.
const std::vector<Function> functions = {
    {"neg", -2, 2, [](Double x, Double) { return -x; }},
    {"add", -2, 2, [](Double x, Double y) { return x + y; }},
    {"sub", -2, 2, [](Double x, Double y) { return x - y; }},
    {"mul", -2, 2, [](Double x, Double y) { return x * y; }},
    {"div", 0.5, 2, [](Double x, Double y) { return x / y; }},
    {"min", -2, 2, [](Double x, Double y) { return min(x, y); }},
    {"max", -2, 2, [](Double x, Double y) { return max(x, y); }},
    {"abs", 0.1, 2, [](Double x, Double y) { return abs(x) + abs(-y); }},
    {"sqrt", 0.1, 2, [](Double x, Double) { return sqrt(x); }},
    {"rsqrt", 0.1, 2, [](Double x, Double) { return rsqrt(x); }},
    {"cbrt", 0.1, 2, [](Double x, Double) { return cbrt(x); }},
    {"exp", -2, 2, [](Double x, Double) { return exp(x); }},
    {"exp2", -2, 2, [](Double x, Double) { return exp2(x); }},
    {"fast_exp2", -2, 2, [](Double x, Double) { return fast_exp2(x); }},
    {"expm1", -2, 2, [](Double x, Double) { return expm1(x); }},
    {"log", 0.1, 2, [](Double x, Double) { return log(x); }},
    {"log2", 0.1, 2, [](Double x, Double) { return log2(x); }},
    {"log10", 0.1, 2, [](Double x, Double) { return log10(x); }},
    {"log1p", -0.5, 2, [](Double x, Double) { return log1p(x); }},
    {"sin", -3, 3, [](Double x, Double) { return sin(x); }},
    {"cos", -3, 3, [](Double x, Double) { return cos(x); }},
    {"tan", -1, 1, [](Double x, Double) { return tan(x); }},
    {"asin", -0.9, 0.9, [](Double x, Double) { return asin(x); }},
    {"acos", -0.9, 0.9, [](Double x, Double) { return acos(x); }},
    {"atan", -2, 2, [](Double x, Double) { return atan(x); }},
    {"atan2", 0.3, 2, [](Double x, Double y) { return atan2(x, y); }},
    {"sinh", -2, 2, [](Double x, Double) { return sinh(x); }},
    {"cosh", -2, 2, [](Double x, Double) { return cosh(x); }},
    {"tanh", -2, 2, [](Double x, Double) { return tanh(x); }},
    {"asinh", -2, 2, [](Double x, Double) { return asinh(x); }},
    {"acosh", 1.2, 3, [](Double x, Double) { return acosh(x); }},
    {"atanh", -0.9, 0.9, [](Double x, Double) { return atanh(x); }},
    {"erf", -2, 2, [](Double x, Double) { return erf(x); }},
    {"erfc", -2, 2, [](Double x, Double) { return erfc(x); }},
    {"pow", 0.3, 2, [](Double x, Double y) { return pow(x, y); }},
    {"pow of a negative base", -2, -0.3, [](Double x, Double) { return pow(x, 3); }},
    {"square", -2, 2, [](Double x, Double) { return pow(x, 2); }},
    {"hypot", 0.1, 2, [](Double x, Double y) { return hypot(x, y); }},
    {"fmod", 5.1, 5.9, [](Double x, Double y) { return fmod(x, y - 4); }},
    {"copysign", 0.1, 2, [](Double x, Double y) { return copysign(x, -y); }},
    {"floor", 0.1, 0.9, [](Double x, Double y) { return floor(x) + x * ceil(y); }},
    {"round", 0.1, 0.4, [](Double x, Double y) { return x * round(y) + y * trunc(x) + x; }},
    {"select", -2, 2, [](Double x, Double y) { return select(x > y, x * x, y); }},
    {"clamp", -2, 2, [](Double x, Double y) { return clamp(x * y, -0.5, 0.5); }},
    {"cast", -2, 2, [](Double x, Double) { return x + Double(cast<Int>(x)) * x; }},
};

class RuleOf : public testing::TestWithParam<Function> {};

TEST_P(RuleOf, AgreesWithCentralDifferences) {
  const Function &function = GetParam();
  Kernel kernel{"rule", [&](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  out(i) = function.f(in(2 * i), in(2 * i + 1));
                }};
  EXPECT_LT(gradient_error(kernel, 40, random_values(80, function.low, function.high, 1), 40), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(Rules, RuleOf, testing::ValuesIn(functions), [](const auto &info) {
  std::string name = info.param.name;
  for (char &c : name)
    if (c == ' ') c = '_';
  return name;
});

TEST(Rules, StopGradientIsAConstantToDerivatives) {
  Kernel kernel{"stopped", [](Array<double, 1> out, Array<const double, 1> in) {
                  out(0) = in(0) * stop_gradient(in(0)) + stop_gradient(sin(in(0)));
                }};
  Device device = test::device();
  Buffer<double> in(device, {1}, {3}, Gradient::tracked), out(device, {1}, Gradient::tracked);
  kernel.launch({1}, out, in);
  EXPECT_EQ(out.at(0), 9 + std::sin(3.0));
  out.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
  EXPECT_EQ(in.gradient().at(0), 3);
}

TEST(Rules, KinksHaveOneSidedDerivativesOrBetween) {
  Kernel kernel{"kinks", [](Array<double, 1> out, Array<const double, 1> in) {
                  Double x = in(0);
                  out(0) = abs(x);
                  out(1) = max(x, 0);
                  out(2) = hypot(x, x);
                }};
  Device device = test::device();
  Buffer<double> in(device, {1}, Gradient::tracked), out(device, {3}, Gradient::tracked);
  auto gradient_of_output = [&](std::int64_t i) {
    in.zero_gradient();
    out.zero_gradient();
    out.gradient().set({i}, 1);
    kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
    return in.gradient().at(0);
  };
  EXPECT_EQ(gradient_of_output(0), 0);
  EXPECT_EQ(gradient_of_output(1), 1);
  EXPECT_EQ(gradient_of_output(2), 0);
}

// The side that was not taken may be infinite; 0 * inf must not reach the gradient.
TEST(Rules, TheSideNotSelectedDoesNotPoisonTheGradient) {
  Kernel kernel{"guarded", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double x = in(i);
                  out(i) = select(x > 0, x * 2, x) + max(x, 0);
                }};
  EXPECT_LT(gradient_error(kernel, 4, {1, 2, -1, -2}, 4), 1e-8);
}

}  // namespace
}  // namespace samite::test
