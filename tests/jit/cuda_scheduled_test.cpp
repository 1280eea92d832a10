// Pipelines on CUDA: the host's work, on the fake driver, whose kernels are C++ functions; on a GPU the compiled
// kernels run. Needs NVRTC.
#include "samite/jit/definition.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/jit/program_by_hand.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct FromTo {
  ArrayArgument<float> to;
  ArrayArgument<const float> from;
};
struct FromToTimes {
  ArrayArgument<float> to;
  ArrayArgument<const float> from;
  float factor;
};

class CudaPipelines : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<FromToTimes>("scale", [](const FromToTimes &a, const LaunchBox &box) {
      for (std::int64_t i = box.begin[0]; i < box.end[0]; ++i) a.to.data[i] = a.factor * a.from.data[i];
    });
    understand<FromTo>("pairs", [](const FromTo &a, const LaunchBox &box) {
      for (std::int64_t i = 2 * box.begin[0]; i < std::min(2 * box.end[0], a.to.extent); ++i)
        a.to.data[i] = a.from.data[i] + a.from.data[i + 1];
    });
  }

  // func0(i) = factor * in(i);  out(i) = func0(i) + func0(i + 1), by blocks of two threads
  static auto sums() {
    const ByHand by_hand{
        .name = "sums",
        .parameters = {floats("out", 1), floats("in", 1, true), floats("factor", 0)},
        .steps = {let(0, extent_of(0, 0)), let(1, operation(ir::Op::Add, ScalarType::Int32, {local(0), number(1)})),
                  let(2, operation(ir::Op::ShiftRight, ScalarType::Int32, {local(1), number(1)})),
                  temporary(0, ScalarType::Float32, {local(1)}),
                  launch(R"(
kernel @scale(@to: array<f32, 1>, @from: array<const f32, 1>, @factor: f32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @from[%0]
  %2: f32 = mul @factor, %1
  store @to[%0] = %2
})",
                         {local(1)}, {own(0), given(1), given(2)}),
                  launch(R"(
kernel @pairs(@to: array<f32, 1>, @from: array<const f32, 1>) blocks 1 of 2 scheduled {
  %0: i32 = thread_index 0
  %1: i32 = mul %0, 2
  %2: i32 = extent @to, 0
  for.thread %3: i32 in 0 .. 2 step 1 {
    %4: i32 = add %1, %3
    %5: bool = lt %4, %2
    if %5 {
      %6: i32 = add %4, 1
      %7: f32 = load @from[%4]
      %8: f32 = load @from[%6]
      %9: f32 = add %7, %8
      store @to[%4] = %9
    }
  }
})",
                         {local(2)}, {given(0), own(0)})}};
    return by_hand.pipeline<Array<float, 1>, Array<const float, 1>, Float>();
  }
};
SAMITE_CUDA_SUITE(CudaPipelines);

TEST_P(CudaPipelines, AreLaunchedAndRecorded) {
  const Buffer<float> in{device(), {4}, {1, 2, 3, 4}}, out{device(), {3}}, other{device(), {2}};
  const auto pipeline = sums();
  pipeline.launch(out, in, 10.0f);
  EXPECT_THAT(out.to_vector(), ElementsAre(30, 50, 70));

  PipelineLaunch launch = pipeline.record(out, in, 1.0f);
  launch.launch();
  launch.set("factor", 2.0f);
  launch.set("out", other);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  EXPECT_THAT(other.to_vector(), ElementsAre(6, 10));
  EXPECT_EQ(launch.to_string(), "Launch of pipeline 'sums' (2 kernels) on cuda:0");
  EXPECT_EQ(pipeline.definition()->programs()[0].target.device, DeviceKind::cuda);
}

TEST_P(CudaPipelines, RunOnTheStreamTheyName) {
  const Stream stream{device()};
  const Buffer<float> in{device(), {4}, {1, 2, 3, 4}}, out{device(), {3}}, last{device(), {3}};
  sums().launch({.stream = stream}, out, in, 1.0f);
  PipelineLaunch launch = sums().record(last, in, 2.0f);
  launch.launch(stream);
  launch.launch();
  launch.launch(stream);
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  EXPECT_THAT(last.to_vector(), ElementsAre(6, 10, 14));
}

TEST_P(CudaPipelines, RecordedOnesAreCapturedAsTheirKernels) {
  const Stream stream{device()};
  const Buffer<float> in{device(), {4}, {1, 2, 3, 4}}, out{device(), {3}};
  const auto pipeline = sums();
  PipelineLaunch launch = pipeline.record({.stream = stream}, out, in, 1.0f);
  Graph graph = capture(stream, [&] { launch.launch(); });
  EXPECT_EQ(graph.size(), 2u);
  EXPECT_THAT(out.to_vector(), ElementsAre(0, 0, 0));
  graph.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  EXPECT_THAT(
      message_of<UserError>([&] { capture(stream, [&] { pipeline.launch({.stream = stream}, out, in, 1.0f); }); }),
      AllOf(HasSubstr("pipeline 'sums' has arrays between its kernels"),
            HasSubstr("record the launch before the capture, and launch that")));
}

TEST_P(CudaPipelines, OtherDevicesAreRefused) {
  const Buffer<float> in{Device::cpu(), {4}}, out{device(), {3}};
  EXPECT_THAT(message_of<UserError>([&] { sums().launch(out, in, 1.0f); }),
              HasSubstr("pipeline 'sums': argument 1 ('in') is on cpu, but argument 0 ('out') is on cuda:0"));
  EXPECT_THAT(message_of<UserError>(
                  [&] { sums().record({.stream = Stream(Device::cpu())}, out, Buffer<float>{device(), {4}}, 1.0f); }),
              HasSubstr("pipeline 'sums': the stream is on cpu, the buffers are on cuda:0"));
}

TEST_P(CudaPipelines, MoreSharedMemoryThanTheDeviceHas) {
  const unsigned line = __LINE__ + 5;
  const Pipeline pipeline{"rows", {"out"}, [](Array<float, 1> out) {
                            Var x{"x"}, xb{"xb"}, xt{"xt"};
                            Func few{"few"};
                            Func many{"many"};
                            Func sums{"sums", out};
                            few(x) = cast<Float>(x);
                            many(x) = cast<Float>(x) + 1;
                            sums(x) = many(x) + many(x + 99'999) + few(x);
                            schedule_cuda([&] {
                              sums.split(x, xb, xt, 64).gpu_blocks(xb).gpu_threads(xt);
                              many.compute_at(sums, xb).store_in(Memory::shared);
                              few.compute_at(sums, xb).store_in(Memory::shared);
                            });
                          }};
  const Buffer<float> out{device(), {64}};
  const std::string message = message_of<UserError>([&] { pipeline.launch(out); });
  EXPECT_THAT(message, HasSubstr("kernel 'rows_sums': what its blocks keep of Funcs takes 400512 bytes of a block's "
                                 "shared memory, and the device has "));
  EXPECT_THAT(message, HasSubstr("the Func of 100063 elements at "));
  EXPECT_THAT(message, HasSubstr("cuda_scheduled_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("Split by smaller factors, or store Funcs elsewhere"));
  EXPECT_LT(message.find("100063 of f32"), message.find(" 64 of f32")) << "the largest first";
}

// A block needs a whole row: as much shared memory as the array is long, of 4 bytes each.
class CudaPipelinesOfRows : public CudaPipelines {
 protected:
  struct OutInCount {
    MatrixArgument<float> out;
    MatrixArgument<const float> in;
    std::int32_t count[2];
  };

  void SetUp() override {
    CudaPipelines::SetUp();
    if (IsSkipped()) return;
    understand<OutInCount>("mirrored_result", [](const OutInCount &a, const LaunchBox &box) {
      for (std::int64_t y = box.begin[0]; y < box.end[0]; ++y)
        for (std::int64_t x = 0; x < a.out.extent[1]; ++x)
          a.out.data[y * a.out.extent[1] + x] = a.in.data[y * a.in.extent[1] + a.out.extent[1] - 1 - x];
    });
  }

  static auto mirrored() {
    return Pipeline{"mirrored", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                      Var y{"y"}, x{"x"}, xo{"xo"}, xi{"xi"};
                      Func row{"row"}, result{"result", out};
                      row(y, x) = in(y, x);
                      result(y, x) = row(y, out.extent(1) - 1 - x);
                      schedule_cuda([&] {
                        result.split(x, xo, xi, 32).gpu_blocks(y).gpu_threads(xi);
                        row.compute_at(result, y).store_in(Memory::shared);
                      });
                    }};
  }

  Buffer<float> numbers(std::int64_t columns) const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < 2 * columns; ++i) values.push_back(static_cast<float>(i));
    return {device(), {2, columns}, values};
  }
  static void expect_mirrored(const Buffer<float> &out, const Buffer<float> &in) {
    const std::vector<float> found = out.to_vector(), given = in.to_vector();
    const auto columns = static_cast<std::size_t>(out.extents()[1]);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], given[i / columns * columns + columns - 1 - i % columns]) << "element " << i;
  }
};
SAMITE_CUDA_SUITE(CudaPipelinesOfRows);

// The fake enforces the shared memory that a kernel was allowed: 48 KiB unless it requests more.
TEST_P(CudaPipelinesOfRows, EachLaunchAsksForItsOwnSharedMemory) {
  const auto pipeline = mirrored();
  for (const std::int64_t columns : {10, 12'288, 12'289, 50'000, 100}) {
    const Buffer<float> in = numbers(columns), out{device(), {2, columns}};
    pipeline.launch(out, in);
    expect_mirrored(out, in);
  }
}

TEST_P(CudaPipelinesOfRows, RecordedLaunchesKeepTheirOwn) {
  const auto pipeline = mirrored();
  const Buffer<float> wide = numbers(50'000), narrow = numbers(20'000);
  const Buffer<float> out{device(), {2, 50'000}}, other{device(), {2, 20'000}};
  PipelineLaunch first = pipeline.record(out, wide), second = pipeline.record(other, narrow);
  second.launch();
  first.launch();
  expect_mirrored(out, wide);
  expect_mirrored(other, narrow);

  // With fewer columns, then with more again.
  const Buffer<float> edited{device(), {2, 20'000}};
  first.set("out", edited);
  first.launch();
  EXPECT_EQ(edited.to_vector()[0], 19'999);
  first.set("out", out);
  first.launch();
  expect_mirrored(out, wide);
}

TEST_P(CudaPipelinesOfRows, AreCapturedWithTheirOwn) {
  const Stream stream{device()};
  const auto pipeline = mirrored();
  const Buffer<float> in = numbers(40'000), out{device(), {2, 40'000}};
  PipelineLaunch launch = pipeline.record({.stream = stream}, out, in);
  Graph graph = capture(stream, [&] {
    launch.launch();
    pipeline.launch({.stream = stream}, out, in);
  });
  graph.launch();
  expect_mirrored(out, in);
}

TEST_P(CudaPipelinesOfRows, MoreThanTheDeviceHasIsRefusedWithThePlan) {
  const auto pipeline = mirrored();
  const Buffer<float> in{device(), {2, 100'000}}, out{device(), {2, 100'000}}, small{device(), {2, 100}};
  const std::string message = message_of<UserError>([&] { pipeline.launch(out, in); });
  EXPECT_THAT(message, HasSubstr("kernel 'mirrored_result': what its blocks keep of Funcs takes 400000 bytes of a "
                                 "block's shared memory, and the device has "));
  EXPECT_THAT(message, HasSubstr("the Func of 100000 elements at "));
  EXPECT_THAT(message, HasSubstr("cuda_scheduled_test.cpp"));

  // A recorded launch is unchanged.
  PipelineLaunch launch = pipeline.record(small, in);
  EXPECT_THAT(message_of<UserError>([&] { launch.set("out", out); }), HasSubstr("takes 400000 bytes"));
  launch.launch();
  EXPECT_EQ(small.to_vector()[0], 0);
}

}  // namespace
}  // namespace samite::test
