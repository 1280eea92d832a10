// Each call of the driver fails once.
#include "tests/faults/fault_sweep.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>

namespace samite::test {
namespace {

using driver::Entry;

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all = handle_scenarios();
  for (Scenario &scenario : launch_scenarios()) all.push_back(std::move(scenario));
  return all;
}

class EachDriverCall : public testing::TestWithParam<Scenario> {};

TEST_P(EachDriverCall, ThatFailsEndsTheProgramWell) { sweep_driver_calls(GetParam()); }

TEST_P(EachDriverCall, ThatFailsIsMadeAgain) {
  if (!GetParam().has_steps) GTEST_SKIP() << "the program has no steps";
  sweep_driver_calls_with_steps(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Of, EachDriverCall, testing::ValuesIn(all_scenarios()), [](const auto &info) {
  std::string name = info.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

// Those that no part of the library calls yet, and one that the fake has no answer for.
constexpr Entry never_called[] = {Entry::CtxDisablePeerAccess,
                                  Entry::CtxGetStreamPriorityRange,
                                  Entry::GetErrorName,  // of calls that have failed
                                  Entry::GetErrorString,
                                  Entry::GraphDestroyNode,
                                  Entry::GraphKernelNodeGetParams,
                                  Entry::GraphNodeGetDependencies,
                                  Entry::GraphNodeGetType,
                                  Entry::KernelGetFunction,
                                  Entry::KernelGetParamInfo,
                                  Entry::LaunchHostFunc,
                                  Entry::LibraryGetGlobal,
                                  Entry::MemGetInfo,  // when there is not enough memory
                                  Entry::MemcpyAsync,
                                  Entry::OccupancyMaxActiveBlocksPerMultiprocessor,
                                  Entry::PointerGetAttribute,
                                  Entry::StreamGetFlags,
                                  Entry::StreamGetPriority,
                                  Entry::StreamUpdateCaptureDependencies};

TEST(EachEntryPoint, IsCalledByAScenario) {
  std::vector<bool> called(driver::entry_count);
  for (const Scenario &scenario : all_scenarios())
    for (const Entry entry : entries_called(scenario)) called[static_cast<std::size_t>(entry)] = true;
  for (int i = 0; i < driver::entry_count; ++i) {
    const auto entry = static_cast<Entry>(i);
    const bool expected = std::ranges::find(never_called, entry) == std::end(never_called);
    EXPECT_EQ(called[static_cast<std::size_t>(i)], expected) << driver::info(entry).symbol;
  }
}

}  // namespace
}  // namespace samite::test
