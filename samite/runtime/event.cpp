#include "samite/runtime/event.h"

#include "samite/base/error.h"
#include "samite/driver/event.h"
#include "samite/runtime/cuda_stream.h"

#include <fmt/format.h>

#include <chrono>
#include <ostream>

namespace samite {

void Event::record(const Stream &stream) {
  if (const CudaStream *cuda = stream.cuda()) {
    const driver::Stream &queue = cuda->stream();
    auto event = mark_ && mark_->device == stream.device() ? mark_->cuda : nullptr;
    if (!event) event = std::make_shared<driver::Event>(driver::Event::create(queue.context(), driver::Timing::on));
    event->record(queue);
    mark_ = Mark{stream.device(), 0, event};
  } else {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    mark_ = Mark{stream.device(), std::chrono::duration<double, std::milli>(now).count(), nullptr};
  }
}

void Event::synchronize(SourceLocation where) const {
  if (!mark_) throw UserError(where, "the event was never recorded: call record(stream) before waiting for it");
  if (mark_->cuda) mark_->cuda->synchronize();
}

bool Event::reached(SourceLocation where) const {
  if (!mark_) throw UserError(where, "the event was never recorded: call record(stream) before asking for it");
  return !mark_->cuda || mark_->cuda->reached();
}

void Event::make_wait(const Stream &stream) const {
  if (!mark_ || !mark_->cuda) return;
  if (stream.cuda())
    stream.cuda()->stream().wait(*mark_->cuda);
  else
    mark_->cuda->synchronize();
}

double Event::milliseconds_since(const Event &earlier, SourceLocation where) const {
  synchronize(where);
  earlier.synchronize(where);
  if (mark_->device != earlier.mark_->device)
    throw UserError(where, fmt::format("events measure time on one device: this one was recorded on {}, the earlier "
                                       "one on {}",
                                       mark_->device.to_string(), earlier.mark_->device.to_string()));
  if (mark_->cuda) return mark_->cuda->milliseconds_since(*earlier.mark_->cuda);
  return mark_->milliseconds - earlier.mark_->milliseconds;
}

std::string Event::to_string() const {
  return mark_ ? "event on " + mark_->device.to_string() : std::string("event, not recorded");
}

std::ostream &operator<<(std::ostream &stream, const Event &event) { return stream << event.to_string(); }

}  // namespace samite
