// A mark in a stream: reached when all earlier work in the stream has completed.
//
// Two marks of one device measure the time between them, on that device's own clock. On the CPU a mark is reached
// immediately and has the time of a steady clock. Recording a mark again replaces it. One thread uses an Event at a
// time.
#pragma once

#include "samite/base/source_location.h"
#include "samite/runtime/stream.h"

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

namespace samite {

namespace driver {
class Event;
}

class Event {
 public:
  Event() = default;
  Event(const Event &) = default;
  Event &operator=(const Event &) = default;
  ~Event() = default;

  void record(const Stream &stream);
  bool recorded() const noexcept { return mark_.has_value(); }

  // Returns when the mark has been reached. UserError if the event was never recorded.
  void synchronize(SourceLocation where = std::source_location::current()) const;
  // Whether it has been reached. UserError as above.
  bool reached(SourceLocation where = std::source_location::current()) const;

  // From `earlier` to this mark, after waiting for both; negative if they were recorded in the other order. UserError
  // if either was never recorded or they are marks of different devices.
  double milliseconds_since(const Event &earlier, SourceLocation where = std::source_location::current()) const;

  std::string to_string() const;  // "event on cpu", "event, not recorded"

 private:
  friend class Stream;
  void make_wait(const Stream &stream) const;

  struct Mark {
    Device device;
    double milliseconds;                        // on the CPU, by its steady clock
    std::shared_ptr<const driver::Event> cuda;  // null on the CPU
  };
  std::optional<Mark> mark_;
};

std::ostream &operator<<(std::ostream &stream, const Event &event);

}  // namespace samite
