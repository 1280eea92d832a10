// A timeline of a run: captures, compiles, cache reads, launches, copies, graphs and tapes, on the host and on devices.
//
//   trace("run.json");       // or SAMITE_TRACE=run.json in the environment
//   simulate();
//   end_trace();             // writes the file; the end of the process does so, too
//
// The file has Chrome's trace format, which ui.perfetto.dev and chrome://tracing open. Each thread is a track, and so
// is each stream of a CUDA device, whose times are those of events around the work. trace_summary() is a table of the
// kernels: calls, time and bytes. With SAMITE_TRACE it is printed to standard error at the end.
//
// A traced launch on CUDA records two events, so small kernels take longer. Without a trace a launch loads one flag.
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace samite {

// Begins a trace; a running one is ended first. UserError if the file cannot be written, from here or from end_trace().
void trace(const std::string &path);

// Waits for traced work on devices and writes the file. Does nothing without a trace.
void end_trace();

// A line for each kernel of the current or last trace: "kernel (direction) on device", calls, total and mean time, the
// bytes of its arrays over time, and that rate next to the device's bandwidth if known.
std::string trace_summary();

// For the library.

namespace detail {
inline constinit std::atomic<bool> traces{false};
}
inline bool is_tracing() noexcept { return detail::traces.load(std::memory_order_relaxed); }

struct TracedWork {
  const char *category;  // "kernel", "compile"
  std::string name;
  std::string track = {};           // a device's stream; empty: the thread that adds it
  double begin_us = 0, end_us = 0;  // since the trace began
  std::uint64_t bytes = 0;          // bytes read and written; 0: unknown
  double bandwidth = 0;             // of its device's memory, in bytes a second; 0: unknown
};
void add_to_trace(TracedWork work);

double trace_time_us();  // since the trace began

// `resolve` is called when a trace ends, before the file is written, and adds work whose times are known only then.
// Each caller may add one; it must not throw.
void at_end_of_trace(void (*resolve)() noexcept);

// Work of this thread between its construction and its destruction, if a trace runs.
class TraceSpan {
 public:
  TraceSpan(const char *category, std::string_view name, std::uint64_t bytes = 0) {
    if (is_tracing()) begin(category, name, bytes);
  }
  TraceSpan(const TraceSpan &) = delete;
  TraceSpan &operator=(const TraceSpan &) = delete;
  ~TraceSpan() {
    if (category_) end();
  }

 private:
  void begin(const char *category, std::string_view name, std::uint64_t bytes) noexcept;
  void end() noexcept;

  const char *category_ = nullptr;  // null without a trace
  std::string name_;
  double begin_us_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace samite
