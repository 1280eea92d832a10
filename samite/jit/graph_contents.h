// What a graph holds.
#pragma once

#include "samite/driver/graph_executable.h"
#include "samite/jit/graph.h"

#include <memory>
#include <optional>
#include <vector>

namespace samite {

struct Graph::Contents {
  struct Step {
    Launch launch;
    std::vector<driver::GraphNode> nodes = {};  // on CUDA
    bool enabled = true;
  };

  struct Condition;
  // A launch, by its number, or a condition.
  struct Part {
    std::size_t launch = 0;
    std::unique_ptr<Condition> condition = nullptr;
  };
  using Block = std::vector<Part>;
  struct Condition {
    AnyBuffer value;
    bool repeats;
    Block body = {};
  };

  std::vector<Step> steps;  // by number
  Block block;
  bool has_conditions = false;
  bool broken = false;  // an edit failed, and so did taking it back
  // None on the CPU.
  std::optional<driver::Graph> graph;
  std::optional<driver::GraphExecutable> executable;
};

}  // namespace samite
