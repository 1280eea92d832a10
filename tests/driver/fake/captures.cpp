// How the fake captures streams.
#include "tests/driver/fake/state.h"

#include <algorithm>

namespace samite::driver::fake {
namespace {

Node &capture_node(Stream &stream, GraphNodeType type) {
  Node &node = add_node(*stream.capture->graph, type, stream.last);
  stream.last = {&node};
  return node;
}

Result begin(Stream &stream, Graph &graph, bool adds_to_graph, std::vector<Node *> after, CaptureMode mode) {
  stream.capture = std::make_shared<Capture>();
  stream.capture->id = ++state().captures;
  stream.capture->graph = &graph;
  stream.capture->origin = &stream;
  stream.capture->adds_to_graph = adds_to_graph;
  stream.capture->mode = mode;
  stream.capture->thread = std::this_thread::get_id();
  stream.capture->streams = {&stream};
  stream.last = std::move(after);
  return Result::success;
}

// Whether work of a stream that joined has come back into the capture's first stream.
bool joined(const Stream &stream, const Stream &origin) {
  std::vector<Node *> reached = origin.last;
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (Node *dependency : reached[i]->dependencies)
      if (std::ranges::find(reached, dependency) == reached.end()) reached.push_back(dependency);
  return std::ranges::all_of(stream.last,
                             [&](Node *node) { return std::ranges::find(reached, node) != reached.end(); });
}

}  // namespace

Result submit(Stream &stream, GraphNodeType type, std::function<Result(Stream &)> work) {
  if (stream.capture) {
    capture_node(stream, type).work = std::move(work);
    return Result::success;
  }
  advance(stream);
  return work(stream);
}

Result submit(Stream &stream, const KernelCall &call) {
  if (stream.capture) {
    capture_node(stream, GraphNodeType::kernel).call = call;
    return Result::success;
  }
  advance(stream);
  KernelCall now = call;
  return run(stream, now);
}

Result StreamBeginCapture(CUstream handle, CaptureMode mode) {
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return Result::stream_capture_unsupported;
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  if (stream->capture) return Result::illegal_state;
  return begin(*stream, state().graphs.add(), false, {}, mode);
}

Result StreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle, const CUgraphNode *dependencies,
                                 const GraphEdgeData *, std::size_t count, CaptureMode mode) {
  Stream *stream = use(handle);
  Graph *graph = use(graph_handle);
  if (stream == nullptr || graph == nullptr) return Result::invalid_handle;
  std::vector<Node *> after;
  for (std::size_t i = 0; i < count; ++i) after.push_back(reinterpret_cast<Node *>(dependencies[i]));
  return begin(*stream, *graph, true, std::move(after), mode);
}

Result StreamEndCapture(CUstream handle, CUgraph *graph) {
  *graph = nullptr;
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (!capture) return Result::illegal_state;
  if (capture->origin != stream) return Result::stream_capture_unmatched;

  const bool all_joined =
      std::ranges::all_of(capture->streams, [&](const Stream *other) { return joined(*other, *stream); });
  for (Stream *other : capture->streams) {
    other->capture = nullptr;
    other->last.clear();
  }
  if (capture->invalidated || !all_joined) {
    if (!capture->adds_to_graph) capture->graph->destroyed = true;
    return capture->invalidated ? Result::stream_capture_invalidated : Result::stream_capture_unjoined;
  }
  *graph = handle_of<CUgraph>(*capture->graph);
  return Result::success;
}

void abandon_capture(CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr || !stream->capture) return;
  stream->capture->invalidated = true;
  CUgraph none = nullptr;
  StreamEndCapture(handle, &none);
}

Result StreamGetCaptureInfo(CUstream handle, CaptureStatus *status, std::uint64_t *id, CUgraph *graph,
                            const CUgraphNode **dependencies, std::size_t *count) {
  const Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  *status = !stream->capture               ? CaptureStatus::none
            : stream->capture->invalidated ? CaptureStatus::invalidated
                                           : CaptureStatus::active;
  if (!stream->capture) return Result::success;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = handle_of<CUgraph>(*stream->capture->graph);
  static_assert(sizeof(CUgraphNode) == sizeof(Node *));
  if (dependencies != nullptr) *dependencies = reinterpret_cast<const CUgraphNode *>(stream->last.data());
  if (count != nullptr) *count = stream->last.size();
  return Result::success;
}

Result StreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *dependencies, std::size_t count, unsigned flags) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  if (!stream->capture) return Result::illegal_state;
  if (flags == 1) stream->last.clear();
  for (std::size_t i = 0; i < count; ++i) stream->last.push_back(reinterpret_cast<Node *>(dependencies[i]));
  return Result::success;
}

Result ThreadExchangeStreamCaptureMode(CaptureMode *mode) {
  std::swap(*mode, state().capture_modes[std::this_thread::get_id()]);
  return Result::success;
}

bool refused_in_capture() {
  const std::thread::id thread = std::this_thread::get_id();
  const auto exchanged = state().capture_modes.find(thread);
  const CaptureMode mode = exchanged == state().capture_modes.end() ? CaptureMode::global : exchanged->second;
  if (mode == CaptureMode::relaxed) return false;
  bool refused = false;
  for (const auto &stream : state().streams) {
    if (!stream->capture || stream->capture->mode == CaptureMode::relaxed) continue;
    const bool own = stream->capture->thread == thread;
    if (!own && (mode != CaptureMode::global || stream->capture->mode != CaptureMode::global)) continue;
    stream->capture->invalidated = true;
    refused = true;
  }
  return refused;
}

}  // namespace samite::driver::fake
