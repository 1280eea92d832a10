// Finds the poses with the least sum of squared, whitened errors of the edges, or of a robust loss of them.
#pragma once

#include "graph.h"

#include <samite/solve.h>

namespace pose_graph {

struct Adjustment {
  samite::solvers::LeastSquaresReport report;
  std::vector<Pose> poses;
};

// One pose of each connected part stays where it is: those that the graph fixes, or else the part's first.
Adjustment adjust(samite::Device device, const Graph &graph, const samite::solvers::Loss &loss,
                  const samite::solvers::LeastSquaresOptions &options);

}  // namespace pose_graph
