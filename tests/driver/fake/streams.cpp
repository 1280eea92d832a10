// The fake's streams and events.
#include "tests/driver/fake/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::driver::fake {

Result StreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
  Context *context = current();
  if (context == nullptr) return Result::invalid_context;
  Stream &stream = state().streams.add();
  stream.context = context;
  stream.flags = flags;
  stream.priority = std::clamp(priority, -5, 0);
  *handle = handle_of<CUstream>(stream);
  return Result::success;
}

Result StreamDestroy(CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  stream->destroyed = true;
  return Result::success;
}

Result StreamSynchronize(CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  if (const Result code = refuse_in_capture(*stream); code != Result::success) return code;
  if (refused_in_capture()) return Result::stream_capture_unsupported;
  state().host.join(stream->clock);
  return Result::success;
}

Result StreamQuery(CUstream handle) { return StreamSynchronize(handle); }

Result StreamWaitEvent(CUstream stream_handle, CUevent event_handle, unsigned) {
  Stream *stream = use(stream_handle);
  const Event *event = use(event_handle);
  if (stream == nullptr || event == nullptr) return Result::invalid_handle;
  if (event->capture) {  // the stream joins the capture
    stream->capture = event->capture;
    event->capture->streams.insert(stream);
    for (Node *node : event->nodes)
      if (std::ranges::find(stream->last, node) == stream->last.end()) stream->last.push_back(node);
    return Result::success;
  }
  if (stream->capture) return Result::stream_capture_isolation;
  stream->clock.join(event->at);
  return Result::success;
}

Result StreamGetCtx(CUstream handle, CUcontext *context) {
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return CtxGetCurrent(context);
  Stream *stream = reinterpret_cast<Stream *>(handle);
  if (!state().streams.has(stream) || stream->destroyed)
    return state().mistake("this is no stream, or a destroyed one", Result::invalid_handle);
  *context = handle_of<CUcontext>(*stream->context);
  return Result::success;
}

Result StreamGetPriority(CUstream handle, int *priority) {
  const Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  *priority = stream->priority;
  return Result::success;
}

Result StreamGetFlags(CUstream handle, unsigned *flags) {
  const Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  *flags = stream->flags;
  return Result::success;
}

Result LaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  return submit(*stream, GraphNodeType::host, [function, data](Stream &) {
    function(data);
    return Result::success;
  });
}

Result EventCreate(CUevent *handle, unsigned flags) {
  Context *context = current();
  if (context == nullptr) return Result::invalid_context;
  Event &event = state().events.add();
  event.context = context;
  event.flags = flags;
  *handle = handle_of<CUevent>(event);
  return Result::success;
}

Result EventDestroy(CUevent handle) {
  Event *event = use(handle);
  if (event == nullptr) return Result::invalid_handle;
  event->destroyed = true;
  return Result::success;
}

Result EventRecord(CUevent event_handle, CUstream stream_handle) {
  Stream *stream = use(stream_handle);
  Event *event = use(event_handle);
  if (stream == nullptr || event == nullptr) return Result::invalid_handle;
  if (event->context != stream->context)
    return state().mistake("event and stream are of different contexts", Result::invalid_handle);
  event->capture = stream->capture;
  event->nodes = stream->last;
  event->recorded = true;
  if (stream->capture) return Result::success;
  const std::uint64_t tick = advance(*stream);
  event->at = stream->clock;
  event->milliseconds = static_cast<float>(tick);  // one for each piece of work
  return Result::success;
}

Result EventQuery(CUevent handle) { return EventSynchronize(handle); }

Result EventSynchronize(CUevent handle) {
  const Event *event = use(handle);
  if (event == nullptr) return Result::invalid_handle;
  if (event->capture) return Result::captured_event;
  if (refused_in_capture()) return Result::stream_capture_unsupported;
  state().host.join(event->at);
  return Result::success;
}

Result EventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  const Event *first = use(start), *last = use(end);
  if (first == nullptr || last == nullptr) return Result::invalid_handle;
  if ((first->flags & event_disable_timing) != 0 || (last->flags & event_disable_timing) != 0)
    return state().mistake("an event without timing was asked for its time", Result::invalid_handle);
  if (!first->recorded || !last->recorded) return Result::invalid_handle;
  *milliseconds = last->milliseconds - first->milliseconds;
  return Result::success;
}

}  // namespace samite::driver::fake
