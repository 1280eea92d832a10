// Debug mode on the CPU compiles unrolled loops of a schedule as loops: copies of a body full of checks would take long
// to compile. Random schedules test that such loops compute the same (random_schedule_test.cpp).
#include "samite/ir/visit.h"
#include "samite/samite.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

std::size_t statements_of(const ir::CapturedPipeline &pipeline, bool rolled) {
  std::size_t statements = 0;
  for (const schedules::Step &step : schedules::lower(pipeline, {.rolled = rolled, .partitioned = !rolled}).steps)
    if (const auto *launch = std::get_if<schedules::KernelLaunch>(&step.kind))
      ir::for_each_statement(launch->kernel.body, [&](const ir::Stmt &) { ++statements; });
  return statements;
}

// A convolution of 3 x 3, strided_convolution and dilated, in the registers of a block of pixels.
const auto strided_convolution = [](Array<float, 3> out, Array<const float, 3> in, Array<const float, 3> weight) {
  const Var y{"y"}, x{"x"}, c{"c"}, xo{"xo"}, xi{"xi"}, yo{"yo"}, yi{"yi"};
  Func sums{"sums"}, result{"result", out};
  Reduction r{"r", {{0, 3}, {0, 3}}};
  auto [j, i] = r;
  sums(y, x, c) += weight(j, i, c) * in(2 * y + 2 * j, 2 * x + 2 * i, c);
  result(y, x, c) = max(sums(y, x, c), 0);
  schedule_cpu([&] {
    result.tile(x, y, xo, yo, xi, yi, 4, 4).reorder(c, xi, yi, xo, yo).parallel(yo).vectorize(c, 16).unroll(xi);
    result.unroll(yi);
    sums.compute_at(result, xo).store_in(Memory::registers).vectorize(c).unroll(x).unroll(y);
    sums.update().reorder(c, x, y, i, j).vectorize(c).unroll(x).unroll(y).unroll(i).unroll(j);
    result.bound(c, 0, 16);
  });
};

TEST(Rolled, ABodyIsCompiledOnce) {
  const ir::CapturedPipeline pipeline = captured_pipeline(strided_convolution);
  const std::size_t rolled = statements_of(pipeline, true), unrolled = statements_of(pipeline, false);
  EXPECT_GT(unrolled, 500u);
  EXPECT_LT(rolled, 150u);
}

// Release mode has three loops of vectors here: for both edges and the middle.
TEST(Rolled, ALoopWithClampedIndicesIsNotPartitioned) {
  const ir::CapturedPipeline pipeline = captured_pipeline([](Array<float, 2> out, Array<const float, 2> in) {
    const Var y{"y"}, x{"x"};
    const Func edged = repeat_edge(in);
    Func result{"result", out};
    result(y, x) = edged(y, x - 1) + edged(y, x + 1);
    schedule_cpu([&] { result.vectorize(x); });
  });
  EXPECT_GT(statements_of(pipeline, false), 2 * statements_of(pipeline, true));
}

TEST(Rolled, DebugModeRunsLoops) {
  SAMITE_ON_THE_CPU();
  Pipeline pipeline{"strided_convolution", {"out", "in", "weight"}, strided_convolution};
  std::vector<float> results[2];
  std::size_t bytes[2];
  for (const bool debug : {false, true}) {
    Buffer<float> out(Device::cpu(), {8, 8, 16}), in(Device::cpu(), {19, 19, 16}), weight(Device::cpu(), {3, 3, 16});
    for (Buffer<float> *buffer : {&in, &weight})
      for (std::int64_t i = 0; i < buffer->count(); ++i) buffer->data()[i] = static_cast<float>(i * i % 37 - 18) / 16;
    pipeline.launch({.debug = debug}, out, in, weight);
    results[debug] = out.to_vector();
    const auto kernel = report(pipeline).programs.back().kernels.at(0);
    bytes[debug] = kernel.variants.back().image_bytes;
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) EXPECT_NEAR(results[0][i], results[1][i], 1e-5);
  EXPECT_LT(bytes[1], 40'000u);
}

// Errors of unrolling are reported in debug mode too.
TEST(Rolled, ALoopThatCannotBeUnrolledIsRefused) {
  SAMITE_ON_THE_CPU();
  Pipeline pipeline{"endless", {"out"}, [](Array<float, 1> out) {
                      const Var x{"x"};
                      Func result{"result", out};
                      result(x) = cast<Float>(x);
                      schedule_cpu([&] { result.unroll(x); });
                    }};
  Buffer<float> out(Device::cpu(), {8});
  EXPECT_THAT(message_of<UserError>([&] { pipeline.launch({.debug = true}, out); }),
              HasSubstr("is unrolled and has a number of iterations that is known at launch only"));
}

}  // namespace
}  // namespace samite::test
