// The choice of plans by measurement: measured candidates, stored choices, and later look-ups.
#include "samite/ops/tune.h"

#include "samite/jit/progress.h"
#include "samite/ops/scaled_matmul.h"
#include "samite/toolchain/object_cache.h"
#include "tests/base/temporary_folder.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <optional>
#include <set>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A cache folder of the test's own, and a process that has chosen nothing.
class Tune : public testing::Test {
 protected:
  Tune() {
    if (const char *set = std::getenv("SAMITE_CACHE_DIR")) before_ = set;
    setenv("SAMITE_CACHE_DIR", folder_.path().c_str(), 1);
    ops::detail::forget_chosen_plans();
  }
  ~Tune() override {
    before_ ? setenv("SAMITE_CACHE_DIR", before_->c_str(), 1) : unsetenv("SAMITE_CACHE_DIR");
    ops::detail::forget_chosen_plans();
  }

  // Among the plans of a product of 64 rows on the CPU, pretends that the one with this many rows is the fastest.
  static ops::TuneOptions fastest_is(int rows) {
    return {.seconds_of = [rows](const ops::MatmulPlan &plan, Launch &) { return plan.rows == rows ? 1.0 : 2.0; }};
  }

  static ops::Matmul<Tile<float>(ops::Sums<float>)> product(const std::string &name = "product") {
    return {name, [](const ops::Sums<float> &s) { return s.values() * 2.0f; }};
  }
  ops::PlannedProduct planned() const { return {ops::identity_of_operation("x", "y"), {1, 64, 30, 20}, {}, device()}; }

  Buffer<float> a_{device(), {64, 20}}, b_{device(), {20, 30}}, c_{device(), {64, 30}};

 private:
  TemporaryFolder folder_;
  std::optional<std::string> before_;
};

TEST_F(Tune, CandidatesAreAShortListWithTheUsualPlanFirst) {
  for (const ops::PlanDevice &device : {ops::PlanDevice{}, {80, 108}, {90, 132}})
    for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Float32, ScalarType::Float8E4M3})
      for (const std::int64_t rows : {1, 100, 8192}) {
        const ops::MatmulShape shape{1, rows, 4096, 4096};
        const auto candidates = ops::matmul_candidates(shape, {.type = type}, device);
        EXPECT_EQ(candidates.front(), ops::matmul_plan(shape, {.type = type}, device));
        EXPECT_LE(candidates.size(), 9u);
        EXPECT_EQ(std::set(candidates.begin(), candidates.end()).size(), candidates.size());
        for (const ops::MatmulPlan &plan : candidates) EXPECT_GE(plan.stages, 1);
      }
  EXPECT_EQ(ops::matmul_candidates({1, 1, 64, 64}, {}, {}).size(), 1u) << "one row needs one row";
  const auto many = ops::matmul_candidates({1, 8192, 8192, 8192}, {.type = ScalarType::BFloat16}, {90, 132});
  EXPECT_TRUE(std::ranges::count(many, ops::MatmulPlan{128, 192, 64, 256, 5})) << "also what is for few blocks";
}

TEST_F(Tune, TheFastestIsKeptForLaunchesToCome) {
  SAMITE_ON_THE_CPU();
  const auto own = product();
  const ops::TunedPlan tuned = own.tune(fastest_is(16), a_, b_, c_);
  EXPECT_EQ(tuned.plan.rows, 16);
  EXPECT_EQ(tuned.measured.size(), 4u);
  EXPECT_EQ(tuned.measured.front().plan.rows, 64) << "the usual plan";

  // Another operation of the same name and epilogue, in a process of its own.
  ops::detail::forget_chosen_plans();
  EXPECT_THAT(product().record(a_, b_, c_).to_string(), HasSubstr("over (4, 1)")) << "blocks of 16 rows";
  EXPECT_THAT(product("other").record(a_, b_, c_).to_string(), HasSubstr("over (1, 1)")) << "has measured nothing";
  own.launch(a_, b_, c_);
  EXPECT_EQ(own.kernels().size(), 4u) << "the kernels that were measured, and no other";
}

TEST_F(Tune, WhatIsChosenIsRightAsWell) {
  const Matrix a(64, 20, 1), b(20, 30, 2);
  const auto left = buffer<float>(a.extents(), a.values), right = buffer<float>(b.extents(), b.values);
  const auto twice = product();
  twice.tune(fastest_is(4), left, right, c_);
  const auto c = poisoned<float>({64, 30});
  twice.launch(left, right, c);
  std::vector<double> expected = test::product(a, b).values;
  for (double &value : expected) value *= 2;
  expect_near(c, expected, 1e-4);
}

TEST_F(Tune, TheUsualPlanStaysWhereNoOtherIsTwoPercentFaster) {
  SAMITE_ON_THE_CPU();
  const auto measured = [&](double other) {
    return product()
        .tune({.seconds_of = [=](const ops::MatmulPlan &plan, Launch &) { return plan.rows == 64 ? 1.0 : other; }}, a_,
              b_, c_)
        .plan.rows;
  };
  EXPECT_EQ(measured(0.99), 64);
  EXPECT_EQ(measured(0.97), 16) << "the first of those";
}

TEST_F(Tune, AChoiceIsReplacedByALaterOne) {
  SAMITE_ON_THE_CPU();
  const ops::PlannedProduct product = planned();
  const auto candidates = ops::matmul_candidates(product.shape, product.factors, {});
  ops::keep_plan(product, candidates[1]);
  ops::keep_plan(product, candidates[2]);
  EXPECT_EQ(ops::chosen_plan(product), candidates[2]);
  ops::detail::forget_chosen_plans();
  EXPECT_EQ(ops::chosen_plan(product), candidates[2]);
}

TEST_F(Tune, WhatIsNoPlanOfTheCandidatesIsIgnored) {
  SAMITE_ON_THE_CPU();
  const ops::PlannedProduct product = planned();
  const ops::MatmulPlan usual = ops::matmul_plan(product.shape, product.factors, {});
  for (const char *text : {"", "plan 16 64 64", "plan 1024 64 64 32 1\n", "plan 16 64 64 32 1\nand more", "\0\1\2"}) {
    object_cache()->remove(ops::detail::key_on_disk(product));
    object_cache()->publish(ops::detail::key_on_disk(product), text);
    ops::detail::forget_chosen_plans();
    EXPECT_EQ(ops::chosen_plan(product), usual) << text;
  }
}

TEST_F(Tune, ADamagedFileIsIgnored) {
  SAMITE_ON_THE_CPU();
  const ops::PlannedProduct product = planned();
  ops::keep_plan(product, ops::matmul_candidates(product.shape, product.factors, {})[1]);
  for (const auto &entry : std::filesystem::recursive_directory_iterator(object_cache()->folder()))
    if (entry.is_regular_file() && entry.path().filename() == "content") std::filesystem::resize_file(entry.path(), 3);
  ops::detail::forget_chosen_plans();
  EXPECT_EQ(ops::chosen_plan(product), ops::matmul_plan(product.shape, product.factors, {}));
}

TEST_F(Tune, ShapesTypesAndOperationsHaveKeysOfTheirOwn) {
  std::set<Hash128> keys{ops::detail::key_on_disk(planned())};
  const auto add = [&](const auto &change) {
    ops::PlannedProduct other = planned();
    change(other);
    keys.insert(ops::detail::key_on_disk(other));
  };
  add([](auto &p) { p.operation = ops::identity_of_operation("x", "z"); });
  add([](auto &p) { p.shape.rows = 65; });
  add([](auto &p) { p.shape.batches = 2; });
  add([](auto &p) { p.factors.type = ScalarType::Float16; });
  add([](auto &p) { p.factors.transposed.b = true; });
  add([](auto &p) { p.factors.transposed.a = true; });
  add([](auto &p) { p.factors.precision = tile::Precision::tf32; });
  add([](auto &p) { p.factors.block_scales = true; });
  add([](auto &p) { p.factors.row_blocks = true; });
  add([](auto &p) { p.factors.scales_beside = true; });
  EXPECT_EQ(keys.size(), 11u);
}

TEST_F(Tune, TellsItsProgress) {
  SAMITE_ON_THE_CPU();
  std::vector<std::string> lines, places;
  const ProgressSink before = set_progress_sink([&](std::string_view text) {
    if (text.starts_with("tuning")) lines.emplace_back(text);
  });
  ops::TuneOptions options = fastest_is(64);
  options.progress = [&](const ops::MeasuredPlan &, std::size_t number, std::size_t count) {
    places.push_back(std::to_string(number) + " of " + std::to_string(count));
  };
  product("layer").tune(options, a_, b_, c_);
  set_progress_sink(before);
  EXPECT_THAT(places, ElementsAre("1 of 4", "2 of 4", "3 of 4", "4 of 4"));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1], "tuning 'layer': 2 of 4, tiles of 16 x 64, 32 threads, 1 stages: 2000.0000 ms");
}

// By the clock of the device: the test only knows that it ends, and keeps one of the candidates.
TEST_F(Tune, MeasuresByItself) {
  const Buffer<f8e4m3> a(device(), {16, 128}), b(device(), {128, 32});
  const Buffer<float> one(device(), {1, 1}, {1.0f}), c(device(), {16, 32});
  const ops::ScaledMatmul scaled{"scaled", [](const ops::ScaledSums<f8e4m3> &s) { return s.values(); }};
  const ops::TunedPlan tuned = scaled.tune(a, b, one, one, c);
  for (const ops::MeasuredPlan &measured : tuned.measured) EXPECT_GT(measured.seconds, 0);
  scaled.launch(a, b, one, one, c);
  EXPECT_EQ(scaled.kernels().size(), tuned.measured.size());
}

TEST_F(Tune, NotWhileATapeIsRecorded) {
  Tape tape;
  EXPECT_THAT(message_of<UserError>([&] { tape.record([&] { product().tune(a_, b_, c_); }); }),
              HasSubstr("product: tune() launches many times; expected to be called before a tape"));
}

}  // namespace
}  // namespace samite::test
