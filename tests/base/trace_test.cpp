// Timelines: their contents, and that their file is JSON that a viewer opens.
#include "samite/base/trace.h"

#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "tests/base/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <thread>

namespace samite {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

nlohmann::json read_trace(const std::filesystem::path &path) { return nlohmann::json::parse(read_file(path)); }

// Events of work, by name.
std::map<std::string, nlohmann::json> work_of(const nlohmann::json &trace) {
  std::map<std::string, nlohmann::json> found;
  for (const nlohmann::json &event : trace["traceEvents"])
    if (event["ph"] == "X") found[event["name"]] = event;
  return found;
}

TEST(Traces, HaveSpansOfEachThread) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "run.json";
  trace(path);
  {
    const TraceSpan outer("compile", "outer \"quoted\" \xff", 0);
    const TraceSpan inner("kernel", "inner", 4000);
  }
  std::thread([] { const TraceSpan span("kernel", "elsewhere"); }).join();
  end_trace();
  EXPECT_FALSE(is_tracing());

  const nlohmann::json all = read_trace(path);
  const auto work = work_of(all);
  ASSERT_EQ(work.size(), 3u);
  const nlohmann::json &outer = work.begin()->second.contains("args") ? work.at("inner") : work.at("elsewhere");
  EXPECT_GE(outer["dur"].get<double>(), 0);
  EXPECT_EQ(work.at("inner")["args"]["bytes"], 4000);
  EXPECT_NE(work.at("inner")["tid"], work.at("elsewhere")["tid"]);
  EXPECT_EQ(work.at("inner")["pid"], work.at("elsewhere")["pid"]);
  int names = 0;
  for (const nlohmann::json &event : all["traceEvents"]) names += event["ph"] == "M" ? 1 : 0;
  EXPECT_EQ(names, 3) << "the host, and its two threads";
}

TEST(Traces, HoldNothingOfWhatIsOutsideOfThem) {
  const test::TemporaryFolder folder;
  {
    const TraceSpan before("kernel", "before");
  }
  trace(folder.path() / "run.json");
  {
    const TraceSpan cut("kernel", "ends after the trace");
    end_trace();
  }
  end_trace();
  EXPECT_TRUE(work_of(read_trace(folder.path() / "run.json")).empty());
}

TEST(Traces, BeginAnew) {
  const test::TemporaryFolder folder;
  trace(folder.path() / "first.json");
  {
    const TraceSpan span("kernel", "first");
  }
  trace(folder.path() / "second.json");
  {
    const TraceSpan span("kernel", "second");
  }
  end_trace();
  EXPECT_TRUE(work_of(read_trace(folder.path() / "first.json")).contains("first"));
  const auto work = work_of(read_trace(folder.path() / "second.json"));
  EXPECT_TRUE(work.contains("second"));
  EXPECT_EQ(work.size(), 1u);
}

TEST(Traces, HaveASummaryOfTheirKernels) {
  const test::TemporaryFolder folder;
  trace(folder.path() / "run.json");
  add_to_trace({"kernel", "slow (forward) on cuda:0", "cuda:0 stream 1", 100, 300, 1'000'000, 1e10});
  add_to_trace({"kernel", "slow (forward) on cuda:0", "cuda:0 stream 1", 400, 600, 1'000'000, 1e10});
  add_to_trace({"kernel", "fast (forward) on cpu", {}, 0, 10, 0, 0});
  add_to_trace({"compile", "slow", {}, 0, 5000});
  // 2 MB in 400 us are 5 GB/s, half of 10.
  EXPECT_THAT(trace_summary(),
              ContainsRegex("slow .forward. on cuda:0 +2 +0.400 +200.00 +5.0  50 % of the device's\nfast .forward. on "
                            "cpu +1 +0.010 +10.00 +0.0\n"));
  EXPECT_THAT(trace_summary(), testing::Not(HasSubstr("5.000")));
  end_trace();
  const auto work = work_of(read_trace(folder.path() / "run.json"));
  EXPECT_NEAR(work.at("slow (forward) on cuda:0")["args"]["GB/s"].get<double>(), 5, 1e-9);
}

TEST(Traces, ThatCannotBeWrittenAreRefusedAtOnce) {
  EXPECT_THROW(trace("/nowhere/run.json"), UserError);
  EXPECT_FALSE(is_tracing());
}

}  // namespace
}  // namespace samite
