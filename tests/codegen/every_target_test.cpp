// A program has one result: on each level of x86-64, at each width of vectors and each level of optimisation, with and
// without constant folding. Integers agree in every bit. So do floats if products and sums are not contracted; if they
// may be, each result is within a bound that is computed with it.
#include "tests/codegen/compiled_kernel.h"
#include "tests/codegen/random_integers.h"
#include "tests/toolchain/environment.h"

#include "samite/base/error.h"
#include "samite/ir/print.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/simplify.h"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace samite::test {
namespace {

using namespace ir;
using ir::Kernel;
using random_integers::Generator;
using random_integers::Interpreter;

struct Target {
  const char *architecture, *vector_bytes, *optimization;
};

// The targets that this machine can run. The variables are read when a kernel is compiled.
class InEnvironment {
 public:
  explicit InEnvironment(const Target &target, bool contraction = true)
      : architecture_("SAMITE_CPU_ARCHITECTURE", target.architecture),
        vector_bytes_("SAMITE_CPU_VECTOR_BYTES", target.vector_bytes),
        optimization_("SAMITE_CPU_OPTIMIZATION", target.optimization),
        contraction_("SAMITE_CPU_CONTRACTION", contraction ? "1" : "0") {}

 private:
  EnvironmentVariable architecture_, vector_bytes_, optimization_, contraction_;
};

std::vector<Target> targets() {
  std::vector<Target> supported;
  for (const Target &target : {Target{"", "", "2"}, Target{"x86-64-v2", "", "0"}, Target{"x86-64-v3", "", "3"},
                               Target{"x86-64-v4", "", "1"}, Target{"", "16", "3"}}) {
    const InEnvironment environment(target);
    try {
      host_target();
      supported.push_back(target);
    } catch (const UserError &) {  // a level of another machine
    }
  }
  return supported;
}

std::string name_of(const Target &target) {
  return std::string("architecture '") + target.architecture + "', vectors of '" + target.vector_bytes +
         "' bytes, level " + target.optimization;
}

// A program in its original form, with its constants folded, and with a scalar argument as one more constant.
std::vector<Kernel> forms(const Kernel &kernel, std::uint32_t parameter, const Value &argument) {
  Kernel constant = kernel;
  constant.body = map_operands(kernel.body, [&](const Value &value) {
    const bool given = value.kind() == Value::Kind::Parameter && value.parameter_index() == parameter;
    return given ? argument : value;
  });
  return {kernel, passes::simplify(kernel), passes::simplify(constant)};
}

TEST(EveryTarget, GivesTheSameIntegers) {
  constexpr std::int32_t n = 37;  // whole vectors and part of one
  using Limits = std::numeric_limits<std::int32_t>;
  const std::vector<std::int32_t> extremes = {Limits::min(), Limits::max(), Limits::min() + 1, -1, 1 << 30, 0, 1 << 16};
  const std::vector<Target> all = targets();
  for (unsigned seed = 1000; seed < 1010; ++seed) {
    const Kernel kernel = Generator(seed).make();
    std::mt19937 random(seed);
    std::vector<std::int32_t> table(random_integers::table_size);
    for (std::int32_t &value : table)
      value = random() % 2 ? extremes[random() % extremes.size()] : static_cast<std::int32_t>(random() % 41) - 20;
    const std::vector<std::int32_t> begin(static_cast<std::size_t>(n * random_integers::slots), 3);
    const std::vector<std::int32_t> none(random_integers::shared_size);
    std::vector<std::int32_t> expected = begin, expected_shared = none;
    for (int i = 0; i < n; ++i) Interpreter(expected, table, expected_shared, n, i).run(kernel.body);

    const std::vector<Kernel> as = forms(kernel, 2, Value::constant(ScalarType::Int32, n));
    for (std::size_t t = 0; t < all.size(); ++t) {
      const InEnvironment environment(all[t]);
      const std::size_t form = (seed + t) % as.size();
      const CompiledKernel compiled(as[form], options(t % 2 == 0, t % 3 == 0));
      std::vector<std::int32_t> out = begin, shared = none;
      compiled.run({n}, {array(out, {n, random_integers::slots}), array(table), scalar(n), array(shared)});
      ASSERT_EQ(out, expected) << name_of(all[t]) << ", form " << form << ", seed " << seed << '\n'
                               << to_string(kernel);
      ASSERT_EQ(shared, expected_shared) << name_of(all[t]) << ", form " << form << ", seed " << seed;
    }
  }
}

// A number, and how far a computation of it in f32 may be from it: the running error analysis of N. Higham, Accuracy
// and Stability of Numerical Algorithms (2002), 3.3.
struct Bounded {
  double value = 0, error = 0;
};

// Straight-line programs of f32 in a loop that carries two values. Numbers stay below 4, so that errors stay small;
// compared numbers are exact, so that all ways of rounding take the same branch.
class FloatProgram {
 public:
  static constexpr int inputs = 3, results = 2;

  explicit FloatProgram(unsigned seed) : random_(seed) {
    const auto count = static_cast<int>(8 + random_() % 10);
    for (int i = 0; i < count; ++i) steps_.push_back({static_cast<Kind>(random_() % kinds), operand(i), operand(i)});
  }

  // With @out (a row of two for each instance), @x (a row of three), @f and @trips.
  Kernel kernel() const {
    using enum ScalarType;
    Kernel kernel;
    kernel.name = "floats";
    kernel.parameters = {{"out", Float32, 2}, {"x", Float32, 2, true}, {"f", Float32}, {"trips", Int32}};
    passes::Builder build;
    const Value instance = build.operation({Op::ThreadIndex, Int32, {}});
    const auto integer = [](std::int64_t number) { return Value::constant(Int32, number); };
    std::vector<Value> values;
    for (int i = 0; i < inputs; ++i) values.push_back(build.operation({Op::Load, Float32, {instance, integer(i)}, 1}));
    values.push_back(Value::parameter(Float32, 2));
    values.push_back(Value::constant(Float32, 0.1));
    const Value chosen = build.operation({Op::Less, Bool, {values[0], values[1]}});
    // Some instances run one more iteration.
    const Value odd = build.operation({Op::And, Int32, {instance, integer(1)}});
    const Value trips = build.operation({Op::Add, Int32, {Value::parameter(Int32, 3), odd}});
    For loop{build.new_local(), Int32, integer(0), trips, integer(1), {}, {}};
    for (int i = 0; i < results; ++i)
      loop.carried.push_back({build.new_local(), build.new_local(), Float32, values[i], values[i]});
    Block outer = build.open();
    for (const Carried &carried : loop.carried) values.push_back(Value::local(Float32, carried.inner));
    for (const Step &step : steps_) values.push_back(computed(build, step, values[step.a], values[step.b], chosen));
    for (int i = 0; i < results; ++i) loop.carried[i].next = values[values.size() - 1 - i];
    loop.body = build.close(std::move(outer));
    const std::vector<Carried> carried = loop.carried;
    build.append({std::move(loop), {}});
    for (int i = 0; i < results; ++i)
      build.append({Store{0, {instance, integer(i)}, Value::local(Float32, carried[i].result)}, {}});
    kernel.body = build.take();
    kernel.local_count = build.local_count();
    return kernel;
  }

  std::vector<Bounded> expected(const float *x, float f, int trips) const {
    std::vector<Bounded> fixed;
    for (int i = 0; i < inputs; ++i) fixed.push_back({x[i]});
    fixed.push_back({f});
    fixed.push_back({0.1f});
    std::vector<Bounded> carried{fixed[0], fixed[1]};
    for (; trips > 0; --trips) {
      std::vector<Bounded> values = fixed;
      values.insert(values.end(), carried.begin(), carried.end());
      for (const Step &step : steps_) values.push_back(computed(step, values[step.a], values[step.b], x[0] < x[1]));
      carried = {values[values.size() - 1], values[values.size() - 2]};
    }
    return carried;
  }

 private:
  enum class Kind : std::uint8_t { sum, difference, product, product_and_sum, quotient, root, larger, select };
  static constexpr unsigned kinds = 8;
  struct Step {
    Kind kind;
    std::size_t a, b;
  };

  std::size_t operand(int before) {
    const auto known = static_cast<unsigned>(inputs + 2 + results + before);
    // The last ones more often, so that computed values are used.
    return random_() % 2 ? known - 1 - random_() % std::min(known, 3u) : random_() % known;
  }

  static Value computed(passes::Builder &build, const Step &step, Value a, Value b, Value chosen) {
    const auto number = [](double value) { return Value::constant(ScalarType::Float32, value); };
    // At least 1, so that its quotient and its root are well conditioned.
    const auto large = [&] { return build(Op::Add, {build(Op::Mul, {b, b}), number(1)}); };
    const auto bounded = [&](Value v) { return build(Op::Max, {build(Op::Min, {v, number(4)}), number(-4)}); };
    switch (step.kind) {
      case Kind::sum: return bounded(build(Op::Add, {a, b}));
      case Kind::difference: return bounded(build(Op::Sub, {a, b}));
      case Kind::product: return bounded(build(Op::Mul, {a, b}));
      case Kind::product_and_sum: return bounded(build(Op::Sub, {build(Op::Mul, {a, a}), build(Op::Mul, {a, b})}));
      case Kind::quotient: return build(Op::Div, {a, large()});
      case Kind::root: return bounded(build(Op::Sqrt, {large()}));
      case Kind::larger: return build(Op::Max, {a, b});
      case Kind::select: return build.select(chosen, a, b);
    }
    return a;
  }

  static constexpr double unit = 0x1p-24;  // of rounding, relative
  static Bounded rounded(double value, double error) { return {value, error + unit * (std::abs(value) + error)}; }
  static Bounded add(const Bounded &a, const Bounded &b) { return rounded(a.value + b.value, a.error + b.error); }
  static Bounded subtract(const Bounded &a, const Bounded &b) { return rounded(a.value - b.value, a.error + b.error); }
  static Bounded multiply(const Bounded &a, const Bounded &b) {
    return rounded(a.value * b.value,
                   std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error + 0x1p-149);
  }

  static Bounded computed(const Step &step, const Bounded &a, const Bounded &b, bool chosen) {
    const auto large = [&] { return add(multiply(b, b), {1}); };
    const auto bounded = [](Bounded v) { return Bounded{std::max(std::min(v.value, 4.0), -4.0), v.error}; };
    switch (step.kind) {
      case Kind::sum: return bounded(add(a, b));
      case Kind::difference: return bounded(subtract(a, b));
      case Kind::product: return bounded(multiply(a, b));
      case Kind::product_and_sum: return bounded(subtract(multiply(a, a), multiply(a, b)));
      case Kind::quotient: {
        const Bounded by = large();
        const double value = a.value / by.value;
        return rounded(value, (a.error + std::abs(value) * by.error) / (by.value - by.error));
      }
      case Kind::root: {
        const Bounded of = large();
        return bounded(rounded(std::sqrt(of.value), of.error / std::sqrt(of.value - of.error)));
      }
      case Kind::larger: return {std::max(a.value, b.value), std::max(a.error, b.error)};
      case Kind::select: return chosen ? a : b;
    }
    return a;
  }

  std::mt19937 random_;
  std::vector<Step> steps_;
};

class FloatsOfEveryTarget : public testing::TestWithParam<bool> {};

TEST_P(FloatsOfEveryTarget, AreTheSameOrWithinABound) {
  const bool contraction = GetParam();
  constexpr int n = 37, trips = 2;
  constexpr float f = 0.7f;
  const std::vector<Target> all = targets();
  for (unsigned seed = 0; seed < 10; ++seed) {
    const FloatProgram program(seed);
    std::mt19937 random(seed + 100);
    std::uniform_real_distribution<float> distribution(-2, 2);
    std::vector<float> x(static_cast<std::size_t>(n * FloatProgram::inputs)), first;
    for (float &value : x) value = distribution(random);

    const Kernel kernel = program.kernel();
    const std::vector<Kernel> as = forms(kernel, 2, Value::constant(ScalarType::Float32, double{f}));
    for (std::size_t t = 0; t < all.size(); ++t) {
      const InEnvironment environment(all[t], contraction);
      const std::size_t form = (seed + t) % as.size();
      const CompiledKernel compiled(as[form]);
      std::vector<float> out(static_cast<std::size_t>(n * FloatProgram::results));
      compiled.run(
          {n}, {array(out, {n, FloatProgram::results}), array(x, {n, FloatProgram::inputs}), scalar(f), scalar(trips)});
      if (first.empty()) first = out;
      for (std::size_t i = 0; i < n; ++i) {
        const auto expected = program.expected(&x[i * FloatProgram::inputs], f, trips + static_cast<int>(i % 2));
        for (std::size_t k = 0; k < FloatProgram::results; ++k) {
          const std::size_t at = i * FloatProgram::results + k;
          ASSERT_NEAR(out[at], expected[k].value, expected[k].error)
              << name_of(all[t]) << ", form " << form << ", seed " << seed << '\n'
              << to_string(kernel);
          if (!contraction)
            ASSERT_EQ(out[at], first[at]) << name_of(all[t]) << ", form " << form << ", seed " << seed << '\n'
                                          << to_string(kernel);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutContraction, FloatsOfEveryTarget, testing::Bool());

}  // namespace
}  // namespace samite::test
