// Gradients of random pipelines: the adjoint pipeline, as its algorithm says, against central differences, and lowered
// by its default schedules. SAMITE_TEST_RANDOM_PIPELINES sets how many, SAMITE_TEST_RANDOM_SEED the first seed.
#include "tests/autodiff/random_pipeline.h"
#include "samite/autodiff/pipeline_adjoint.h"
#include "samite/base/error.h"
#include "samite/schedule/lower.h"
#include "tests/autodiff/pipeline_meaning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>

namespace samite::test::random_pipelines {
namespace {

std::uint32_t setting(const char *name, std::uint32_t usual) {
  const char *text = std::getenv(name);
  return text ? static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10)) : usual;
}

MeantArray random_array(std::mt19937 &random, std::vector<std::int64_t> extents) {
  MeantArray array{std::move(extents), {}};
  std::size_t count = 1;
  for (const std::int64_t extent : array.extents) count *= static_cast<std::size_t>(extent);
  for (std::size_t i = 0; i < count; ++i) array.values.push_back(static_cast<double>(random() % 20001) / 10000 - 1);
  return array;
}

double product(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Gradients {
 public:
  explicit Gradients(std::uint32_t seed) : random_(seed), pipeline_(random_pipeline(seed)) {
    arguments_ = {random_array(random_, {4, 5}), random_array(random_, {5, 4}), random_array(random_, {6}), {{5}, {}}};
    for (int i = 0; i < 5; ++i) arguments_[3].values.push_back(static_cast<double>(random_() % 6));
    seed_ = random_array(random_, {4, 5});
  }

  // d (the result, weighted by the seed) / d (in and row) in a random direction, twice.
  void compare() {
    const autodiff::PipelineAdjoint adjoint = autodiff::derive_pipeline_adjoint(pipeline_, {true, true, true, false});
    ASSERT_EQ(adjoint.gradient_of, (std::vector<std::uint32_t>{0, 1, 2}));
    std::vector<MeantArray> all = arguments_;
    const MeantArray before[] = {random_array(random_, {5, 4}), random_array(random_, {6})};
    all.insert(all.end(), {seed_, before[0], before[1]});
    PipelineMeaning(adjoint.pipeline, all).run();
    EXPECT_EQ(all[4].values, std::vector<double>(20));
    const MeantArray direction[] = {random_array(random_, {5, 4}), random_array(random_, {6})};
    double reverse = 0;
    for (std::size_t i = 0; i < 2; ++i)
      reverse += product(all[5 + i].values, direction[i].values) - product(before[i].values, direction[i].values);
    const double near = slope(direction, 1e-6), far = slope(direction, 4e-6);
    const double tolerance = 1e-6 * (1 + std::abs(near));
    // A kink is between the points.
    if (std::abs(near - far) > tolerance) return;
    EXPECT_NEAR(reverse, near, tolerance);
    schedules::lower(adjoint.pipeline, {.gpu = random_() % 2 == 0});
  }

 private:
  double slope(const MeantArray (&direction)[2], double step) {
    double sums[2];
    for (const int side : {0, 1}) {
      std::vector<MeantArray> moved = arguments_;
      for (std::size_t a = 0; a < 2; ++a)
        for (std::size_t i = 0; i < direction[a].values.size(); ++i)
          moved[1 + a].values[i] += (side == 1 ? step : -step) * direction[a].values[i];
      PipelineMeaning(pipeline_, moved).run();
      sums[side] = product(moved[0].values, seed_.values);
    }
    return (sums[1] - sums[0]) / (2 * step);
  }

  std::mt19937 random_;
  ir::CapturedPipeline pipeline_;
  std::vector<MeantArray> arguments_;
  MeantArray seed_;
};

TEST(RandomPipelines, HaveTheGradientsOfCentralDifferences) {
  const std::uint32_t first = setting("SAMITE_TEST_RANDOM_SEED", 1),
                      count = setting("SAMITE_TEST_RANDOM_PIPELINES", 200);
  std::map<std::string, int> refused;
  std::uint32_t refusals = 0;
  for (std::uint32_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      Gradients(seed).compare();
    } catch (const UserError &error) {
      const std::string text = error.what();
      ++refused[text.substr(text.find(": ") + 2)];
      ++refusals;
    }
    if (testing::Test::HasFatalFailure()) break;
  }
  for (const auto &[reason, times] : refused) std::cout << times << " refused: " << reason << '\n';
  // Most refusals are in the default schedule: there the union of the regions of many updates is too long a form.
  EXPECT_LE(refusals, count / 2);
}

}  // namespace
}  // namespace samite::test::random_pipelines
