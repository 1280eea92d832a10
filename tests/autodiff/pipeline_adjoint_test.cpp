// Adjoints of pipelines: gradients of launches against central differences in double.
#include "samite/autodiff/pipeline_adjoint.h"
#include "samite/samite.h"
#include "tests/lang/captured_pipeline.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

namespace samite::test::pipeline_adjoint {
namespace {

const Var y{"y"}, x{"x"};

std::vector<double> filled(std::int64_t count, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(random() % 2001) / 1000 - 1);
  return values;
}

// Checks the gradients of `inputs` for a random combination of the elements of `output`.
void expect_gradient(const std::function<void(Direction)> &launch, Buffer<double> output, Buffer<double> input,
                     double tolerance = 1e-6) {
  const std::vector<double> weights = filled(output.count(), 7);
  output.gradient().copy_from(weights);
  const std::vector<double> before = filled(input.count(), 8);
  input.gradient().copy_from(before);
  launch(Direction::adjoint);
  const std::vector<double> gradient = input.gradient().to_vector();
  EXPECT_THAT(output.gradient().to_vector(), testing::Each(0.0)) << "taken";
  std::vector<double> values = input.to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) {
    constexpr double h = 1e-5;
    double sums[2];
    for (const int side : {0, 1}) {
      std::vector<double> moved = values;
      moved[i] += side == 1 ? h : -h;
      input.copy_from(moved);
      launch(Direction::forward);
      const std::vector<double> result = output.to_vector();
      sums[side] = 0;
      for (std::size_t k = 0; k < result.size(); ++k) sums[side] += weights[k] * result[k];
    }
    const double expected = (sums[1] - sums[0]) / (2 * h);
    EXPECT_NEAR(gradient[i] - before[i], expected, tolerance * (1 + std::abs(expected))) << "element " << i;
  }
  input.copy_from(values);
}

TEST(PipelineAdjoint, OfAStencil) {
  const Pipeline blur{"blur", {"out", "in"}, [](Array<double, 2> out, Array<const double, 2> in) {
                        Func<double> squares{"squares"}, rows{"rows"}, result{"result", out};
                        squares(y, x) = in(y, x) * in(y, x) + sin(in(y, x));
                        rows(y, x) = (squares(y, x) + 2 * squares(y, x + 1) + squares(y, x + 2)) / 4;
                        result(y, x) = rows(y, x) * rows(y + 1, x);
                      }};
  Buffer<double> out(Device::cpu(), {5, 6}, Gradient::tracked), in(Device::cpu(), {6, 8}, Gradient::tracked);
  in.copy_from(filled(in.count(), 1));
  expect_gradient([&](Direction direction) { blur.launch({.direction = direction}, out, in); }, out, in);
}

TEST(PipelineAdjoint, BeyondEdges) {
  const Pipeline blur{"blur", {"out", "in"}, [](Array<double, 2> out, Array<const double, 2> in) {
                        Func<double> image = repeat_edge(in), rows{"rows"}, result{"result", out};
                        rows(y, x) = image(y, x - 1) * image(y, x + 1);
                        result(y, x) = rows(y - 1, x) + rows(y, x) + 3 * rows(y + 2, x);
                      }};
  Buffer<double> out(Device::cpu(), {4, 3}, Gradient::tracked), in(Device::cpu(), {4, 3}, Gradient::tracked);
  in.copy_from(filled(in.count(), 1));
  expect_gradient([&](Direction direction) { blur.launch({.direction = direction}, out, in); }, out, in);
}

// A product of matrices, a scatter and a gather by an index array, a scan, and a least value.
TEST(PipelineAdjoint, OfReductionsAndUpdates) {
  const Pipeline pipeline{
      "mixed", {"out", "in", "map"}, [](Array<double, 2> out, Array<const double, 2> in, Array<const int, 1> map) {
        Func<double> square{"square"}, scattered{"scattered"}, running{"running"}, result{"result", out};
        Reduction k{"k", 0, 4}, p{"p", 0, map.extent(0)}, r{"r", 1, 3};
        square(y, x) += in(y, k) * in(k, x);
        scattered(y, x) = in(y, x);
        scattered(y, clamp(map(p), 0, 3)) += square(y, p) * in(0, p);
        running(y, x) = scattered(y, x);
        running(y, r) = running(y, r - 1) * in(y, r) + running(y, r);
        Reduction m{"m", 0, 3};
        result(y, x) = running(y, x) + minimum(m, square(y, m) * in(m, x)) * scattered(y, clamp(map(x), 0, 3));
      }};
  Buffer<double> out(Device::cpu(), {4, 4}, Gradient::tracked), in(Device::cpu(), {4, 4}, Gradient::tracked);
  const Buffer<int> map(Device::cpu(), {4}, {2, 0, 2, 3});
  in.copy_from(filled(in.count(), 1));
  expect_gradient([&](Direction direction) { pipeline.launch({.direction = direction}, out, in, map); }, out, in);
  PipelineLaunch adjoint = pipeline.record({.direction = Direction::adjoint}, out, in, map);
  EXPECT_THAT(adjoint.to_string(), testing::HasSubstr("Launch of pipeline 'mixed_adjoint'"));
}

// One Func for the gradient of each, with the shifts of the reads reversed.
TEST(PipelineAdjoint, OfAStencilIsAStencil) {
  const ir::CapturedPipeline pipeline = captured_pipeline(
      [](Array<double, 1> out, Array<const double, 1> in) {
        Func<double> rows{"rows"}, result{"result", out};
        rows(x) = in(x) + 2 * in(x + 1);
        result(x) = rows(x) - rows(x + 2);
      },
      {"out", "in"});
  EXPECT_EQ(definitions(autodiff::derive_pipeline_adjoint(pipeline, {true, true}).pipeline),
            "result_gradient[x] = select(and(ge(x, 0), le(x, sub(extent(out, 0), 1))), "
            "out_gradient[max(min(x, sub(extent(out, 0), 1)), 0)], 0.0:f64)\n"
            "rows_gradient[x] = add(result_gradient[x], neg(result_gradient[sub(x, 2)]))\n"
            "in_gradient_sum[x] = unavailable()\n"
            "in_gradient_sum[x] = add(in_gradient_sum[x], add(rows_gradient[x], mul(rows_gradient[sub(x, 1)], "
            "2.0:f64)))\n"
            "out_gradient_taken[x] = 0.0:f64");
}

std::string refusal(const std::function<void()> &work) {
  try {
    work();
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}

TEST(PipelineAdjoint, RefusesAnUpdateWhoseIterationsMayStoreToOneElement) {
  unsigned line = 0;
  const Pipeline scatter{"scatter", [&](Array<double, 1> out, Array<const double, 1> in, Array<const int, 1> map) {
                           Func<double> result{"result", out};
                           Reduction k{"k", 0, map.extent(0)};
                           result(x) = 0.0;
                           line = __LINE__ + 1;
                           result(clamp(map(k), 0, 3)) = in(k);
                         }};
  const Buffer<double> out(Device::cpu(), {4}, Gradient::tracked), in(Device::cpu(), {4}, Gradient::tracked);
  const Buffer<int> map(Device::cpu(), {4}, {2, 0, 2, 3});
  EXPECT_THAT(refusal([&] { scatter.launch({.direction = Direction::adjoint}, out, in, map); }),
              testing::AllOf(testing::HasSubstr("pipeline_adjoint_test.cpp:" + std::to_string(line)),
                             testing::HasSubstr("several of whose iterations may store to one element")));
}

TEST(PipelineAdjoint, RefusesWhatHasNoGradient) {
  const Pipeline copy{"copy", [](Array<double, 1> out, Array<const double, 1> in) {
                        Func<double> result{"result", out};
                        result(x) = floor(in(x));
                      }};
  const Buffer<double> tracked(Device::cpu(), {4}, Gradient::tracked), plain(Device::cpu(), {4});
  EXPECT_THAT(
      refusal([&] { copy.launch({.direction = Direction::adjoint}, plain, plain.clone()); }),
      testing::HasSubstr("pipeline 'copy' is launched with Direction::adjoint, and none of its arguments tracks "
                         "its gradient"));
  EXPECT_THAT(refusal([&] { copy.launch({.direction = Direction::adjoint}, plain, tracked); }),
              testing::HasSubstr("none reaches an array that tracks its gradient and that the pipeline reads"));
  EXPECT_THAT(refusal([&] { copy.launch({.direction = Direction::tangent}, tracked, plain); }),
              testing::HasSubstr("pipeline 'copy' has no tangent"));
}

}  // namespace
}  // namespace samite::test::pipeline_adjoint
