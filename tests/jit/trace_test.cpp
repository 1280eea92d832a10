// A trace's information about launches, on the CPU and on a device.
#include "samite/base/trace.h"

#include "samite/base/atomic_file.h"
#include "tests/base/temporary_folder.h"
#include "tests/jit/cuda_kernels.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace samite::test {
namespace {

class TracedLaunches : public CudaKernelTest {
 protected:
  // Names of work of a category on tracks of a process: "host" or "cuda:0".
  std::vector<std::string> names(const std::string &category, const std::string &process) const {
    std::map<int, std::string> processes;
    for (const auto &event : trace_["traceEvents"])
      if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    std::vector<std::string> found;
    for (const auto &event : trace_["traceEvents"])
      if (event["ph"] == "X" && event["cat"] == category && processes.at(event["pid"]) == process)
        found.push_back(event["name"]);
    return found;
  }
  nlohmann::json event(const std::string &category, const std::string &name) const {
    for (const auto &event : trace_["traceEvents"])
      if (event["ph"] == "X" && event["cat"] == category && event["name"] == name) return event;
    ADD_FAILURE() << "no " << category << " named " << name;
    return {};
  }
  void run_traced(const std::function<void()> &work) {
    trace(folder_.path() / "run.json");
    work();
    end_trace();
    trace_ = nlohmann::json::parse(read_file(folder_.path() / "run.json"));
  }

  TemporaryFolder folder_;
  nlohmann::json trace_;
};
SAMITE_CUDA_SUITE(TracedLaunches);

TEST_P(TracedLaunches, AreOnTheTracksOfTheirStreams) {
  understand<ScaleArguments>("traced_scale", run_scale);
  const Kernel scale{
      "traced_scale", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
        out(thread_index()) = factor * in(thread_index());
      }};
  Buffer<float> x{device(), {1000}}, y{device(), {1000}};
  const Stream stream{device()};
  Launch recorded = scale.record({1000}, {.stream = stream}, y, x, 2.0f);
  run_traced([&] {
    scale.launch({1000}, y, x, 2.0f);
    recorded.launch();
    Graph graph = capture(stream, [&] { recorded.launch(); });
    graph.launch();
    y.fill(1);
  });
  const std::string name = "traced_scale (forward) on cuda:0";
  EXPECT_EQ(names("kernel", "cuda:0"), (std::vector<std::string>{name, name}));
  EXPECT_EQ(names("launch", "host"), (std::vector<std::string>{name, name, name}));
  EXPECT_EQ(names("graph", "cuda:0"), std::vector<std::string>{"graph"});
  EXPECT_EQ(names("graph", "host"), std::vector<std::string>{"graph launch"});
  EXPECT_EQ(names("buffer", "host"), std::vector<std::string>{"fill on cuda:0"});
  EXPECT_EQ(event("kernel", name)["args"]["bytes"], 8000);
  EXPECT_GE(event("kernel", name)["dur"].get<double>(), 0);
}

TEST_P(TracedLaunches, OnTheCpuAreOnTheTrackOfTheirThread) {
  if (!fake()) GTEST_SKIP() << "a machine with a GPU may have no compiler for the CPU";
  run_traced([] {
    const Kernel square{"traced_square", {"y", "x"}, [](Array<double, 2> y, Array<const double, 2> x) {
                          auto [i, j] = thread_index<2>();
                          y(i, j) = x(i, j) * x(i, j);
                        }};
    Buffer<double> x{Device::cpu(), {3, 5}, Gradient::tracked}, y{Device::cpu(), {3, 5}, Gradient::tracked};
    Tape tape;
    tape.record([&] { square.launch({3, 5}, y, x); });
    tape.backward({{y, Buffer<double>{Device::cpu(), {3, 5}}}});
  });
  const std::vector<std::string> kernels = names("kernel", "host");
  EXPECT_EQ(kernels, (std::vector<std::string>{"traced_square (forward) on cpu", "traced_square (adjoint) on cpu"}));
  EXPECT_EQ(event("kernel", kernels[0])["args"]["bytes"], 240);
  EXPECT_EQ(names("capture", "host"), std::vector<std::string>{"capture traced_square"});
  EXPECT_EQ(names("compile", "host").size(), 2u);
  const auto tape = names("tape", "host");
  EXPECT_TRUE(std::ranges::count(tape, "tape record") == 1 && std::ranges::count(tape, "tape backward") == 1);
  EXPECT_THAT(trace_summary(), testing::HasSubstr("traced_square (adjoint) on cpu"));
}

}  // namespace
}  // namespace samite::test
