// A graph of launches; see graph_executable.h for one that can run.
//
// A handle: copies name the same graph, which is destroyed after the last. A graph keeps alive the kernels that it
// launches, and the objects passed to keep_alive; not the memory that they use, which it cannot know.
//
// Every function may be called from any thread. The driver does not protect its graphs from concurrent use, so a mutex
// here does.
#pragma once

#include "samite/driver/launch.h"

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace samite::driver {

class Graph;

// A node of a graph, valid as long as the graph lives.
struct GraphNode {
  CUgraphNode raw = nullptr;
  CUgraph graph = nullptr;

  friend bool operator==(const GraphNode &, const GraphNode &) = default;
};

// A value on the device that decides whether a conditional node's body runs. Kernels set it: they call
// cudaGraphSetConditional(handle, value), which the driver defines when it loads their code.
struct Condition {
  CUgraphConditionalHandle raw = 0;
};

class Graph {
 public:
  static Graph create(const Context &context);

  const Context &context() const noexcept { return state_->context; }
  CUgraph raw() const noexcept { return state_->raw; }

  // Adds a launch that runs after `after`, nodes of this graph. `parameters` has the address of each of the kernel's
  // parameters; they are copied. DriverError names the kernel and its line. UserError if a node belongs to another
  // graph.
  GraphNode add(const PreparedLaunch &launch, void **parameters, std::span<const GraphNode> after = {});
  // Adds a copy of `child` in its present state.
  GraphNode add(const Graph &child, std::span<const GraphNode> after = {});
  // An empty node, to wait for many nodes.
  GraphNode add_empty(std::span<const GraphNode> after = {});

  // Changes the launch of `node` in all executables that are made from the graph, or updated to it, from now on.
  void set(const GraphNode &node, const PreparedLaunch &launch, void **parameters);

  // A condition whose value is `initial` whenever the graph starts. These three need a driver for CUDA 12.3:
  // DeviceError.
  Condition add_condition(unsigned initial);
  struct Conditional;
  // The body runs once if the condition is not 0. It is initially empty, and part of this graph.
  Conditional add_if(Condition condition, std::span<const GraphNode> after = {});
  // The body is repeated as long as the condition is not 0.
  Conditional add_while(Condition condition, std::span<const GraphNode> after = {});

  std::vector<GraphNode> nodes() const;

  // Keeps the object alive as long as the graph.
  void keep_alive(const std::shared_ptr<const void> &object);

 private:
  friend class GraphExecutable;
  friend class Capture;

  // Shared by a graph and the bodies of its conditional nodes, which are destroyed together.
  struct Contents {
    std::mutex mutex;  // of the driver's graphs and the following members
    std::vector<std::shared_ptr<const void>> kept;
    std::vector<const char *> kernels;  // names, for messages

    void keep(const std::shared_ptr<const void> &object);
    void add_kernel(const char *name, const std::shared_ptr<const void> &owner);
  };
  struct State {
    State(const Context &context, CUgraph raw) : context(context), raw(raw), contents(std::make_shared<Contents>()) {}
    // The body of a conditional node, which the node owns.
    State(const std::shared_ptr<State> &parent, CUgraph raw)
        : context(parent->context), raw(raw), parent(parent), contents(parent->contents) {}
    State(const State &) = delete;
    State &operator=(const State &) = delete;
    ~State();

    Context context;
    CUgraph raw;
    std::shared_ptr<State> parent;
    std::shared_ptr<Contents> contents;
  };
  explicit Graph(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::vector<CUgraphNode> raw_nodes(std::span<const GraphNode> after) const;
  Conditional add_conditional(ConditionalType type, Condition condition, std::span<const GraphNode> after);

  std::shared_ptr<State> state_;
};

struct Graph::Conditional {
  GraphNode node;
  Graph body;
};

}  // namespace samite::driver
