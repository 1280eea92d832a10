#include "samite/driver/stream.h"

#include "samite/driver/event.h"
#include "samite/driver/owned.h"

#include <fmt/format.h>

#include <utility>

namespace samite::driver {

Stream::Stream(const Context &context, std::shared_ptr<CUstream_st> raw)
    : context_(context), raw_(std::move(raw)), history_(std::make_shared<LaunchHistory>()) {
  context.remember(to_string(), history_);
}

Stream Stream::create(const Context &context, int priority) {
  CUstream raw = nullptr;
  context.call<Entry::StreamCreateWithPriority>(&raw, stream_non_blocking, priority);
  return {context, own<Entry::StreamDestroy>(context, raw)};
}

Stream Stream::borrow(const Context &context, CUstream raw) {
  CUcontext owner = nullptr;
  context.call<Entry::StreamGetCtx>(raw, &owner);
  if (owner != context.raw())
    throw UserError(
        fmt::format("stream {:#x} belongs to another context than the primary one of {}: give a stream that "
                    "was made on this device, with the primary context current",
                    reinterpret_cast<std::uintptr_t>(raw), context.to_string()));
  // A borrowed stream needs no control block: an aliasing pointer owns nothing.
  return {context, std::shared_ptr<CUstream_st>(std::shared_ptr<void>(), raw)};
}

std::string Stream::to_string() const {
  return fmt::format("stream {:#x} of {}", reinterpret_cast<std::uintptr_t>(raw()), context_.to_string());
}

void Stream::synchronize() const {
  const std::uint64_t before = history_->count();
  context_.call<Entry::StreamSynchronize>(raw());
  history_->completed(before);
}

bool Stream::finished() const {
  const std::uint64_t before = history_->count();
  const Result code = context_.try_call<Entry::StreamQuery>(raw());
  if (code == Result::not_ready) return false;
  if (code != Result::success) context_.fail(Entry::StreamQuery, code, {raw()});
  history_->completed(before);
  return true;
}

void Stream::wait(const Event &event) const { context_.call<Entry::StreamWaitEvent>(raw(), event.raw(), 0u); }

}  // namespace samite::driver
