#include "samite/runtime/event.h"

#include "samite/base/error.h"

#include <fmt/format.h>

#include <ostream>

namespace samite {

void Event::record(const Stream &stream) {
  stream.device().require_cpu("recording an event on " + stream.to_string());
  mark_ = Mark{stream.device(), std::chrono::steady_clock::now()};
}

void Event::synchronize(SourceLocation where) const {
  if (!mark_) throw UserError(where, "the event was never recorded: call record(stream) before waiting for it");
}

double Event::milliseconds_since(const Event &earlier, SourceLocation where) const {
  synchronize(where);
  earlier.synchronize(where);
  if (mark_->device != earlier.mark_->device)
    throw UserError(where, fmt::format("events measure time on one device: this one was recorded on {}, the earlier "
                                       "one on {}",
                                       mark_->device.to_string(), earlier.mark_->device.to_string()));
  return std::chrono::duration<double, std::milli>(mark_->time - earlier.mark_->time).count();
}

std::string Event::to_string() const {
  return mark_ ? "event on " + mark_->device.to_string() : std::string("event, not recorded");
}

std::ostream &operator<<(std::ostream &stream, const Event &event) { return stream << event.to_string(); }

}  // namespace samite
