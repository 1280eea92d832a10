// Loops with a length known only at run time, in the adjoint's IR: how often they run, and how much memory they
// allocate.
#include "tests/autodiff/differentiate.h"
#include "tests/passes/interpreter.h"

#include <gtest/gtest.h>

#include <set>

namespace samite::test {
namespace {

using Out = Array<double, 1>;
using In = Array<const double, 1>;

// A while_ runs twice for its adjoint, to be counted and to keep its values. The condition's value in the second run
// does not matter: the compiler may round a product differently in each copy of the loop.

constexpr int factors = 10;
constexpr std::int64_t instances = 300;

// in(i) to the power of 9 or 10: the limit is the tenth product, up to rounding.
void power_up_to_limit(Out out, In in, In limit, const Int &) {
  Int i = thread_index();
  Double x = 1;
  while_([&] { return x * in(i) <= limit(i); }, [&] { x = x * in(i); });
  out(i) = x;
}
void power_in_a_range(Out out, In in, In limit, const Int &most) {
  Int i = thread_index();
  Double x = 1;
  for ([[maybe_unused]] Int k : range(most)) {
    if_(x * in(i) > limit(i), [] { break_(); });
    x = x * in(i);
  }
  out(i) = x;
}

template <class F>
autodiff::Adjoint adjoint(const F &function, std::optional<std::int64_t> memory_limit = {}) {
  return adjoint_of<Out, In, In, Int>({"out", "in", "limit", "most"}, function, {true, true, false, false}, false,
                                      memory_limit);
}

// The gradients of the sum of `out` by the interpreter, which refuses accesses beyond a tape.
struct Powers {
  std::vector<double> in = random_values(instances, 1.1, 1.5, 1), limit;

  Powers() : limit(in.size(), 1) {
    for (std::size_t i = 0; i < in.size(); ++i)
      for (int k = 0; k < factors; ++k) limit[i] *= in[i];
  }

  std::vector<double> gradient(const ir::Kernel &adjoint, unsigned seed) const {
    Arguments arguments;
    arguments.add_array(std::vector<double>(in.size())).add_array(in).add_array(limit).add(1'000'000'000);
    arguments.add_array(std::vector<double>(in.size(), 1)).add_array(std::vector<double>(in.size()));
    return interpret(adjoint, {instances}, arguments, {.unsteady_products = seed}).arguments.elements<double>(5);
  }
};

const std::vector<std::optional<std::int64_t>> limits{{}, 0, 24};

// n x^(n-1) for a number of factors n that the loop may have run.
TEST(CountedLoops, RunAsOftenAsTheyWereCounted) {
  const Powers powers;
  for (std::optional<std::int64_t> limit : limits) {
    const ir::Kernel kernel = adjoint(power_up_to_limit, limit).kernel;
    std::set<int> found;
    for (unsigned seed : {1u, 2u, 3u}) {
      const std::vector<double> gradient = powers.gradient(kernel, seed);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        auto power = [&](int n) { return n * std::pow(powers.in[i], n - 1); };
        const int n = std::fabs(gradient[i] - power(factors)) < 1 ? factors : factors - 1;
        EXPECT_NEAR(gradient[i], power(n), 1e-12 * power(n)) << "instance " << i << ", limit " << limit.value_or(-1);
        found.insert(n);
      }
    }
    EXPECT_EQ(found.size(), 2u) << "the rounding decides";
  }
}

// Each copy of the body also tests for the break, but not for the number of iterations.
TEST(CountedLoops, StayOnTheirTapes) {
  for (std::optional<std::int64_t> limit : limits) {
    const ir::Kernel kernel = adjoint(power_in_a_range, limit).kernel;
    for (unsigned seed : {1u, 2u, 3u}) EXPECT_EQ(Powers().gradient(kernel, seed).size(), instances);
  }
}

// The one that is left counts.
TEST(CountedLoops, AskTheirConditionOnce) {
  for (std::optional<std::int64_t> limit : {std::optional<std::int64_t>(), std::optional<std::int64_t>(0)}) {
    const std::string text = ir::to_string(adjoint(power_up_to_limit, limit).kernel);
    EXPECT_EQ(count(text, "while carry"), 1) << text;
  }
  auto in_twenty = [](Out out, In in, In limit, const Int &) { power_in_a_range(out, in, limit, 20); };
  const std::string bounded = ir::to_string(adjoint(in_twenty).kernel);
  EXPECT_EQ(count(bounded, "while carry"), 1) << "as often as it has tapes for\n" << bounded;
}

// The same of compiled kernels, in which products are fused with sums as the compiler likes.
TEST(CountedLoops, HaveTheGradientOfAPower) {
  Device device = test::device();
  samite::Kernel kernel{"power", {"out", "in", "limit", "most"}, power_up_to_limit};
  const std::vector<double> values = random_values(instances, 1.1, 1.5, 2);
  std::vector<double> limits(values.size(), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    for (int k = 0; k < factors; ++k) limits[i] *= values[i];
  Buffer<double> in(device, {instances}, values, Gradient::tracked), out(device, {instances}, Gradient::tracked);
  Buffer<double> limit(device, {instances}, limits);
  out.gradient().fill(1);
  kernel.launch({instances}, {.direction = Direction::adjoint}, out, in, limit, 0);
  for (std::int64_t i = 0; i < instances; ++i) {
    auto relative = [&](int n) {
      const double power = n * std::pow(in.at(i), n - 1);
      return std::fabs(in.gradient().at(i) - power) / power;
    };
    EXPECT_LT(std::min(relative(factors), relative(factors - 1)), 1e-12) << "instance " << i;
  }
}

template <class F>
std::int64_t elements_kept(const F &function, int n) {
  const ir::Kernel kernel = adjoint_of<Out, In, Int>({"out", "in", "n"}, function, {true, true, false}).kernel;
  Arguments arguments;
  arguments.add_array<double>({0}).add_array<double>({0.5}).add(n).add_array<double>({1}).add_array<double>({0});
  return interpret(kernel, {1}, arguments).local_elements;
}

// Up to 64 KiB an instance stores everything, 8,192 numbers and their start values; beyond that, two chunks of √n
// iterations.
TEST(LoopMemory, IsLimitedWhereTheLengthIsNotKnown) {
  auto counted = [](Out out, In in, const Int &n) {
    Double x = in(0);
    for ([[maybe_unused]] Int k : range(n)) x = x - 0.001 * x * x;
    out(0) = x;
  };
  auto open = [](Out out, In in, const Int &n) {
    Double x = in(0), left = cast<Double>(n) - 0.5;
    while_([&] { return left > 0; },
           [&] {
             x = x - 0.001 * x * x;
             left -= 1;
           });
    out(0) = x;
  };
  EXPECT_EQ(elements_kept(counted, 8192), 8192 + 1);
  EXPECT_EQ(elements_kept(counted, 8193), 91 + 91);
  EXPECT_EQ(elements_kept(counted, 40000), 200 + 200);
  EXPECT_EQ(elements_kept(counted, 1), 1 + 1);
  EXPECT_EQ(elements_kept(open, 8192), 8192 + 1);
  EXPECT_EQ(elements_kept(open, 40000), 200 + 200);
}

}  // namespace
}  // namespace samite::test
