#include "samite/driver/capture.h"

#include <utility>

namespace samite::driver {
namespace {

std::vector<CUgraphNode> raw_nodes(std::span<const GraphNode> nodes) {
  std::vector<CUgraphNode> raw;
  for (const GraphNode &node : nodes) raw.push_back(node.raw);
  return raw;
}

// What the stream's next work would wait for; nothing where the stream captures nothing.
std::vector<GraphNode> last_nodes(const Stream &stream) {
  CaptureStatus status = CaptureStatus::none;
  std::uint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode *nodes = nullptr;
  std::size_t count = 0;
  stream.context().call<Entry::StreamGetCaptureInfo>(stream.raw(), &status, &id, &graph, &nodes, &count);
  std::vector<GraphNode> last;
  if (status != CaptureStatus::active) return last;
  for (std::size_t i = 0; i < count; ++i) last.push_back({nodes[i], graph});
  return last;
}

}  // namespace

Capture::Capture(const Stream &stream) : stream_(stream) {
  stream.context().call<Entry::StreamBeginCapture>(stream.raw(), CaptureMode::thread_local_);
  id_ = stream.context().capture_of(stream.raw());
  stream.context().captures().begin(id_);
}

Capture::Capture(const Stream &stream, const Graph &graph, std::span<const GraphNode> after)
    : stream_(stream), into_(graph) {
  const std::vector<CUgraphNode> dependencies = raw_nodes(after);
  stream.context().call<Entry::StreamBeginCaptureToGraph>(stream.raw(), graph.raw(), dependencies.data(),
                                                          static_cast<const GraphEdgeData *>(nullptr),
                                                          dependencies.size(), CaptureMode::thread_local_);
  id_ = stream.context().capture_of(stream.raw());
  stream.context().captures().begin(id_);
}

Capture::~Capture() {
  if (ended_) return;
  CUgraph graph = nullptr;
  const Result code = end_in_driver(graph);
  // A capture that has failed gives no graph.
  if (code == Result::success && !into_) stream_.context().release<Entry::GraphDestroy>(graph);
}

Result Capture::end_in_driver(CUgraph &raw) {
  ended_ = true;
  kept_ = stream_.context().captures().end(id_);
  return stream_.context().try_call<Entry::StreamEndCapture>(stream_.raw(), &raw);
}

Capture::Captured Capture::end() {
  std::vector<GraphNode> last = last_nodes(stream_);
  CUgraph raw = nullptr;
  const Result code = end_in_driver(raw);
  if (code != Result::success) stream_.context().fail(Entry::StreamEndCapture, code, {stream_.raw(), nullptr});
  const Graph graph = into_ ? *into_ : Graph(std::make_shared<Graph::State>(stream_.context(), raw));
  for (GraphNode &node : last) node.graph = graph.raw();
  std::lock_guard lock(graph.state_->contents->mutex);
  for (const auto &[kernel, owner] : kept_) graph.state_->contents->add_kernel(kernel, owner);
  return {graph, std::move(last)};
}

Graph capture(const Stream &stream, const std::function<void()> &work) {
  Capture running(stream);
  work();
  return running.end().graph;
}

void capture_into(Graph &graph, const Stream &stream, const std::function<void()> &work,
                  std::span<const GraphNode> after) {
  Capture running(stream, graph, after);
  work();
  running.end();
}

std::optional<GraphNode> last_captured(const Stream &stream) {
  const std::vector<GraphNode> last = last_nodes(stream);
  if (last.size() != 1) return std::nullopt;
  return last[0];
}

}  // namespace samite::driver
