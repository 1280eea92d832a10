// A picture of a graph before and after its adjustment, side by side, as SVG.
#pragma once

#include "graph.h"

#include <filesystem>

namespace pose_graph {

// Steps from one pose to the next one are drawn dark, other edges light, both with one scale. std::runtime_error if the
// file cannot be written.
void write_picture(const std::filesystem::path &file, const Graph &graph, const std::vector<Pose> &before,
                   const std::vector<Pose> &after);

}  // namespace pose_graph
