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

// A scan that runs down and up again, as filters that go on for ever do.
TEST(PipelineAdjoint, OfAScanTowardsLowerIndices) {
  const Pipeline filter{"filter", {"out", "in"}, [](Array<double, 2> out, Array<const double, 2> in) {
                          const Int rows = in.extent(0);
                          Func<double> down{"down"}, result{"result", out};
                          Reduction i{"i", 1, rows - 1};
                          down(y, x) = undefined<double>();
                          down(0, x) = in(0, x);
                          down(i, x) = down(i - 1, x) * in(i, x) + in(i, x);
                          down(rows - 1 - i, x) = 0.9 * down(rows - i, x) + in(i, x) * down(rows - 1 - i, x);
                          result(y, x) = down(y, x) * down(y, x);
                        }};
  Buffer<double> out(Device::cpu(), {6, 5}, Gradient::tracked), in(Device::cpu(), {6, 5}, Gradient::tracked);
  in.copy_from(filled(in.count(), 1));
  expect_gradient([&](Direction direction) { filter.launch({.direction = direction}, out, in); }, out, in);
}

// Three colours are read by number, and many reads of a definition share what they get.
TEST(PipelineAdjoint, OfColoursAndCorners) {
  const Pipeline corners{"corners", {"out", "in"}, [](Array<double, 2> out, Array<const double, 3> in) {
                           Func<double> gray{"gray"}, across{"across"}, down{"down"}, result{"result", out};
                           gray(y, x) = 0.3 * in(0, y, x) + 0.6 * in(1, y, x) + 0.1 * in(2, y, x);
                           across(y, x) = gray(y, x + 1) - gray(y, x);
                           down(y, x) = gray(y + 1, x) - gray(y, x);
                           const auto sum = [&](const Func<double> &f, const Func<double> &g) {
                             Double all = 0;
                             for (int j = 0; j < 2; ++j)
                               for (int i = 0; i < 2; ++i) all += f(y + j, x + i) * g(y + j, x + i);
                             return all;
                           };
                           Double xx = sum(across, across), yy = sum(down, down), xy = sum(across, down);
                           result(y, x) = (xx * yy - xy * xy) / (1 + (xx + yy) * (xx + yy));
                         }};
  Buffer<double> out(Device::cpu(), {5, 6}, Gradient::tracked), in(Device::cpu(), {3, 8, 9}, Gradient::tracked);
  in.copy_from(filled(in.count(), 1));
  expect_gradient([&](Direction direction) { corners.launch({.direction = direction}, out, in); }, out, in, 1e-5);
  EXPECT_THAT(adjoint_loop_nest(corners), testing::HasSubstr("result_inside_gradient"));
}

auto strips() {
  return Pipeline{"strips", {"out", "in"}, [](Array<double, 2> out, Array<const double, 2> in) {
                    Var strip{"strip"}, row{"row"};
                    Func<double> image = repeat_edge(in), across{"across"}, result{"result", out};
                    across(y, x) = image(y, x - 1) + image(y, x) + 2 * image(y, x + 1);
                    result(y, x) = across(y - 1, x) + across(y, x) - 3 * across(y + 2, x);
                    schedule_cpu([&] {
                      result.split(y, strip, row, 8).parallel(strip).vectorize(x, 8);
                      across.store_at(result, strip).compute_at(result, row).vectorize(x, 8);
                    });
                  }};
}

// The forward one is tiled, parallel and in vectors, and so is the gradient.
TEST(DerivedSchedule, OfAStencilInStrips) {
  const auto pipeline = strips();
  Buffer<double> out(Device::cpu(), {21, 19}, Gradient::tracked), in(Device::cpu(), {21, 19}, Gradient::tracked);
  in.copy_from(filled(in.count(), 1));
  expect_gradient([&](Direction direction) { pipeline.launch({.direction = direction}, out, in); }, out, in);
  EXPECT_THAT(adjoint_schedule(pipeline),
              testing::AllOf(
                  testing::HasSubstr("in_gradient_sum.update(0).split(y, y_strip, y_row, 8).reorder(x, y_row, y_strip)"
                                     ".parallel(y_strip).vectorize(x);\n"),
                  testing::HasSubstr("across_gradient.store_at(in_gradient_sum, y_strip)"
                                     ".compute_at(in_gradient_sum, y_row).vectorize(x);\n")));
  EXPECT_THAT(adjoint_loop_nest(pipeline), testing::ContainsRegex("parallel in_gradient_sum.y_strip:\n +store across"));
}

auto product() {
  return Pipeline{
      "product",
      {"out", "a", "b", "bias"},
      [](Array<double, 2> out, Array<const double, 2> a, Array<const double, 2> b, Array<const double, 1> bias) {
        Func<double> sums{"sums"}, result{"result", out};
        Reduction k{"k", 0, a.extent(1)};
        sums(y, x) = bias(x);
        sums(y, x) += a(y, k) * b(k, x);
        result(y, x) = max(sums(y, x), 0.0);
      }};
}

// Sums are in registers, what is read across is copied, and the few sums of a bias are added in parts.
TEST(DerivedSchedule, OfAProductAndItsBias) {
  const auto pipeline = product();
  Buffer<double> out(Device::cpu(), {9, 19}, Gradient::tracked), a(Device::cpu(), {9, 21}, Gradient::tracked),
      b(Device::cpu(), {21, 19}, Gradient::tracked), bias(Device::cpu(), {19}, Gradient::tracked);
  a.copy_from(filled(a.count(), 1)), b.copy_from(filled(b.count(), 2)), bias.copy_from(filled(bias.count(), 3));
  const auto launch = [&](Direction direction) { pipeline.launch({.direction = direction}, out, a, b, bias); };
  for (const Buffer<double> &input : {a, b, bias}) {
    for (Buffer<double> one : {a, b, bias}) one.zero_gradient();
    expect_gradient(launch, out, input);
  }
  const std::string schedule = adjoint_schedule(pipeline);
  EXPECT_THAT(schedule, testing::HasSubstr("a_gradient_over_x.compute_at(a_gradient_over_x_blocks, y_block)"
                                           ".store_in(Memory::registers)"));
  EXPECT_THAT(schedule, testing::HasSubstr("auto b_copy_packed = b_copy.in(a_gradient_over_x);"));
  EXPECT_THAT(schedule,
              testing::HasSubstr("auto bias_gradient_over_y_partial = bias_gradient_over_y.update(0).rfactor("));
}

TEST(DerivedSchedule, IsReadAsItIsPrinted) {
  for (const bool of_product : {false, true}) {
    const auto check = [](const auto &pipeline) {
      const std::string derived = adjoint_schedule(pipeline);
      ASSERT_FALSE(derived.empty());
      schedule_adjoint(pipeline, derived);
      EXPECT_EQ(adjoint_schedule(pipeline), derived);
    };
    if (of_product)
      check(product());
    else
      check(strips());
  }
}

TEST(DerivedSchedule, CanBeEdited) {
  const auto pipeline = strips();
  Buffer<double> out(Device::cpu(), {21, 19}, Gradient::tracked), in(Device::cpu(), {21, 19}, Gradient::tracked);
  in.copy_from(filled(in.count(), 1));
  schedule_adjoint(pipeline, R"(
      // Gradients of rows once and for all.
      across_gradient.compute_root().parallel(y).vectorize(x);
      in_gradient_sum.update(0).split(y, yo, yi, 4).parallel(yo);
  )");
  expect_gradient([&](Direction direction) { pipeline.launch({.direction = direction}, out, in); }, out, in);
  EXPECT_THAT(adjoint_loop_nest(pipeline), testing::HasSubstr("parallel in_gradient_sum.yo:"));
  schedule_adjoint(pipeline, "");
  EXPECT_THAT(adjoint_loop_nest(pipeline), testing::HasSubstr("parallel in_gradient_sum.y_strip:"));
}

TEST(DerivedSchedule, RefusesTextThatIsNone) {
  const auto pipeline = strips();
  const auto refusal_of = [&](const std::string &text) {
    try {
      schedule_adjoint(pipeline, text);
    } catch (const UserError &error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refusal_of("\nacross_gradients.compute_root();"),
              testing::AllOf(testing::HasSubstr("line 2 of the schedule of pipeline 'strips_adjoint': there is no Func "
                                                "'across_gradients'; there are "),
                             testing::HasSubstr("across_gradient")));
  EXPECT_THAT(refusal_of("across_gradient.tile_it(x);"), testing::HasSubstr("'tile_it' is no directive for the CPU"));
  EXPECT_THAT(refusal_of("across_gradient.vectorize(x)"), testing::HasSubstr("';' is missing"));
  EXPECT_THAT(refusal_of("across_gradient.split(x, xo, 8);"),
              testing::HasSubstr("split has 4 arguments, and 3 are given"));
  EXPECT_THAT(refusal_of("across_gradient.split(x, xo, xi, eight);"), testing::HasSubstr("'eight' is no number"));
  EXPECT_THAT(refusal_of("across_gradient.compute_root().parallel(z);"), testing::HasSubstr("has no loop 'z'"));
  // Nothing has changed.
  EXPECT_THAT(adjoint_loop_nest(pipeline), testing::HasSubstr("parallel in_gradient_sum.y_strip:"));
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
