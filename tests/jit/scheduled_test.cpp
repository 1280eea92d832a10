// Pipelines of hand-written programs: kernels one after another, arrays between them, loops of the host.
#include "samite/jit/scheduled.h"
#include "samite/jit/definition.h"
#include "samite/jit/pipeline_definition.h"

#include "samite/samite.h"
#include "tests/jit/program_by_hand.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// func0(i) = factor * in(i);  out(i) = func0(i) + func0(i + 1)
constexpr std::string_view scale_text = R"(
kernel @scale(@to: array<f32, 1>, @from: array<const f32, 1>, @factor: f32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = load @from[%0]
  %2: f32 = mul @factor, %1
  store @to[%0] = %2
})";
constexpr std::string_view pairs_text = R"(
kernel @pairs(@to: array<f32, 1>, @from: array<const f32, 1>) threads 1 {
  %0: i32 = thread_index 0
  %1: i32 = add %0, 1
  %2: f32 = load @from[%0]
  %3: f32 = load @from[%1]
  %4: f32 = add %2, %3
  store @to[%0] = %4
})";
ByHand sums_by_hand() {
  return {.name = "sums",
          .parameters = {floats("out", 1), floats("in", 1, true), floats("factor", 0)},
          .steps = {let(0, extent_of(0, 0)), let(1, operation(ir::Op::Add, ScalarType::Int32, {local(0), number(1)})),
                    let(2, extent_of(1, 0)),
                    let(3, operation(ir::Op::GreaterEqual, ScalarType::Bool, {local(2), local(1)})),
                    require(local(3, ScalarType::Bool),
                            {{"in has ", " elements, and ", " are read"}, {local(2), local(1)}}),
                    temporary(0, ScalarType::Float32, {local(1)}),
                    launch(scale_text, {local(1)}, {own(0), given(1), given(2)}),
                    launch(pairs_text, {local(0)}, {given(0), own(0)})},
          .schedules = {"cpu", "tiled"}};
}
auto sums() { return sums_by_hand().pipeline<Array<float, 1>, Array<const float, 1>, Float>(); }

class ScheduledPipeline : public testing::Test {
 protected:
  const Device device_ = test::device();
  const Buffer<float> in{device_, {4}, {1, 2, 3, 4}};
  const Buffer<float> out{device_, {3}};
};

TEST_F(ScheduledPipeline, RunsItsKernelsOneAfterAnother) {
  sums().launch(out, in, 10.0f);
  EXPECT_THAT(out.to_vector(), ElementsAre(30, 50, 70));
}

TEST_F(ScheduledPipeline, ExtentsAreThoseOfTheArrays) {
  const auto pipeline = sums();
  const Buffer<float> shorter{device_, {1}};
  pipeline.launch(out, in, 1.0f);
  pipeline.launch(shorter, in, 1.0f);
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  EXPECT_THAT(shorter.to_vector(), ElementsAre(3));
  EXPECT_EQ(pipeline.definition()->programs().size(), 1u);
}

TEST_F(ScheduledPipeline, ARequirementThatDoesNotHoldIsItsMessage) {
  const Buffer<float> longer{device_, {4}};
  EXPECT_THAT(message_of<UserError>([&] { sums().launch(longer, in, 1.0f); }),
              AllOf(HasSubstr("blur.cpp:12: pipeline 'sums': in has 4 elements, and 5 are read"),
                    HasSubstr("\nlaunched at "), HasSubstr("scheduled_test.cpp")));
  EXPECT_THAT(message_of<UserError>([&] { sums().record(longer, in, 1.0f); }), HasSubstr("\nrecorded at "));
  EXPECT_THAT(longer.to_vector(), ElementsAre(0, 0, 0, 0));
}

TEST_F(ScheduledPipeline, LaunchesOverNothingAreLeftOut) {
  const Buffer<float> none{device_, {0}};
  const auto pipeline = sums();
  pipeline.launch(none, in, 1.0f);
  PipelineLaunch launch = pipeline.record(none, in, 1.0f);
  launch.launch();
  EXPECT_EQ(launch.kernel_launches(), 1u) << "func0 has an element";
}

TEST_F(ScheduledPipeline, AreRecordedAndEdited) {
  const auto pipeline = sums();
  PipelineLaunch launch = pipeline.record(out, in, 1.0f);
  EXPECT_THAT(out.to_vector(), ElementsAre(0, 0, 0));
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));

  launch.set("factor", 2.0f);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(6, 10, 14));

  const Buffer<float> longer{device_, {5}, {1, 1, 2, 2, 3}}, four{device_, {4}};
  launch.set("in", longer);
  launch.set(0, four);
  launch.launch();
  EXPECT_THAT(four.to_vector(), ElementsAre(4, 6, 8, 10));
  EXPECT_THAT(out.to_vector(), ElementsAre(6, 10, 14));

  EXPECT_THAT(message_of<UserError>([&] { launch.set("in", in); }), HasSubstr("in has 4 elements, and 5 are read"));
  launch.launch();
  EXPECT_THAT(four.to_vector(), ElementsAre(4, 6, 8, 10)) << "as it was";
  EXPECT_THAT(launch.to_string(), "Launch of pipeline 'sums' (" +
                                      std::string(device_.kind() == DeviceKind::cpu ? "schedule 'cpu', " : "") +
                                      "2 kernels) on " + device_.to_string());
}

TEST_F(ScheduledPipeline, CopiesOfARecordedLaunchAreIndependent) {
  PipelineLaunch launch = sums().record(out, in, 1.0f), copy = launch;
  copy.set("factor", 5.0f);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  copy.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(15, 25, 35));
  copy = launch;
  copy.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
}

TEST_F(ScheduledPipeline, RunOnTheStreamThatIsNamed) {
  const Stream stream{device_};
  sums().launch({.stream = stream}, out, in, 1.0f);
  stream.synchronize();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  PipelineLaunch launch = sums().record(out, in, 2.0f);
  launch.launch(stream);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(6, 10, 14));
}

TEST_F(ScheduledPipeline, RunInDebugMode) {
  sums().launch({.debug = true}, out, in, 1.0f);
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  PipelineLaunch launch = sums().record({.debug = true, .deterministic = true}, out, in, 2.0f);
  launch.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(6, 10, 14));
}

TEST_F(ScheduledPipeline, DebugModeFindsAnIndexOutsideOfATemporary) {
  SAMITE_ON_THE_CPU();
  ByHand wrong = sums_by_hand();
  wrong.steps[5] = temporary(0, ScalarType::Float32, {local(0)});
  const auto pipeline = wrong.pipeline<Array<float, 1>, Array<const float, 1>, Float>();
  EXPECT_THAT(message_of<UserError>([&] { pipeline.launch({.debug = true}, out, in, 1.0f); }),
              AllOf(HasSubstr("kernel 'scale'"), HasSubstr("'to'"), HasSubstr("3")));
}

// for step in 0 .. steps: func0 (of step + 1 elements) = step;  out(step) = the last element of func0 + in(step)
constexpr std::string_view fill_text = R"(
kernel @fill(@to: array<f32, 1>, @value: i32) threads 1 {
  %0: i32 = thread_index 0
  %1: f32 = cast @value
  store @to[%0] = %1
})";
constexpr std::string_view last_text = R"(
kernel @last(@out: array<f32, 1>, @in: array<const f32, 1>, @from: array<const f32, 1>, @at: i32) threads 1 {
  %0: f32 = load @from[@at]
  %1: f32 = load @in[0]
  %2: f32 = add %0, %1
  store @out[@at] = %2
})";
ByHand steps_by_hand() {
  return {.name = "steps",
          .parameters = {floats("out", 1), floats("in", 1, true), {"steps", ScalarType::Int32}},
          .steps = {loop(
              0, number(0), ir::Value::parameter(ScalarType::Int32, 2),
              {let(1, operation(ir::Op::Add, ScalarType::Int32, {local(0), number(1)})),
               temporary(0, ScalarType::Float32, {local(1)}), launch(fill_text, {local(1)}, {own(0), host(local(0))}),
               launch(last_text, {number(1)}, {given(0), given(1), own(0), host(local(0))})})}};
}

TEST_F(ScheduledPipeline, LoopsOfTheHostRunTheirKernelsAgain) {
  const auto pipeline = steps_by_hand().pipeline<Array<float, 1>, Array<const float, 1>, Int>();
  Buffer<float> each{device_, {4}};
  pipeline.launch(each, in, 3);
  EXPECT_THAT(each.to_vector(), ElementsAre(1, 2, 3, 0));

  each.copy_from({0, 0, 0, 0});
  PipelineLaunch launch = pipeline.record(each, in, 2);
  EXPECT_EQ(launch.kernel_launches(), 4u);
  launch.launch();
  EXPECT_THAT(each.to_vector(), ElementsAre(1, 2, 0, 0));
  launch.set("steps", 4);
  launch.launch();
  EXPECT_THAT(each.to_vector(), ElementsAre(1, 2, 3, 4)) << "the loop is unrolled anew";
  launch.set("steps", 0);
  EXPECT_EQ(launch.kernel_launches(), 0u);
  launch.launch();
}

TEST_F(ScheduledPipeline, LongLoopsOfTheHostAreNotUnrolled) {
  const int steps = 2500;
  const auto pipeline = steps_by_hand().pipeline<Array<float, 1>, Array<const float, 1>, Int>();
  const Buffer<float> each{device_, {steps}}, other{device_, {1}, {10}};
  PipelineLaunch launch = pipeline.record(each, in, steps);
  EXPECT_EQ(launch.kernel_launches(), 5000u);
  for (int round = 0; round < 2; ++round) {
    launch.launch();
    const std::vector<float> found = each.to_vector();
    for (int i = 0; i < steps; ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], static_cast<float>(i + 1));
  }
  launch.set("in", other);
  launch.launch();
  EXPECT_EQ(each.to_vector()[0], 10);
  EXPECT_EQ(each.to_vector()[2499], 2509);
}

// Blocks of 48 threads, which is not a multiple of a warp, add to 4 elements.
TEST_F(ScheduledPipeline, ScheduledKernelsAddAtomically) {
  constexpr std::string_view text = R"(
kernel @histogram(@to: array<i32, 1>, @from: array<const i32, 1>) blocks 1 of 48 scheduled {
  %0: i32 = thread_index 0
  %1: i32 = mul %0, 48
  %2: i32 = extent @from, 0
  for.thread %3: i32 in 0 .. 48 step 1 {
    %4: i32 = add %1, %3
    %5: bool = lt %4, %2
    if %5 {
      %6: i32 = load @from[%4]
      accumulate atomic @to[%6] += 1
    }
  }
})";
  const ir::Parameter to{"to", ScalarType::Int32, 1}, from{"from", ScalarType::Int32, 1, true};
  const auto pipeline = ByHand{.name = "histogram",
                               .parameters = {to, from},
                               .steps = {let(0, extent_of(1, 0)),
                                         let(1, operation(ir::Op::Add, ScalarType::Int32, {local(0), number(47)})),
                                         let(2, operation(ir::Op::Div, ScalarType::Int32, {local(1), number(48)})),
                                         launch(text, {local(2)}, {given(0), given(1)})}}
                            .pipeline<Array<std::int32_t, 1>, Array<const std::int32_t, 1>>();
  constexpr std::int32_t count = 1'000'003;
  std::vector<std::int32_t> values;
  for (std::int32_t i = 0; i < count; ++i) values.push_back(i % 7 % 4);
  const Buffer<std::int32_t> of{device_, {count}, values}, counts{device_, {4}};
  pipeline.launch(counts, of);
  EXPECT_THAT(counts.to_vector(), ElementsAre(285715, 285715, 285715, 142858));
  pipeline.launch({.deterministic = true}, counts, of);
  EXPECT_THAT(counts.to_vector(), ElementsAre(571430, 571430, 571430, 285716));
}

TEST_F(ScheduledPipeline, AreCapturedIntoGraphsAsTheirKernels) {
  const Stream stream{device_};
  PipelineLaunch launch = sums().record({.stream = stream}, out, in, 1.0f);
  Graph graph = capture(stream, [&] { launch.launch(); });
  EXPECT_EQ(graph.size(), 2u);
  EXPECT_THAT(out.to_vector(), ElementsAre(0, 0, 0));
  graph.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7));
  launch.set("factor", 2.0f);
  graph.launch();
  EXPECT_THAT(out.to_vector(), ElementsAre(3, 5, 7)) << "the graph has launches of its own";
}

TEST_F(ScheduledPipeline, OnATapeRunWhereNothingTracksItsGradient) {
  const auto pipeline = sums();
  const Buffer<float> weights{device_, {3}, Gradient::tracked}, total{device_, {1}, Gradient::tracked};
  const Kernel times{
      "times", {"total", "x", "w"}, [](Array<float, 1> total, Array<const float, 1> x, Array<const float, 1> w) {
        Int i = thread_index();
        atomic_add(total(0), x(i) * w(i));
      }};
  Tape tape;
  tape.record([&] {
    pipeline.launch(out, in, 1.0f);
    times.launch({3}, total, out, weights);
    pipeline.launch(out, in, 0.0f);
  });
  EXPECT_THAT(out.to_vector(), ElementsAre(0, 0, 0));
  tape.backward(total);
  EXPECT_THAT(weights.gradient().to_vector(), ElementsAre(3, 5, 7)) << "the tape has kept what was overwritten";
}

// A hand-written program has no algorithm.
TEST_F(ScheduledPipeline, GradientsAndTangentsAreRefused) {
  const auto pipeline = sums();
  const Buffer<float> tracked{device_, {4}, {1, 2, 3, 4}, Gradient::tracked};
  EXPECT_THAT(message_of<UserError>([&] { pipeline.launch({.direction = Direction::tangent}, out, tracked, 1.0f); }),
              HasSubstr("pipeline 'sums' has no tangent"));
  const Buffer<float> result{device_, {3}, Gradient::tracked};
  PipelineLaunch launch = pipeline.record(result, tracked, 1.0f);
  const Buffer<float> seed{device_, {3}};
  for (const auto &work : {std::function<void()>([&] { pipeline.launch(result, tracked, 1.0f); }),
                           std::function<void()>([&] { launch.launch(); })}) {
    Tape tape;
    EXPECT_THAT(message_of<UserError>([&] {
                  tape.record(work);
                  tape.backward({{result, seed}});
                }),
                HasSubstr("pipeline 'sums'"));
  }
}

TEST_F(ScheduledPipeline, WrongArgumentsAreRefusedByName) {
  const auto pipeline = sums();
  const Buffer<float> square{device_, {2, 2}}, empty, one{device_, {1}};
  const auto refused = [&](const Buffer<float> &y, const Buffer<float> &x) {
    return message_of<UserError>([&] { pipeline.launch(y, x, 1.0f); });
  };
  EXPECT_THAT(refused(out, square), HasSubstr("blur.cpp:3: pipeline 'sums': argument 1 ('in') expects a buffer of f32 "
                                              "with rank 1; Buffer<f32>(2, 2)"));
  EXPECT_THAT(refused(out, empty), HasSubstr("an empty buffer is given"));
  EXPECT_THAT(refused(one.broadcast({3}), in), HasSubstr("and the pipeline writes to it: clone() it first"));
  PipelineLaunch launch = pipeline.record(out, in, 1.0f);
  EXPECT_THAT(message_of<UserError>([&] { launch.set("inn", in); }),
              HasSubstr("pipeline 'sums' has no parameter named 'inn'; its parameters are out, in, factor"));
  EXPECT_THAT(message_of<UserError>([&] { launch.set(3, in); }),
              HasSubstr("pipeline 'sums' has 3 parameters; there is none of index 3"));
  EXPECT_THAT(message_of<UserError>([&] { launch.set("factor", true); }),
              HasSubstr("pipeline 'sums': argument 2 ('factor') expects a scalar of type f32; a bool is given"));
  const auto inside = [&](Array<float, 1> y) {
    y(0) = 0.0f;
    pipeline.launch(out, in, 1.0f);
  };
  EXPECT_THAT(message_of<UserError>([&] { Kernel("around", inside); }),
              HasSubstr("pipeline 'sums': it is launched inside of another kernel's function"));
}

TEST_F(ScheduledPipeline, SchedulesAreChosenByNameOrTarget) {
  ByHand by_hand = sums_by_hand();
  std::vector<std::string> asked;
  const auto with = [&](std::vector<std::string> schedules) {
    return Pipeline<void(Array<float, 1>, Array<const float, 1>, Float)>(std::make_shared<jit::PipelineDefinition>(
        "sums", by_hand.parameters, std::move(schedules),
        [&](const jit::PipelineDefinition::Target &target, const std::string &schedule) {
          EXPECT_EQ(target.device, device_.kind());
          asked.push_back(schedule);
          return by_hand.program();
        },
        SourceLocation("blur.cpp", 3)));
  };
  const auto pipeline = with({"cpu", "cuda", "tiled"});
  pipeline.launch(out, in, 1.0f);
  pipeline.launch({.schedule = "tiled"}, out, in, 1.0f);
  pipeline.launch(out, in, 1.0f);
  with({"tiled"}).launch(out, in, 1.0f);
  EXPECT_THAT(asked, ElementsAre(device_.kind() == DeviceKind::cpu ? "cpu" : "cuda", "tiled", ""));
  EXPECT_THAT(message_of<UserError>([&] { pipeline.launch({.schedule = "wide"}, out, in, 1.0f); }),
              HasSubstr("pipeline 'sums' has no schedule named 'wide'; its schedules are cpu, cuda, tiled"));
  EXPECT_THAT(message_of<UserError>([&] { with({}).record({.schedule = "wide"}, out, in, 1.0f); }),
              HasSubstr("it has none: leave PipelineOptions::schedule out"));
}

TEST_F(ScheduledPipeline, ReportTellsOfItsStepsAndKernels) {
  const auto pipeline = sums();
  EXPECT_EQ(report(pipeline).to_string(), "pipeline 'sums': nothing lowered");
  pipeline.launch(out, in, 1.0f);
  const std::string text = report(pipeline).to_string();
  const bool on_cpu = device_.kind() == DeviceKind::cpu;  // its schedule is the CPU's
  EXPECT_THAT(text, AllOf(HasSubstr(std::string(on_cpu ? "schedule 'cpu'" : "no schedule") +
                                    ":\npipeline @sums(@out: array<f32, 1>, @in: array<const f32, 1>, "
                                    "@factor: f32) {\n  %0: i32 = extent @out, 0\n"),
                          HasSubstr("  require %3, \"in has \", %2, \" elements, and \", %1, \" are read\"\n"),
                          HasSubstr("  temporary $0: f32[%1]  // func0\n"),
                          HasSubstr("  launch @scale over (%1) with ($0, @in, @factor)\n  launch @pairs"),
                          HasSubstr("kernel 'scale': 1 variant\n"), HasSubstr("kernel 'pairs': 1 variant\n")));
  EXPECT_THAT(report(pipeline).to_json(), HasSubstr(on_cpu ? "\"schedule\": \"cpu\"" : "\"schedule\": \"\""));
  EXPECT_THAT(pipeline.program(device_), HasSubstr("    kernel @scale(@to: array<f32, 1>"));
}

}  // namespace
}  // namespace samite::test
