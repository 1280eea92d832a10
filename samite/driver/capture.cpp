#include "samite/driver/capture.h"

#include <new>
#include <utility>

namespace samite::driver {
namespace {

std::vector<CUgraphNode> raw_nodes(std::span<const GraphNode> nodes) {
  std::vector<CUgraphNode> raw;
  for (const GraphNode &node : nodes) raw.push_back(node.raw);
  return raw;
}

}  // namespace

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

Capture::Capture(const Stream &stream) : stream_(stream) {
  stream.context().call<Entry::StreamBeginCapture>(stream.raw(), CaptureMode::thread_local_);
  begin();
}

Capture::Capture(const Stream &stream, const Graph &graph, std::span<const GraphNode> after)
    : stream_(stream), into_(graph) {
  const std::vector<CUgraphNode> dependencies = raw_nodes(after);
  stream.context().call<Entry::StreamBeginCaptureToGraph>(stream.raw(), graph.raw(), dependencies.data(),
                                                          static_cast<const GraphEdgeData *>(nullptr),
                                                          dependencies.size(), CaptureMode::thread_local_);
  begin();
}

void Capture::begin() {
  try {
    id_ = stream_.context().capture_of(stream_.raw());
    stream_.context().captures().begin(id_);
  } catch (...) {
    drop();
    throw;
  }
}

Capture::~Capture() {
  if (!ended_) drop();
}

void Capture::drop() noexcept {
  try {
    // The nodes that the capture has already added stay in the caller's graph.
    if (into_) keep_in(*into_);
  } catch (const std::bad_alloc &) {  // NOLINT(bugprone-empty-catch)
    // The graph lacks the dropped nodes; the error that led here has been reported to its user.
  }
  CUgraph graph = nullptr;
  // A failed capture returns no graph.
  if (end_in_driver(graph) == Result::success && !into_) stream_.context().release<Entry::GraphDestroy>(graph);
}

void Capture::keep_in(const Graph &graph) {
  const Captures::Kept kept = stream_.context().captures().end(id_);
  std::lock_guard lock(graph.state_->contents->mutex);
  for (const auto &[kernel, owner] : kept) graph.state_->contents->add_kernel(kernel, owner);
  for (const std::shared_ptr<const void> &child : children_) graph.state_->contents->keep(child);
}

void Capture::add(const Graph &child) {
  Graph::Contents &its = *child.state_->contents;
  std::lock_guard lock(its.mutex);
  children_.push_back(child.state_->contents);
  for (const char *kernel : its.kernels) stream_.context().captures().keep(id_, {kernel, child.state_->contents});
  const std::vector<GraphNode> last = last_nodes(stream_);
  const std::vector<CUgraphNode> after = raw_nodes(last);
  CUgraph graph = nullptr;
  CaptureStatus status = CaptureStatus::none;
  stream_.context().call<Entry::StreamGetCaptureInfo>(stream_.raw(), &status, static_cast<std::uint64_t *>(nullptr),
                                                      &graph, static_cast<const CUgraphNode **>(nullptr),
                                                      static_cast<std::size_t *>(nullptr));
  CUgraphNode node = nullptr;
  stream_.context().call<Entry::GraphAddChildGraphNode>(&node, graph, after.data(), after.size(), child.raw());
  stream_.context().call<Entry::StreamUpdateCaptureDependencies>(stream_.raw(), &node, std::size_t{1},
                                                                 set_capture_dependencies);
}

Result Capture::end_in_driver(CUgraph &raw) noexcept {
  ended_ = true;
  stream_.context().captures().end(id_);
  return stream_.context().try_call_anyway<Entry::StreamEndCapture>(stream_.raw(), &raw);
}

// Everything that may fail on the host comes first, so that every graph has an owner.
Capture::Captured Capture::end() {
  std::vector<GraphNode> last = last_nodes(stream_);
  const Graph graph = into_ ? *into_ : Graph(std::make_shared<Graph::State>(stream_.context(), nullptr));
  keep_in(graph);
  CUgraph raw = nullptr;
  const Result code = end_in_driver(raw);
  if (code != Result::success) stream_.context().fail(Entry::StreamEndCapture, code, {stream_.raw(), nullptr});
  if (!into_) graph.state_->raw = raw;
  for (GraphNode &node : last) node.graph = graph.raw();
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

AllowedInCaptures::AllowedInCaptures(const Context &context) : context_(context) {
  context_.call<Entry::ThreadExchangeStreamCaptureMode>(&mode_);
}
AllowedInCaptures::~AllowedInCaptures() { context_.release<Entry::ThreadExchangeStreamCaptureMode>(&mode_); }

std::optional<GraphNode> last_captured(const Stream &stream) {
  const std::vector<GraphNode> last = last_nodes(stream);
  if (last.size() != 1) return std::nullopt;
  return last[0];
}

}  // namespace samite::driver
