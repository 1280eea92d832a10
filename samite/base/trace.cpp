#include "samite/base/trace.h"

#include "samite/base/atomic_file.h"
#include "samite/base/error.h"
#include "samite/base/nvtx.h"
#include "samite/base/warning.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace samite {
namespace {

using TraceClock = std::chrono::steady_clock;

class TraceRecorder {
 public:
  static TraceRecorder &instance() {
    static TraceRecorder recorder;
    return recorder;
  }

  void begin(const std::filesystem::path &path) {
    end();
    try {
      write_file(path, "");  // whether it can be written is known now, not after the run
    } catch (const std::system_error &error) {
      throw UserError(std::string("the trace cannot be written: ") + error.what());
    }
    const std::lock_guard lock(mutex_);
    path_ = std::filesystem::absolute(path);
    work_.clear();
    threads_.clear();
    start_ = TraceClock::now();
    recording_ = true;
    detail::traces = true;
  }

  void end() {
    if (!is_recording()) return;
    for (void (*resolve)() noexcept : resolvers()) resolve();
    const std::lock_guard lock(mutex_);
    if (!recording_.exchange(false)) return;
    detail::traces = has_nvtx();  // spans remain ranges
    try {
      write_file_atomically(path_, text());
    } catch (const std::system_error &error) {
      throw UserError(std::string("the trace cannot be written: ") + error.what());
    }
  }

  bool is_recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  void add(TracedWork work) {
    if (!is_recording()) return;
    const std::lock_guard lock(mutex_);
    if (work.track.empty()) {
      const auto [thread, is_new] = threads_.try_emplace(std::this_thread::get_id(), threads_.size());
      work.track = fmt::format("host thread {}", thread->second);
    }
    work_.push_back(std::move(work));
  }

  void add_resolver(void (*resolve)() noexcept) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(resolvers_, resolve) == resolvers_.end()) resolvers_.push_back(resolve);
  }

  double now_us() const { return std::chrono::duration<double, std::micro>(TraceClock::now() - start_).count(); }

  std::string summary() {
    struct Sum {
      std::uint64_t calls = 0, bytes = 0;
      double us = 0, bandwidth = 0;
    };
    std::map<std::string, Sum> kernels;
    const std::lock_guard lock(mutex_);
    for (const TracedWork &work : work_) {
      if (std::string_view(work.category) != "kernel") continue;
      Sum &sum = kernels[work.name];
      ++sum.calls, sum.bytes += work.bytes, sum.us += work.end_us - work.begin_us;
      sum.bandwidth = std::max(sum.bandwidth, work.bandwidth);
    }
    std::vector<std::pair<std::string, Sum>> rows(kernels.begin(), kernels.end());
    std::ranges::stable_sort(rows, {}, [](const auto &row) { return -row.second.us; });
    std::size_t width = 6;
    for (const auto &[name, sum] : rows) width = std::max(width, name.size());
    std::string text =
        fmt::format("{:{}} {:>9} {:>12} {:>12} {:>10}\n", "kernel", width, "calls", "total ms", "mean us", "GB/s");
    for (const auto &[name, sum] : rows) {
      const double rate = sum.us > 0 ? static_cast<double>(sum.bytes) / sum.us * 1e6 : 0;
      text += fmt::format("{:{}} {:>9} {:>12.3f} {:>12.2f} {:>10.1f}", name, width, sum.calls, sum.us / 1e3,
                          sum.us / static_cast<double>(sum.calls), rate / 1e9);
      text += sum.bandwidth > 0 ? fmt::format("  {:.0f} % of the device's\n", 100 * rate / sum.bandwidth) : "\n";
    }
    return text;
  }

 private:
  TraceRecorder() = default;

  std::vector<void (*)() noexcept> resolvers() {
    const std::lock_guard lock(mutex_);
    return resolvers_;
  }

  // Threads are tracks of a process named "host"; streams are tracks of a process for each device.
  std::string text() const {
    std::map<std::string, int> tracks;
    for (const TracedWork &work : work_) tracks.try_emplace(work.track, static_cast<int>(tracks.size()));
    nlohmann::json events = nlohmann::json::array();
    const auto process_of = [](const std::string &track) {
      return track.starts_with("host ") ? std::string("host") : track.substr(0, track.find(' '));
    };
    std::map<std::string, int> processes;
    for (const auto &[track, number] : tracks) {
      const std::string process = process_of(track);
      const auto [at, is_new] = processes.try_emplace(process, static_cast<int>(processes.size()) + 1);
      if (is_new)
        events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", at->second}, {"args", {{"name", process}}}});
      events.push_back(
          {{"ph", "M"}, {"name", "thread_name"}, {"pid", at->second}, {"tid", number}, {"args", {{"name", track}}}});
    }
    for (const TracedWork &work : work_) {
      nlohmann::json event = {{"ph", "X"},
                              {"cat", work.category},
                              {"name", work.name},
                              {"pid", processes.at(process_of(work.track))},
                              {"tid", tracks.at(work.track)},
                              {"ts", work.begin_us},
                              {"dur", work.end_us - work.begin_us}};
      if (work.bytes != 0) {
        event["args"]["bytes"] = work.bytes;
        if (work.end_us > work.begin_us)
          event["args"]["GB/s"] = static_cast<double>(work.bytes) / (work.end_us - work.begin_us) / 1e3;
      }
      events.push_back(std::move(event));
    }
    return nlohmann::json({{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}})
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  std::atomic<bool> recording_ = false;
  mutable std::mutex mutex_;
  std::filesystem::path path_;
  TraceClock::time_point start_;
  std::vector<TracedWork> work_;
  std::map<std::thread::id, std::size_t> threads_;
  std::vector<void (*)() noexcept> resolvers_;
};

// Begins and ends the trace that SAMITE_TRACE requests.
class TraceOfTheEnvironment {
 public:
  TraceOfTheEnvironment() {
    if (has_nvtx()) detail::traces = true;
    const char *path = std::getenv("SAMITE_TRACE");
    if (path == nullptr || *path == '\0') return;
    try {
      TraceRecorder::instance().begin(path);
      asked_ = true;
    } catch (const std::exception &error) {
      warn(std::string("SAMITE_TRACE: ") + error.what());
    }
  }
  ~TraceOfTheEnvironment() {
    try {
      TraceRecorder::instance().end();
      if (asked_) std::fputs(TraceRecorder::instance().summary().c_str(), stderr);
    } catch (const std::exception &error) {
      std::fprintf(stderr, "samite: %s\n", error.what());
    }
  }

 private:
  bool asked_ = false;
};

const TraceOfTheEnvironment of_the_environment;

}  // namespace

void trace(const std::string &path) { TraceRecorder::instance().begin(path); }
void end_trace() { TraceRecorder::instance().end(); }
std::string trace_summary() { return TraceRecorder::instance().summary(); }
void add_to_trace(TracedWork work) { TraceRecorder::instance().add(std::move(work)); }
double trace_time_us() { return TraceRecorder::instance().now_us(); }
void at_end_of_trace(void (*resolve)() noexcept) { TraceRecorder::instance().add_resolver(resolve); }

bool only_nvtx() noexcept { return is_tracing() && !TraceRecorder::instance().is_recording(); }

void TraceSpan::begin(const char *category, std::string_view name, std::uint64_t bytes) noexcept {
  try {
    name_ = name;
    bytes_ = bytes;
    begin_us_ = trace_time_us();
    category_ = category;
    if (has_nvtx()) begin_nvtx_range(name_.c_str());
  } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
    // If there is no memory for the name, the span is not recorded.
  }
}

void TraceSpan::end() noexcept {
  try {
    if (has_nvtx()) end_nvtx_range();
    if (is_tracing()) add_to_trace({category_, std::move(name_), {}, begin_us_, trace_time_us(), bytes_});
  } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
    // As above.
  }
}

}  // namespace samite
