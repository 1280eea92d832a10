// An instantiated graph, which can be launched any number of times.
//
// A handle: copies name the same executable, which is destroyed after the last. It keeps its graph alive, whose nodes
// identify what can be edited here. Every function may be called from any thread.
#pragma once

#include "samite/driver/graph.h"

#include <memory>
#include <mutex>
#include <vector>

namespace samite::driver {

class GraphExecutable {
 public:
  // DriverError if the graph cannot run.
  static GraphExecutable instantiate(const Graph &graph);

  const Context &context() const noexcept { return state_->graph.context(); }
  CUgraphExec raw() const noexcept { return state_->raw; }

  // UserError if the stream belongs to another device.
  void launch(const Stream &stream, SourceLocation where = std::source_location::current()) const;
  // Uploads the graph to the device ahead of its first launch.
  void upload(const Stream &stream) const;

  // From the next launch on, `node` launches this instead. The graph itself does not change.
  void set(const GraphNode &node, const PreparedLaunch &launch, void **parameters);
  // Whether `node`, a launch, is run.
  void enable(const GraphNode &node, bool enabled);

  // From the next launch on, runs the work in `graph`, which must have the same nodes and edges. UserError that names
  // the difference otherwise; the executable is then unchanged. Nodes given to set() and enable() are then those of
  // `graph`.
  void update(const Graph &graph);

 private:
  struct State {
    explicit State(const Graph &graph) : graph(graph) {}
    State(const State &) = delete;
    State &operator=(const State &) = delete;
    ~State();

    Graph graph;
    CUgraphExec raw = nullptr;
    std::mutex mutex;  // of the driver's executable and the kept objects
    const char *name = "";
    std::vector<std::shared_ptr<const void>> kept;  // that was set here, or was in an earlier graph
  };
  explicit GraphExecutable(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace samite::driver
