// A queue of work in a context, run in the order in which it was enqueued.
//
// A handle: copies name the same queue, which is destroyed after the last; work that it still contains is completed.
// Every function may be called from any thread. Streams made here do not wait for the legacy default stream.
#pragma once

#include "samite/driver/context.h"

#include <memory>
#include <string>

namespace samite::driver {

class Event;

class Stream {
 public:
  // Lower numbers are more urgent; the driver clamps numbers outside the device's range.
  static Stream create(const Context &context, int priority = 0);

  // A stream that another owner made and keeps alive, such as a framework's current one; null is the context's legacy
  // default stream. UserError if it belongs to another context.
  static Stream borrow(const Context &context, CUstream raw);

  const Context &context() const noexcept { return context_; }
  CUstream raw() const noexcept { return raw_.get(); }
  std::string to_string() const;  // "stream 0x55d0c8 of cuda:0"

  // Waits until all enqueued work has completed. DriverError if some of it failed.
  void synchronize() const;
  // Whether all enqueued work has completed. DriverError as above.
  bool finished() const;

  // Later work waits for the mark of `event`, which may be in another context.
  void wait(const Event &event) const;

  // The record of launches on this stream, for the message of a fault.
  LaunchHistory &history() const noexcept { return *history_; }

  // True for the default streams, whose launches use the context that is current in the calling thread.
  bool needs_current_context() const noexcept { return reinterpret_cast<std::uintptr_t>(raw()) <= 2; }

  friend bool operator==(const Stream &a, const Stream &b) { return a.raw_ == b.raw_ && a.context_ == b.context_; }

 private:
  Stream(const Context &context, std::shared_ptr<CUstream_st> raw);

  Context context_;
  std::shared_ptr<CUstream_st> raw_;
  std::shared_ptr<LaunchHistory> history_;
};

}  // namespace samite::driver
