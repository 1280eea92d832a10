// The current capture of a graph in this thread.
//
// On CUDA the driver captures the stream. A condition's body is a separate graph there, so at its start and end the
// driver's capture ends, and another one continues into the appropriate graph.
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
  // UserError if this thread is already capturing.
  explicit GraphCapture(const Stream &stream);
  GraphCapture(const GraphCapture &) = delete;
  GraphCapture &operator=(const GraphCapture &) = delete;
  ~GraphCapture();

  // Null if this thread captures nothing.
  static GraphCapture *current();

  void add(const Launch &launch);
  // A host operation on a buffer. UserError if it is for another device, reads elements that the graph writes, or
  // copies from or to pinned memory.
  void add(const HostOperation &operation);
  // Another graph, which is launched on this stream.
  void add(const Graph::Contents &graph, const Stream &stream);
  // A function that runs at each launch of the graph and writes these arrays. Only on the CPU, where the function does
  // not run now; on CUDA a library puts its work into the captured stream instead.
  void add_call(const std::string &name, const std::vector<AnyBuffer> &written, const std::function<void()> &run);
  // Memory that a library's work in the captured stream uses, for as long as the graph.
  void keep(const std::shared_ptr<Storage> &memory) { contents_->kept.push_back(memory); }
  const Stream &stream() const { return stream_; }
  void add_condition(const AnyBuffer &value, bool repeats, FunctionRef<void()> body, SourceLocation where);

  std::shared_ptr<Graph::Contents> finish();

 private:
  void check_condition(const AnyBuffer &value, SourceLocation where) const;
  void capture_body(const Graph::Contents::Condition &condition, FunctionRef<void()> body, SourceLocation where);
  driver::Capture::Captured end_part();
  void check(const HostOperation &operation) const;
  void put_into_stream(const HostOperation &operation);
  // Runs `put`, which puts work into the captured stream. If it fails, so does the capture.
  void put_in(FunctionRef<void()> put);
  // Puts a graph without conditions into the stream as one node.
  void put_child(const Graph::Contents &graph);
  // Puts the parts of a graph into the stream, because the driver accepts no graph with conditions as a node.
  void put_parts(const Graph::Contents &graph, const Graph::Contents::Block &block);
  // Call before and after this object puts something into the stream.
  void look_for_work_of_others();
  void remember_last();
  bool writes(const Storage *storage) const { return written_.contains(storage); }

  Stream stream_;
  std::shared_ptr<Graph::Contents> contents_;
  Graph::Contents::Block *block_;  // the block that receives launches
  std::unordered_set<const Storage *> written_;
  std::optional<driver::Capture> part_;  // on CUDA; empty after a failure
  std::vector<driver::GraphNode> last_;  // the stream's last nodes after the work that this has put into it
};

}  // namespace samite::jit
