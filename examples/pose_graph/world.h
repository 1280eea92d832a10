// A graph whose true poses are known: a body goes round a sphere or a torus, ring after ring, measures each of its
// steps, and recognises the places that it passed one ring before.
//
// With 50 rings of 50 poses the sphere has as many poses and edges as sphere2500, a graph that comes with iSAM (M.
// Kaess, A. Ranganathan, F. Dellaert, 2008) and that many papers use: 2500 and 4949.
#pragma once

#include "graph.h"

namespace pose_graph {

enum class Shape { sphere, torus };

struct WorldOptions {
  Shape shape = Shape::sphere;
  int rings = 50, poses_per_ring = 50;
  double translation_noise = 0.05;  // standard deviations: in metres, and in radians
  double rotation_noise = 0.02;
  double outliers = 0;  // the fraction of recognised places that are others
  std::uint64_t seed = 1;
};

constexpr double radius_of_sphere = 10, radius_of_torus = 10, radius_of_tube = 4;  // in metres

struct World {
  std::vector<Pose> truth;
  Graph graph;  // its poses follow the measured steps, one after another
};
World made_world(const WorldOptions &options);

// Root mean squares over all poses: in metres, and in degrees.
struct Distance {
  double position = 0, rotation = 0;
};
Distance distance(const std::vector<Pose> &poses, const std::vector<Pose> &truth);

}  // namespace pose_graph
