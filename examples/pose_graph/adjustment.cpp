#include "adjustment.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace pose_graph {
namespace {

using namespace samite;
using namespace samite::solvers;

void append(std::vector<double> &numbers, const Pose &pose) {
  numbers.insert(numbers.end(), pose.translation.begin(), pose.translation.end());
  numbers.insert(numbers.end(), pose.rotation.begin(), pose.rotation.end());
}

std::vector<Pose> poses_of(const std::vector<double> &numbers) {
  std::vector<Pose> poses;
  for (std::size_t i = 0; i + 7 <= numbers.size(); i += 7)
    poses.push_back({{numbers[i], numbers[i + 1], numbers[i + 2]},
                     {numbers[i + 3], numbers[i + 4], numbers[i + 5], numbers[i + 6]}});
  return poses;
}

// Edges say nothing about where a connected part is as a whole, so that the normal matrix would be singular.
std::vector<std::int64_t> fixed_poses(const Graph &graph) {
  std::vector<std::int64_t> first(graph.poses.size());  // a pose of the same part that comes before; or itself
  std::iota(first.begin(), first.end(), 0);
  const auto first_of = [&](std::int64_t pose) {
    for (auto k = static_cast<std::size_t>(pose);; k = static_cast<std::size_t>(first[k])) {
      if (first[k] == static_cast<std::int64_t>(k)) return first[k];
      first[k] = first[static_cast<std::size_t>(first[k])];
    }
  };
  for (const Edge &edge : graph.edges) {
    const std::int64_t a = first_of(edge.from), b = first_of(edge.to);
    first[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  std::set<std::int64_t> fixed(graph.fixed.begin(), graph.fixed.end()), parts_with_one;
  for (const std::int64_t pose : fixed) parts_with_one.insert(first_of(pose));
  for (std::int64_t pose = 0; pose < std::ssize(first); ++pose)
    if (first_of(pose) == pose && !parts_with_one.contains(pose)) fixed.insert(pose);
  return {fixed.begin(), fixed.end()};
}

}  // namespace

Adjustment adjust(Device device, const Graph &graph, const Loss &loss, const LeastSquaresOptions &options) {
  std::vector<double> numbers, motions, roots;
  std::vector<std::int32_t> starts, ends;
  for (const Pose &pose : graph.poses) append(numbers, pose);
  for (const Edge &edge : graph.edges) {
    starts.push_back(edge.from), ends.push_back(edge.to);
    append(motions, edge.measured);
    const Information root = root_of(edge.information);
    roots.insert(roots.end(), root.begin(), root.end());
  }
  const std::size_t edges = graph.edges.size();
  Buffer<double> values{device, {graph.poses.size(), 7}, numbers};
  Buffer<double> measured{device, {edges, 7}, motions}, root{device, {edges, 36}, roots};
  Buffer<std::int32_t> from{device, {edges}, starts}, to{device, {edges}, ends};

  LeastSquares problem;
  ParameterBlocks poses =
      problem.add_parameters("poses", values, {.manifold = Manifold::se3(), .fixed = fixed_poses(graph)});
  problem.add_residuals("edges",
                        [](const Transformd &start, const Transformd &end, const Transformd &measured,
                           const Mat6d &root) { return whitened(root, error_of(start, end, measured)); },
                        {{poses, from}, {poses, to}}, {measured, root}, {.loss = loss});
  LeastSquaresReport report = problem.solve(options);
  return {std::move(report), poses_of(values.to_vector())};
}

}  // namespace pose_graph
