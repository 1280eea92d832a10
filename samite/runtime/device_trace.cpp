#include "samite/runtime/device_trace.h"

#include "samite/base/nvtx.h"
#include "samite/driver/device_info.h"
#include "samite/driver/event.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace samite {
namespace {

struct PendingSpan {
  driver::Event begin, end;
  driver::Stream stream;
  const char *category;
  std::string name;
  std::uint64_t bytes;
  bool has_ended = false;
};

// A device's time relative to the host's.
struct TraceOrigin {
  driver::Event event;
  double host_us = 0, bandwidth = 0;
};

class DeviceTrace {
 public:
  // It is never destroyed: streams may be traced until the end. atexit() resolves pending work, while the driver's
  // state still exists.
  static DeviceTrace &instance() {
    static auto *const trace = [] {
      auto *made = new DeviceTrace;
      at_end_of_trace(resolve_all);
      std::atexit([] { resolve_all(); });
      return made;
    }();
    return *trace;
  }

  std::shared_ptr<PendingSpan> begin(const CudaStream &stream, const char *category, std::string name,
                                     std::uint64_t bytes) {
    const driver::Context &context = stream.stream().context();
    const std::lock_guard lock(mutex_);
    if (!origins_.contains(context.device())) {
      TraceOrigin origin{driver::Event::create(context, driver::Timing::on)};
      origin.event.record(stream.stream());
      origin.event.synchronize();
      origin.host_us = trace_time_us();
      origin.bandwidth = driver::device_info(context.driver(), context.device()).memory_bandwidth;
      origins_.emplace(context.device(), std::move(origin));
    }
    auto span = std::make_shared<PendingSpan>(PendingSpan{driver::Event::create(context, driver::Timing::on),
                                                          driver::Event::create(context, driver::Timing::on),
                                                          stream.stream(), category, std::move(name), bytes});
    pending_.push_back(span);
    span->begin.record(stream.stream());
    return span;
  }

 private:
  static void resolve_all() noexcept { instance().resolve(); }

  void resolve() noexcept {
    const std::lock_guard lock(mutex_);
    for (const auto &span : pending_) {
      try {
        if (!span->has_ended) continue;
        span->end.synchronize();
        const int device = span->stream.context().device();
        const TraceOrigin &origin = origins_.at(device);
        const auto time = [&](const driver::Event &event) {
          return origin.host_us + 1e3 * static_cast<double>(event.milliseconds_since(origin.event));
        };
        add_to_trace({span->category, span->name,
                      fmt::format("cuda:{} stream {}", device, static_cast<const void *>(span->stream.raw())),
                      time(span->begin), time(span->end), span->bytes, origin.bandwidth});
      } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
        // The device is lost, which an error has already reported.
      }
    }
    pending_.clear();
    origins_.clear();
  }

  std::mutex mutex_;
  std::map<int, TraceOrigin> origins_;  // by device
  std::vector<std::shared_ptr<PendingSpan>> pending_;
};

}  // namespace

DeviceSpan::DeviceSpan(const CudaStream &stream, const char *category, std::string name, std::uint64_t bytes) noexcept {
  try {
    if (is_tracing() && !only_nvtx() && !stream.capturing())
      pending_ = DeviceTrace::instance().begin(stream, category, std::move(name), bytes);
  } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
    // Left out.
  }
}

DeviceSpan::~DeviceSpan() {
  if (!pending_) return;
  try {
    auto &span = *static_cast<PendingSpan *>(pending_.get());
    span.end.record(span.stream);
    span.has_ended = true;
  } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
    // Left out.
  }
}

}  // namespace samite
