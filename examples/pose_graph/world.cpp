#include "world.h"

#include <cmath>
#include <numbers>
#include <numeric>

namespace pose_graph {
namespace {

using Vector3 = Vector<double, 3>;

// The body looks east along its ring, with its z axis away from the surface.
Pose pose_on(Shape shape, double around, double up) {
  const Vector3 outwards{std::cos(around), std::sin(around), 0}, forwards{-std::sin(around), std::cos(around), 0};
  const Vector3 normal = outwards * std::cos(up) + Vector3{0, 0, std::sin(up)}, left = cross(normal, forwards);
  const Vector3 place =
      shape == Shape::sphere ? normal * radius_of_sphere : outwards * radius_of_torus + normal * radius_of_tube;
  const auto axes = Matrix<double, 3, 3>::generate([&](int i, int j) {
    const Vector3 &axis = j == 0 ? forwards : j == 1 ? left : normal;
    return axis[i];
  });
  return {place, Quaternion<double>::from_matrix(axes)};
}

std::vector<Pose> true_poses(const WorldOptions &options) {
  const int count = options.rings * options.poses_per_ring;
  std::vector<Pose> poses;
  for (int k = 0; k < count; ++k) {
    // The rings are turns of one spiral: from the south pole to the north pole, or round the tube.
    const double done = (k + 0.5) / count, around = 2 * std::numbers::pi * k / options.poses_per_ring;
    poses.push_back(
        pose_on(options.shape, around, std::numbers::pi * (options.shape == Shape::sphere ? done - 0.5 : 2 * done)));
  }
  return poses;
}

// Correlates all components, so that each number of the information counts.
Information root_of_noise(const WorldOptions &options) {
  return Information::generate([&](int i, int j) {
    const double deviation = j < 3 ? options.translation_noise : options.rotation_noise;
    return i == j ? 1 / deviation : i < j ? 0.3 * std::cos(3 * i + j) / deviation : 0;
  });
}

// Noise that whitened() makes independent and of variance 1.
Twist noise_of(const Information &root, samite::HostRandom &random) {
  const Vector3 first = random.normal_vector<3, double>(), second = random.normal_vector<3, double>();
  Twist noise{first[0], first[1], first[2], second[0], second[1], second[2]};
  for (int i = 5; i >= 0; --i) {
    for (int j = i + 1; j < 6; ++j) noise[i] -= root(i, j) * noise[j];
    noise[i] /= root(i, i);
  }
  return noise;
}

}  // namespace

World made_world(const WorldOptions &options) {
  World world{true_poses(options), {}};
  Graph &graph = world.graph;
  samite::HostRandom random(options.seed, 0);
  const Information root = root_of_noise(options), information = transpose(root) * root;
  const auto count = static_cast<std::int32_t>(world.truth.size());
  const auto truth = [&](std::int32_t k) -> const Pose & { return world.truth[static_cast<std::size_t>(k)]; };
  const auto measure = [&](std::int32_t from, std::int32_t to) {
    const Pose measured = inverse(truth(from)) * truth(to) * exponential(noise_of(root, random));
    const bool is_step = to == from + 1;
    if (!is_step && random.uniform<double>() < options.outliers) to = (from + 1 + random.integer(count - 1)) % count;
    graph.edges.push_back({from, to, normalize(measured), information});
  };

  for (std::int32_t k = 0; k + 1 < count; ++k) measure(k, k + 1);
  for (std::int32_t k = options.poses_per_ring; k < count; ++k) measure(k, k - options.poses_per_ring);
  if (options.shape == Shape::torus)
    for (std::int32_t k = 0; k < options.poses_per_ring; ++k) measure(k, count - options.poses_per_ring + k);

  graph.ids.resize(world.truth.size());
  std::iota(graph.ids.begin(), graph.ids.end(), 0);
  graph.poses.push_back(truth(0));
  for (std::size_t k = 0; k + 1 < world.truth.size(); ++k)
    graph.poses.push_back(normalize(graph.poses.back() * graph.edges[k].measured));
  return world;
}

Distance distance(const std::vector<Pose> &poses, const std::vector<Pose> &truth) {
  Distance sum;
  for (std::size_t i = 0; i < poses.size(); ++i) {
    sum.position += norm_squared(poses[i].translation - truth[i].translation);
    sum.rotation += std::pow(angle_of(conjugate(truth[i].rotation) * poses[i].rotation), 2);
  }
  const double count = static_cast<double>(poses.size());
  return {std::sqrt(sum.position / count), std::sqrt(sum.rotation / count) * 180 / std::numbers::pi};
}

}  // namespace pose_graph
