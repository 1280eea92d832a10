// Random programs in the modes that change how a kernel is compiled but not its meaning: debug mode, deterministic
// launches, and with each step dumped and reported. Each mode gives the outputs and gradients of a plain launch.
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "tests/autodiff/random_gradient.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/environment.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <sstream>

namespace samite::test {
namespace {

// The arrays of one random program, and the results of a forward launch and its adjoint.
class ProgramRun {
 public:
  explicit ProgramRun(unsigned seed) : kernel_("random", {"out", "in", "work", "total", "rows"}, RandomProgram(seed)) {
    std::mt19937 random(seed + 1);
    std::uniform_real_distribution<double> distribution(-1, 1);
    for (Buffer<double> *buffer : all()) {
      std::vector<double> values(static_cast<std::size_t>(buffer->count())), weights(values.size());
      for (double &value : values) value = distribution(random);
      for (double &weight : weights) weight = distribution(random);
      start_.push_back(values);
      cotangents_.push_back({*buffer, Buffer<double>(device(), buffer->extents(), weights)});
    }
  }

  const auto &kernel() const { return kernel_; }

  // All outputs, then all gradients.
  std::vector<double> results(LaunchOptions options) {
    const std::vector<Buffer<double> *> buffers = all();
    for (std::size_t i = 0; i < buffers.size(); ++i) buffers[i]->copy_from(start_[i]);
    Tape tape;
    tape.record([&] { kernel_.launch({RandomProgram::instances}, options, out_, in_, work_, total_, rows_); });
    std::vector<double> found;
    const auto append = [&](const std::vector<double> &values) {
      found.insert(found.end(), values.begin(), values.end());
    };
    for (const Buffer<double> *buffer : buffers) append(buffer->to_vector());
    tape.zero_gradients();
    std::vector<Tape::Cotangent> cotangents = cotangents_;
    cotangents.erase(cotangents.begin() + 1);  // `in` is read only
    tape.backward(cotangents);
    for (const Buffer<double> *buffer : buffers) append(buffer->gradient().to_vector());
    return found;
  }

 private:
  std::vector<Buffer<double> *> all() { return {&out_, &in_, &work_, &total_, &rows_}; }

  Kernel<void(Array<double, 1>, Array<const double, 1>, Array<double, 1>, Array<double, 1>, Array<double, 2>)> kernel_;
  Buffer<double> out_{device(), {RandomProgram::instances}, Gradient::tracked};
  Buffer<double> in_{device(), {RandomProgram::inputs}, Gradient::tracked};
  Buffer<double> work_{device(), {RandomProgram::instances}, Gradient::tracked};
  Buffer<double> total_{device(), {RandomProgram::totals}, Gradient::tracked};
  Buffer<double> rows_{device(), {RandomProgram::instances, RandomProgram::row}, Gradient::tracked};
  std::vector<std::vector<double>> start_;
  std::vector<Tape::Cotangent> cotangents_;
};

// As far apart as other orders of additions and other contractions may bring values of moderate size.
void expect_near(const std::vector<double> &found, const std::vector<double> &expected, const std::string &what) {
  ASSERT_EQ(found.size(), expected.size());
  double scale = 1;
  for (const double value : expected) scale = std::max(scale, std::fabs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-10 * scale) << what << ", value " << i;
}

std::string text_of(const std::filesystem::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class RandomModes : public testing::TestWithParam<unsigned> {};

TEST_P(RandomModes, DebugModeChangesNothing) {
  const EnvironmentVariable little_effort("SAMITE_CPU_OPTIMIZATION", "0");
  ProgramRun run(GetParam());
  const std::vector<double> plain = run.results({});
  expect_near(run.results({.debug = true}), plain, "debug mode");
}

TEST_P(RandomModes, DeterministicLaunchesGiveTheSameBits) {
  ProgramRun run(GetParam());
  const std::vector<double> first = run.results({.deterministic = true});
  EXPECT_EQ(run.results({.deterministic = true}), first);
  expect_near(first, run.results({}), "deterministic");
}

// Each form that is dumped can be read again, and the report names both directions.
TEST_P(RandomModes, DumpsAndReportsAreWhole) {
  const EnvironmentVariable little_effort("SAMITE_CPU_OPTIMIZATION", "0");
  const std::vector<double> plain = ProgramRun(GetParam()).results({});
  const TemporaryFolder folder;
  const EnvironmentVariable dump("SAMITE_DUMP", folder.path().string());
  ProgramRun run(GetParam());
  EXPECT_EQ(run.results({}), plain);

  std::set<std::string> steps;
  for (const auto &file : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = file.path().filename().string(), text = text_of(file.path());
    EXPECT_FALSE(text.empty()) << name;
    steps.insert(file.path().stem().string().substr(6));
    if (file.path().extension() == ".ir") EXPECT_EQ(to_string(ir::parse_kernel(text)), text) << name;
  }
  for (const char *step : {"random-capture", "random-promote", "random-lower_threads", "random_adjoint-differentiate",
                           "random_adjoint-lower_threads", "random_adjoint-emit"})
    EXPECT_TRUE(steps.contains(step)) << step << " of " << testing::PrintToString(steps);

  const KernelReport found = report(run.kernel());
  const auto json = nlohmann::json::parse(found.to_json());
  EXPECT_EQ(json.at("kernel"), "random");
  ASSERT_EQ(found.variants.size(), 2u);
  EXPECT_EQ(found.variants[0].direction, Direction::forward);
  EXPECT_EQ(found.variants[1].direction, Direction::adjoint);
  for (const ReportedVariant &variant : found.variants) EXPECT_GT(variant.milliseconds, 0) << found;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned last_program = 2002;
#else
constexpr unsigned last_program = 2004;
#endif
INSTANTIATE_TEST_SUITE_P(Programs, RandomModes, testing::Range(2000u, last_program));

}  // namespace
}  // namespace samite::test
