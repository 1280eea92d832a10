// The contents of a graph.
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

    // Makes the step's nodes of the graph launch this, or nothing if it is not enabled. On CUDA.
    void write_into(driver::Graph &into) const;
  };

  // A function that runs at each launch, on the CPU: of another library, which the driver captures on CUDA.
  struct Call {
    std::string name;
    std::vector<AnyBuffer> written;
    std::function<void()> run;
  };
  struct Condition;
  // A launch, by its number; an operation of the host on a buffer; a call; a condition; or another graph, in its state
  // at the time of its launch.
  using Part = std::variant<std::size_t, HostOperation, Call, std::unique_ptr<Condition>, std::unique_ptr<Contents>>;
  using Block = std::vector<Part>;
  struct Condition {
    AnyBuffer value;
    bool repeats;
    Block body = {};
  };

  std::vector<Step> steps;  // by number
  Block block;
  bool has_conditions = false;
  bool broken = false;              // an edit and its rollback failed
  bool has_work_of_others = false;  // another library has put work into the captured stream
  // Empty on the CPU.
  std::optional<driver::Graph> graph;
  std::optional<driver::GraphExecutable> executable;
  std::vector<std::shared_ptr<Storage>> kept;  // memory that its operations need besides their buffers

  // A copy of the steps and the kept memory, without the driver's objects.
  std::unique_ptr<Contents> snapshot() const;
  // Its steps, and those of nested graphs.
  void for_each_step(const std::function<void(const Step &)> &f) const;
  // The storages that it may write, with a view of the elements: by enabled launches and by all operations, whether or
  // not conditions hold.
  void for_each_written(FunctionRef<void(Storage &, const AnyBuffer &)> f) const;
};

}  // namespace samite
