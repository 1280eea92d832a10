// A pose graph: poses, and measured motions between pairs of them.
#pragma once

#include "se3.h"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace pose_graph {

struct Edge {
  std::int32_t from, to;  // places in Graph::poses
  Pose measured;          // of `to` in the frame of `from`
  Information information;
};

struct Graph {
  std::vector<std::int64_t> ids;  // of the poses, in a file
  std::vector<Pose> poses;
  std::vector<Edge> edges;
  std::vector<std::int64_t> fixed;  // places in `poses`
};

// Reads the lines VERTEX_SE3:QUAT, EDGE_SE3:QUAT and FIX of g2o's text format; lines that start with # are comments.
// The information is that of the error in se3.h, whose rotation is the whole angle, as in Ceres' example of pose
// graphs. g2o itself takes the vector part of the quaternion, about half of it, so that it finds other costs and
// slightly other poses.
//
// std::runtime_error "file:line: reason" for anything else, for numbers that are missing or not finite, quaternions
// that are not of length 1, information that is not positive definite, and vertices that are given twice or not at all.
Graph read_g2o(const std::filesystem::path &file);

// Writes all digits. std::runtime_error if the file cannot be written.
void write_g2o(const std::filesystem::path &file, const Graph &graph);

}  // namespace pose_graph
