// What a graph holds.
#pragma once

#include "samite/driver/graph_executable.h"
#include "samite/jit/graph.h"
#include "samite/runtime/host_operation.h"

#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace samite {

struct Graph::Contents {
  struct Step {
    Launch launch;
    std::vector<driver::GraphNode> nodes = {};  // on CUDA
    bool enabled = true;
    bool edited = false;  // in the executable, and not in the graph
  };

  struct Condition;
  // A launch, by its number; an operation of the host on a buffer; a condition; or another graph, as it was when it was
  // launched in the capture.
  using Part = std::variant<std::size_t, HostOperation, std::unique_ptr<Condition>, std::unique_ptr<Contents>>;
  using Block = std::vector<Part>;
  struct Condition {
    AnyBuffer value;
    bool repeats;
    Block body = {};
  };

  std::vector<Step> steps;  // by number
  Block block;
  bool has_conditions = false;
  bool broken = false;              // an edit failed, and so did taking it back
  bool has_work_of_others = false;  // that another library has put into the captured stream
  // None on the CPU.
  std::optional<driver::Graph> graph;
  std::optional<driver::GraphExecutable> executable;
  std::vector<std::shared_ptr<Storage>> kept;  // memory that its operations need beside their buffers

  // What is run and what is kept alive, without what the driver has of it.
  std::unique_ptr<Contents> snapshot() const;
  // Its steps, and those of graphs in it.
  void for_each_step(const std::function<void(const Step &)> &f) const;
  // The storages that it may write, with a view of the elements: by launches that are enabled and by all operations,
  // whether or not conditions hold.
  void for_each_written(const std::function<void(Storage &, const AnyBuffer &)> &f) const;
};

}  // namespace samite
