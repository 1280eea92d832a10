// Pipelines from C++ to results: captured, lowered, compiled and launched.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

// The mean of each element and its right and lower neighbours.
auto smooth() {
  return Pipeline{"smooth", {"result", "input"}, [](Array<float, 2> result, Array<const float, 2> input) {
                    Var y{"y"}, x{"x"};
                    Func rows{"rows"}, output{"output", result};
                    rows(y, x) = (input(y, x) + input(y, x + 1)) * 0.5f;
                    output(y, x) = (rows(y, x) + rows(y + 1, x)) * 0.5f;
                    schedule("at_root", [&] { rows.compute_root(); });
                    schedule("tiles", [&] {
                      Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
                      output.split(y, yo, yi, 4).split(x, xo, xi, 8).reorder(xi, yi, xo, yo).parallel(yo).vectorize(xi);
                      rows.compute_at(output, xo).vectorize(x, 8);
                    });
                    schedule("blocks", [&] {
                      Var yo{"yo"}, yi{"yi"}, xo{"xo"}, xi{"xi"};
                      output.split(y, yo, yi, 4).split(x, xo, xi, 8).reorder(xi, yi, xo, yo);
                      output.gpu_blocks(yo, xo).gpu_threads(yi, xi);
                      rows.compute_at(output, xo).gpu_threads(y, x);
                    });
                  }};
}

using testing::AllOf;
using testing::HasSubstr;

class SmoothPipeline : public testing::TestWithParam<const char *> {
 protected:
  static constexpr int height = 11, width = 23;

  SmoothPipeline() {
    std::vector<float> values;
    for (int i = 0; i < (height + 1) * (width + 1); ++i) values.push_back(static_cast<float>(i * i % 101));
    in.copy_from(values);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const auto at = [&](int v, int u) { return values[static_cast<std::size_t>(v * (width + 1) + u)]; };
        expected.push_back(((at(y, x) + at(y, x + 1)) * 0.5f + (at(y + 1, x) + at(y + 1, x + 1)) * 0.5f) * 0.5f);
      }
  }

  const Device device_ = test::device();
  Buffer<float> in{device_, {height + 1, width + 1}}, out{device_, {height, width}};
  std::vector<float> expected;
};

TEST_P(SmoothPipeline, IsTheSameInEverySchedule) {
  const auto pipeline = smooth();
  pipeline.launch({.schedule = GetParam()}, out, in);
  EXPECT_EQ(out.to_vector(), expected);

  const Buffer<float> again{device_, {height, width}};
  PipelineLaunch launch = pipeline.record({.schedule = GetParam()}, again, in);
  launch.launch();
  EXPECT_EQ(again.to_vector(), expected);

  const Buffer<float> checked{device_, {height, width}};
  pipeline.launch({.schedule = GetParam(), .debug = true}, checked, in);
  EXPECT_EQ(checked.to_vector(), expected);
}
INSTANTIATE_TEST_SUITE_P(Schedules, SmoothPipeline, testing::Values("", "at_root", "tiles", "blocks"));

TEST(Pipeline, ProgramIsWhatALaunchWouldRun) {
  const std::string cpu = smooth().program(Device::cpu(), "tiles"), cuda = smooth().program(Device::cuda(0), "blocks");
  EXPECT_THAT(cpu, AllOf(HasSubstr("pipeline @smooth(@result: array<f32, 2>, @input: array<const f32, 2>) {"),
                         HasSubstr("launch @smooth_output over (")));
  EXPECT_THAT(cuda, HasSubstr("local shared $"));
}

TEST_F(SmoothPipeline, RefusesOptionsOfSingleKernels) {
  const auto pipeline = smooth();
  for (const CudaOptions &cuda :
       {CudaOptions{.cluster = 2}, CudaOptions{.sum_parts = 2}, CudaOptions{.plan = {.teams = 1}}})
    EXPECT_THAT(message_of<UserError>([&] { pipeline.launch({.cuda = cuda}, out, in); }),
                HasSubstr("cluster, sum_parts and plan are for single kernels"));
}

// A definition may read an element that it has stored to in between, if its arrays share memory. So such launches are
// refused, also when a recorded launch is edited.
TEST(Pipeline, RefusesArraysThatShareMemory) {
  SAMITE_ON_THE_CPU();
  const Pipeline planes{"planes", {"result", "input"}, [](Array<float, 2> result, Array<const float, 2> input) {
                          Var c{"c"}, x{"x"};
                          Func output{"output", result};
                          output(c, x) = select(c == 0, input(0, x) + 1, input(0, x) + 2);
                          schedule("planes", [&] { output.bound(c, 0, 2).reorder(c, x).unroll(c).vectorize(x); });
                        }};
  const PipelineOptions options{.schedule = "planes"};
  for (const int width : {1, 7, 8, 29}) {
    std::vector<float> values, apart;
    for (int x = 0; x < width; ++x) values.push_back(static_cast<float>(3 * x));
    for (const float value : values) apart.push_back(value + 1);
    for (const float value : values) apart.push_back(value + 2);

    const Device device = Device::cpu();
    const Buffer<float> input{device, {1, width}, values}, result{device, {2, width}}, shared{device, {2, width}};
    PipelineLaunch launch = planes.record(options, result, input);
    launch.launch();
    EXPECT_EQ(result.to_vector(), apart);
    const Buffer<float> row = shared.slice(0, 0, 1);
    EXPECT_THAT(message_of<UserError>([&] { planes.launch(options, shared, row); }),
                HasSubstr("argument 0 ('result') is written, and shares memory with argument 1 ('input')"));
    launch.set("input", row);
    EXPECT_THROW(launch.set("result", shared), UserError);
  }
}

}  // namespace
}  // namespace samite::test
