#include "samite/driver/capture.h"

#include <utility>

namespace samite::driver {

// A capture that has begun and must be ended, whatever happens in between.
class Capture {
 public:
  explicit Capture(const Stream &stream) : stream_(stream), id_(stream.context().capture_of(stream.raw())) {
    stream.context().captures().begin(id_);
  }
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;
  ~Capture() {
    if (ended_) return;
    CUgraph graph = nullptr;
    const Result code = end(graph);
    // A capture that has failed gives no graph.
    if (code == Result::success && !into_) stream_.context().release<Entry::GraphDestroy>(graph);
  }

  // The end gives a graph that the caller has, and not a new one.
  void goes_into_a_graph() { into_ = true; }

  Graph finish() {
    CUgraph raw = nullptr;
    const Result code = end(raw);
    if (code != Result::success) stream_.context().fail(Entry::StreamEndCapture, code, {stream_.raw(), nullptr});
    Graph graph(std::make_shared<Graph::State>(stream_.context(), raw));
    add_kept(graph);
    return graph;
  }

  void finish_into(Graph &graph) {
    CUgraph raw = nullptr;
    const Result code = end(raw);
    if (code != Result::success) stream_.context().fail(Entry::StreamEndCapture, code, {stream_.raw(), nullptr});
    add_kept(graph);
  }

 private:
  Result end(CUgraph &graph) {
    ended_ = true;
    kept_ = stream_.context().captures().end(id_);
    return stream_.context().try_call<Entry::StreamEndCapture>(stream_.raw(), &graph);
  }

  void add_kept(Graph &graph) {
    std::lock_guard lock(graph.state_->contents->mutex);
    for (const auto &[kernel, owner] : kept_) graph.state_->contents->add_kernel(kernel, owner);
  }

  Stream stream_;
  std::uint64_t id_;
  bool ended_ = false, into_ = false;
  Captures::Kept kept_;
};

Graph capture(const Stream &stream, const std::function<void()> &work) {
  stream.context().call<Entry::StreamBeginCapture>(stream.raw(), CaptureMode::thread_local_);
  Capture running(stream);
  work();
  return running.finish();
}

void capture_into(Graph &graph, const Stream &stream, const std::function<void()> &work,
                  std::span<const GraphNode> after) {
  std::vector<CUgraphNode> dependencies;
  for (const GraphNode &node : after) dependencies.push_back(node.raw);
  stream.context().call<Entry::StreamBeginCaptureToGraph>(stream.raw(), graph.raw(), dependencies.data(),
                                                          static_cast<const GraphEdgeData *>(nullptr),
                                                          dependencies.size(), CaptureMode::thread_local_);
  Capture running(stream);
  running.goes_into_a_graph();
  work();
  running.finish_into(graph);
}

std::optional<GraphNode> last_captured(const Stream &stream) {
  CaptureStatus status = CaptureStatus::none;
  std::uint64_t id = 0;
  GraphNode last;
  const CUgraphNode *nodes = nullptr;
  std::size_t count = 0;
  stream.context().call<Entry::StreamGetCaptureInfo>(stream.raw(), &status, &id, &last.graph, &nodes, &count);
  if (status != CaptureStatus::active || count != 1) return std::nullopt;
  last.raw = nodes[0];
  return last;
}

}  // namespace samite::driver
