#include "samite/driver/event.h"

#include "samite/driver/owned.h"

#include <fmt/format.h>

#include <utility>

namespace samite::driver {

Event::Event(const Context &context, std::shared_ptr<CUevent_st> raw, Timing timing)
    : context_(context), raw_(std::move(raw)), timing_(timing) {}

Event Event::create(const Context &context, Timing timing) {
  CUevent raw = nullptr;
  context.call<Entry::EventCreate>(&raw, timing == Timing::on ? 0u : event_disable_timing);
  return {context, own<Entry::EventDestroy>(context, raw), timing};
}

void Event::record(const Stream &stream) const {
  if (stream.context() != context_)
    throw UserError(fmt::format("an event of {} was recorded in {}: an event marks streams of its own device",
                                context_.to_string(), stream.to_string()));
  context_.call<Entry::EventRecord>(raw(), stream.raw());
}

void Event::synchronize() const { context_.call<Entry::EventSynchronize>(raw()); }

bool Event::reached() const {
  const Result code = context_.try_call<Entry::EventQuery>(raw());
  if (code == Result::not_ready) return false;
  if (code != Result::success) context_.fail(Entry::EventQuery, code, {raw()});
  return true;
}

float Event::milliseconds_since(const Event &earlier) const {
  if (timing_ == Timing::off || earlier.timing_ == Timing::off)
    throw UserError(
        "the time between two events was asked for, and one of them was made without timing: "
        "make both with Timing::on");
  float milliseconds = 0;
  context_.call<Entry::EventElapsedTime>(&milliseconds, earlier.raw(), raw());
  return milliseconds;
}

}  // namespace samite::driver
