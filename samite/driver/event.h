// A mark in a stream: reached when all that was put into the stream before it has completed.
//
// A handle: copies name the same mark, which is destroyed after the last. Every function may be called from any thread.
#pragma once

#include "samite/driver/stream.h"

#include <memory>

namespace samite::driver {

enum class Timing { off, on };  // an event without timing costs less to record and to wait for

class Event {
 public:
  static Event create(const Context &context, Timing timing = Timing::off);

  const Context &context() const noexcept { return context_; }
  CUevent raw() const noexcept { return raw_.get(); }

  // Marks what is in `stream` now; replaces an earlier mark. UserError where the stream is of another context.
  void record(const Stream &stream) const;

  // Returns when the mark is reached; at once where nothing was marked.
  void synchronize() const;
  bool reached() const;

  // Between two marks that were both reached. UserError where either event has no timing.
  float milliseconds_since(const Event &earlier) const;

  friend bool operator==(const Event &a, const Event &b) { return a.raw_ == b.raw_; }

 private:
  Event(const Context &context, std::shared_ptr<CUevent_st> raw, Timing timing);

  Context context_;
  std::shared_ptr<CUevent_st> raw_;
  Timing timing_;
};

}  // namespace samite::driver
