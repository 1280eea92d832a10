// The capture of a graph that runs in this thread.
//
// On CUDA the driver captures the stream. A condition's body is a graph of its own there, so where one begins or ends
// the driver's capture ends, too, and another one goes on into the graph that is due.
#pragma once

#include "samite/driver/capture.h"
#include "samite/jit/graph_contents.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>

namespace samite::jit {

class GraphCapture {
 public:
  // UserError where this thread captures already.
  explicit GraphCapture(const Stream &stream);
  GraphCapture(const GraphCapture &) = delete;
  GraphCapture &operator=(const GraphCapture &) = delete;
  ~GraphCapture();

  // Null where this thread captures nothing.
  static GraphCapture *current();

  void add(const Launch &launch);
  // What the host does with a buffer. UserError where it is for another device, where it reads what the graph writes,
  // and where it copies from or to pinned memory.
  void add(const HostOperation &operation);
  // Another graph, which is launched on this stream.
  void add(const Graph::Contents &graph, const Stream &stream);
  void add_condition(const AnyBuffer &value, bool repeats, const std::function<void()> &body, SourceLocation where);

  std::shared_ptr<Graph::Contents> finish();

 private:
  void check_condition(const AnyBuffer &value, SourceLocation where) const;
  void capture_body(const Graph::Contents::Condition &condition, const std::function<void()> &body,
                    SourceLocation where);
  driver::Capture::Captured end_part();
  void check(const HostOperation &operation) const;
  void put_into_stream(const HostOperation &operation);
  // Runs `put`, which puts something into the captured stream. Where that fails, so does the capture.
  void put_in(const std::function<void()> &put);
  // Puts a graph without conditions into the stream as one node.
  void put_child(const Graph::Contents &graph);
  // Puts the parts of a graph into the stream: the driver takes no graph with conditions for a node.
  void put_parts(const Graph::Contents &graph, const Graph::Contents::Block &block);
  // Before and after this puts something into the stream.
  void look_for_work_of_others();
  void remember_last();
  bool writes(const Storage *storage) const { return written_.contains(storage); }

  Stream stream_;
  std::shared_ptr<Graph::Contents> contents_;
  Graph::Contents::Block *block_;  // that launches are added to
  std::unordered_set<const Storage *> written_;
  std::optional<driver::Capture> part_;  // of CUDA; none after a failure
  std::vector<driver::GraphNode> last_;  // the stream's last nodes after what this has put into it
};

}  // namespace samite::jit
