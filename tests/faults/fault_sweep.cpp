#include "tests/faults/fault_sweep.h"

#include "samite/base/error.h"
#include "samite/runtime/cuda_device.h"
#include "tests/faults/failing_allocation.h"
#include "tests/toolchain/heard_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <optional>
#include <set>

namespace samite::test {
namespace {

using driver::Entry;
using driver::Result;
using driver::ResultKind;

constexpr Result faults[] = {Result::illegal_address, Result::launch_failed, Result::ecc_uncorrectable};

// More would not help.
constexpr int most_failures = 40;

int failures_so_far() { return testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count(); }

// Calls that release something, most of them in destructors: a failure there can only be a warning.
bool gives_back(Entry entry) {
  switch (entry) {
    case Entry::LibraryUnload:
    case Entry::StreamDestroy:
    case Entry::EventDestroy:
    case Entry::MemPoolDestroy:
    case Entry::MemFreeAsync:
    case Entry::MemFreeHost:
    case Entry::GraphDestroy:
    case Entry::GraphDestroyNode:
    case Entry::GraphExecDestroy:
    case Entry::DevicePrimaryCtxRelease: return true;
    default: return false;
  }
}

// A fault that is met without one leaves nothing behind.
bool needs_context(Entry entry) { return entry != Entry::Init && entry != Entry::DevicePrimaryCtxRetain; }

// Calls that make the context current for another call, whose error then says so.
bool switches_context(Entry entry) {
  return entry == Entry::CtxGetCurrent || entry == Entry::CtxPushCurrent || entry == Entry::CtxPopCurrent;
}

Entry entry_named(const std::string &symbol) {
  for (int i = 0; i < driver::entry_count; ++i)
    if (symbol == driver::info(static_cast<Entry>(i)).symbol) return static_cast<Entry>(i);
  throw InternalError("the fake called " + symbol);
}

// The error in an outcome after call number `number` failed; empty if there is none.
std::string judged(const Outcome &outcome, Entry entry, Result code) {
  const std::string symbol = driver::info(entry).symbol;
  if (!outcome.of_samite) return "an error of another kind";
  if (gives_back(entry)) {
    // The exception then belongs to a later call, which a fault also affects.
    if (outcome.threw && outcome.code != code) return "what cannot be given back is no error";
    if (!outcome.threw && code != Result::deinitialized && outcome.warnings.empty()) return "no warning";
    return "";
  }
  if (!outcome.threw) return "";
  if (outcome.code && *outcome.code != code) return "an error of another code";
  // The library reports this one as a UserError, without a code.
  if (code == Result::graph_exec_update_failure) return outcome.code ? "no UserError" : "";
  if (!switches_context(entry) && outcome.message.find(symbol) == outcome.message.npos)
    return "the error does not name the call";
  if (outcome.code && outcome.message.find(name_of(code)) == outcome.message.npos)
    return "the error does not have the driver's words";
  return "";
}

// Calls for which the library knows the user's line.
bool knows_line(Entry entry) {
  switch (entry) {
    case Entry::LaunchKernelEx:
    case Entry::GraphLaunch:
    case Entry::MemHostAlloc:
    case Entry::MemcpyHtoDAsync:
    case Entry::MemcpyDtoHAsync:
    case Entry::MemsetD8Async:
    case Entry::MemsetD32Async: return true;
    default: return false;
  }
}

// The call of this number fails; then the same program runs again.
void fail_one(const Scenario &scenario, std::size_t number, Entry entry, Result code) {
  const bool stays = driver::kind_of(code) != ResultKind::call && needs_context(entry);
  driver::fake::FakeDriver fake(scenario.machine);
  fake.forget_calls();
  fake.fail_call(number, code);
  const Outcome first = attempt(scenario, fake);
  EXPECT_GE(first.calls.size(), number) << "the call was not reached";
  EXPECT_EQ(judged(first, entry, code), "") << first.text();
  if (scenario.names_lines && knows_line(entry) && first.threw) {
    EXPECT_NE(first.message.find("/faults/"), first.message.npos) << first.message;
  }
  for (const std::string &mistake : fake.take_mistakes()) ADD_FAILURE() << mistake << '\n' << first.text();
  for (const std::string &leak : fake.alive()) ADD_FAILURE() << "left behind: " << leak << '\n' << first.text();

  fake.forget_calls();
  const Outcome second = attempt(scenario, fake);
  if (!stays) {
    EXPECT_FALSE(second.threw) << "the next run fails, too: " << second.message;
  } else if (second.threw) {
    EXPECT_EQ(second.code, code) << second.text();
  }
  EXPECT_TRUE(!stays || !first.threw || second.threw) << "the fault is forgotten";
}

// The call of this number fails, and the step that it ends is tried again.
void fail_one_step(const Scenario &scenario, std::size_t number, Result code) {
  driver::fake::FakeDriver fake(scenario.machine);
  fake.forget_calls();
  fake.fail_call(number, code);
  const Outcome outcome = attempt(scenario, fake, true);
  EXPECT_FALSE(outcome.threw) << "the step fails again: " << outcome.text();
  for (const std::string &mistake : fake.take_mistakes()) ADD_FAILURE() << mistake << '\n' << outcome.text();
}

std::string codes_text(const std::map<std::string, int> &counts) {
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto &[name, count] : counts) sorted.emplace_back(count, name);
  std::ranges::sort(sorted, std::greater{});
  std::string text;
  for (const auto &[count, name] : sorted) text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", count, name);
  return text;
}

std::vector<Entry> calls_of(const Scenario &scenario) {
  driver::fake::FakeDriver fake(scenario.machine);
  fake.forget_calls();
  const Outcome outcome = attempt(scenario, fake);
  EXPECT_FALSE(outcome.threw) << scenario.name << ": " << outcome.message;
  EXPECT_TRUE(outcome.warnings.empty()) << outcome.text();
  std::vector<Entry> entries;
  for (const std::string &call : outcome.calls) entries.push_back(entry_named(call));
  return entries;
}

}  // namespace

std::vector<Result> errors_of(Entry entry) {
  std::vector<Result> errors;
  const auto add = [&](std::initializer_list<Result> more) { errors.insert(errors.end(), more); };
  switch (entry) {
    // Before there is a context.
    case Entry::Init:
      return {Result::no_device,
              Result::system_driver_mismatch,
              Result::system_not_ready,
              Result::not_supported,
              Result::device_unavailable,
              Result::operating_system,
              Result::compat_not_supported,
              Result::unknown};
    case Entry::DriverGetVersion: return {Result::invalid_value, Result::unknown};
    case Entry::GetErrorName:
    case Entry::GetErrorString: return {Result::invalid_value};
    case Entry::DeviceGetCount: return {Result::not_initialized, Result::deinitialized, Result::unknown};
    case Entry::DeviceGet:
    case Entry::DeviceGetName:
    case Entry::DeviceGetAttribute:
    case Entry::DeviceTotalMem:
    case Entry::DeviceGetUuid:
    case Entry::DeviceGetPCIBusId:
    case Entry::DeviceCanAccessPeer: return {Result::not_initialized, Result::invalid_device, Result::unknown};
    case Entry::DevicePrimaryCtxRetain:
      return {Result::out_of_memory, Result::invalid_device, Result::device_unavailable, Result::unknown};
    case Entry::DevicePrimaryCtxRelease: return {Result::invalid_device, Result::deinitialized, Result::unknown};
    case Entry::CtxGetCurrent:
    case Entry::CtxPushCurrent:
    case Entry::CtxPopCurrent: return {Result::invalid_context, Result::deinitialized, Result::unknown};
    default: break;
  }
  switch (entry) {
    case Entry::LibraryLoadData:
      add({Result::out_of_memory, Result::invalid_image, Result::no_binary_for_gpu, Result::invalid_ptx,
           Result::unsupported_ptx_version, Result::operating_system});
      break;
    case Entry::LibraryGetModule: add({Result::out_of_memory, Result::no_binary_for_gpu, Result::invalid_ptx}); break;
    case Entry::LibraryGetKernel:
    case Entry::LibraryGetGlobal: add({Result::not_found, Result::invalid_handle}); break;
    case Entry::LaunchKernelEx:
      add({Result::launch_out_of_resources, Result::out_of_memory, Result::invalid_value, Result::invalid_image,
           Result::cooperative_launch_too_large, Result::not_permitted, Result::launch_timeout});
      break;
    case Entry::OccupancyMaxActiveClusters: add({Result::invalid_value, Result::unknown}); break;
    case Entry::StreamQuery:
    case Entry::EventQuery: add({Result::invalid_handle}); break;
    case Entry::StreamBeginCapture:
    case Entry::StreamBeginCaptureToGraph:
      add({Result::stream_capture_unsupported, Result::illegal_state, Result::out_of_memory});
      break;
    case Entry::StreamEndCapture:
      add({Result::stream_capture_invalidated, Result::stream_capture_unjoined, Result::stream_capture_wrong_thread,
           Result::out_of_memory});
      break;
    case Entry::StreamGetCaptureInfo: add({Result::invalid_value, Result::unknown}); break;
    case Entry::MemAllocFromPoolAsync:
    case Entry::MemHostAlloc:
    case Entry::MemPoolCreate: add({Result::out_of_memory, Result::invalid_value, Result::not_supported}); break;
    case Entry::GraphExecUpdate: add({Result::graph_exec_update_failure, Result::invalid_value}); break;
    case Entry::GraphAddNode:
    case Entry::GraphConditionalHandleCreate: add({Result::not_supported, Result::invalid_value}); break;
    case Entry::TensorMapEncodeTiled:
    case Entry::TensorMapEncodeIm2col:
    case Entry::TensorMapEncodeIm2colWide:
    case Entry::TensorMapReplaceAddress: return {Result::invalid_value, Result::unknown};
    default: add({Result::invalid_value, Result::out_of_memory, Result::not_permitted, Result::unknown}); break;
  }
  errors.insert(errors.end(), std::begin(faults), std::end(faults));
  return errors;
}

FaultCount &FaultCount::instance() {
  static FaultCount count;
  return count;
}

void FaultCount::add(const std::string &call, int count) { counts_[call] += count; }

std::string FaultCount::to_string() const {
  int all = 0;
  for (const auto &[name, count] : counts_) all += count;
  return fmt::format("{} calls failed: {}", all, codes_text(counts_));
}

bool sweeps_in_full() {
  const char *text = std::getenv("SAMITE_FAULT_SWEEP");
  return text != nullptr && std::string(text) == "full";
}

std::string Outcome::text() const {
  std::string all = threw ? "thrown: " + message : "nothing thrown";
  for (const std::string &warning : warnings) all += "\nwarned: " + warning;
  return all;
}

Outcome attempt(const Scenario &scenario, driver::fake::FakeDriver &fake, bool again) {
  Outcome outcome;
  {
    const HeardWarnings heard;
    try {
      scenario.run(fake, Steps(again));
    } catch (const driver::DriverError &error) {
      outcome.threw = true, outcome.code = error.code(), outcome.message = error.what();
    } catch (const Error &error) {
      outcome.threw = true, outcome.message = error.what();
      outcome.of_samite = dynamic_cast<const InternalError *>(&error) == nullptr;
    } catch (const std::exception &error) {
      outcome.threw = true, outcome.of_samite = false, outcome.message = error.what();
      outcome.out_of_memory = dynamic_cast<const std::bad_alloc *>(&error) != nullptr;
    }
    CudaDevice::forget_all();
    driver::Driver::provide(nullptr);
    outcome.warnings = heard.texts();
  }
  outcome.calls = fake.calls();
  return outcome;
}

void expect_no_leak(const std::function<void()> &action) {
  std::int64_t left = 0;
  // Vectors of the process that grow are left by some runs and not by others.
  for (int run = 0; run < 4; ++run) {
    const std::int64_t before = live_allocations();
    action();
    left = live_allocations() - before;
    if (left <= 0 || testing::Test::HasFailure()) return;
  }
  ADD_FAILURE() << left << " allocations are left behind each time";
}

void sweep_driver_calls(const Scenario &scenario) {
  const std::vector<Entry> calls = calls_of(scenario);
  for (std::size_t i = 0; i < calls.size() && failures_so_far() < most_failures; ++i) {
    std::vector<Result> errors = errors_of(calls[i]);
    if (!sweeps_in_full()) {
      const auto of_call =
          std::ranges::stable_partition(errors, [](Result code) { return driver::kind_of(code) == ResultKind::call; });
      const auto calls_own = static_cast<std::size_t>(of_call.begin() - errors.begin());
      std::vector<Result> chosen;
      if (calls_own != 0) chosen.push_back(errors[i % calls_own]);
      if (!of_call.empty()) chosen.push_back(of_call[i % of_call.size()]);
      errors = chosen;
    }
    for (const Result code : errors) {
      SCOPED_TRACE(fmt::format("{}: call {} of {}, {}, fails with {}", scenario.name, i + 1, calls.size(),
                               driver::info(calls[i]).symbol, name_of(code)));
      expect_no_leak([&] { fail_one(scenario, i + 1, calls[i], code); });
      FaultCount::instance().add(driver::info(calls[i]).symbol);
    }
  }
}

void sweep_driver_calls_with_steps(const Scenario &scenario) {
  const std::vector<Entry> calls = calls_of(scenario);
  for (std::size_t i = 0; i < calls.size() && failures_so_far() < most_failures; ++i) {
    std::vector<Result> errors = errors_of(calls[i]);
    std::erase_if(errors, [](Result code) { return driver::kind_of(code) != ResultKind::call; });
    if (!sweeps_in_full() && !errors.empty()) errors = {errors[i % errors.size()]};
    for (const Result code : errors) {
      SCOPED_TRACE(fmt::format("{}, by steps: call {} of {}, {}, fails with {}", scenario.name, i + 1, calls.size(),
                               driver::info(calls[i]).symbol, name_of(code)));
      expect_no_leak([&] { fail_one_step(scenario, i + 1, code); });
      FaultCount::instance().add(driver::info(calls[i]).symbol);
    }
  }
}

std::vector<Entry> entries_called(const Scenario &scenario) {
  std::vector<Entry> calls = calls_of(scenario);
  std::ranges::sort(calls);
  calls.erase(std::ranges::unique(calls).begin(), calls.end());
  return calls;
}

}  // namespace samite::test
