// A mark in a stream: reached when all work that was enqueued before it has completed.
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

  // Marks the present end of `stream`; replaces an earlier mark. UserError if the stream belongs to another context.
  void record(const Stream &stream) const;

  // Waits until the mark is reached; returns at once if nothing was marked.
  void synchronize() const;
  bool reached() const;

  // The time between two marks that were both reached. UserError if either event has no timing.
  float milliseconds_since(const Event &earlier) const;

  friend bool operator==(const Event &a, const Event &b) { return a.raw_ == b.raw_; }

 private:
  Event(const Context &context, std::shared_ptr<CUevent_st> raw, Timing timing);

  Context context_;
  std::shared_ptr<CUevent_st> raw_;
  Timing timing_;
};

}  // namespace samite::driver
