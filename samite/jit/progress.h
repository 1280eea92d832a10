// Words on what takes long: compiles, and choices of plans by measurement.
//
//   samite: compiling 'layer' (adjoint, sm_90a) …
//   samite: compiling 'layer' (adjoint, sm_90a): 1.24 s
//
// They go to standard error where the environment variable SAMITE_PROGRESS is set to anything but 0, or to a sink.
// Where nobody listens they cost nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace samite {

// Called by the thread that works, or by one that watches it; one call at a time.
using ProgressSink = std::function<void(std::string_view text)>;

// Returns the sink that was set before. An empty one leaves it to SAMITE_PROGRESS. Thread-safe; the sink must not set
// another.
ProgressSink set_progress_sink(ProgressSink sink);

namespace jit {

// Whether anybody listens, and what they are told.
bool progress_is_heard();
void tell_progress(std::string_view text);

// Work that may take long: once it has taken so much it is named, and its time when it ends.
class LongWork {
 public:
  explicit LongWork(std::string what, std::chrono::milliseconds long_from = std::chrono::milliseconds(300));
  ~LongWork();
  LongWork(const LongWork &) = delete;
  LongWork &operator=(const LongWork &) = delete;

 private:
  struct Watch;
  std::unique_ptr<Watch> watch_;  // null where nobody listens
};

}  // namespace jit
}  // namespace samite
