// Reports long work: compiles, and tuning of plans.
//
//   samite: compiling 'layer' (adjoint, sm_90a) …
//   samite: compiling 'layer' (adjoint, sm_90a): 1.24 s
//
// Reports go to standard error if the environment variable SAMITE_PROGRESS is set to anything but 0, or to a sink.
// Otherwise they cost nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace samite {

// Called by the working thread, or by one that watches it; one call at a time.
using ProgressSink = std::function<void(std::string_view text)>;

// Returns the previous sink. An empty one falls back to SAMITE_PROGRESS. Thread-safe; the sink must not set another.
ProgressSink set_progress_sink(ProgressSink sink);

namespace jit {

// Whether there is a listener, and a report to it.
bool progress_is_heard();
void tell_progress(std::string_view text);

// Possibly long work: reported by name after a delay, and with its time when it ends.
class LongWork {
 public:
  explicit LongWork(std::string what, int long_from_ms = 300);
  ~LongWork();
  LongWork(const LongWork &) = delete;
  LongWork &operator=(const LongWork &) = delete;

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;  // null without a listener
};

}  // namespace jit
}  // namespace samite
