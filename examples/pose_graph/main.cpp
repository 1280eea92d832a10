// Pose-graph optimisation: finds poses from measured motions between pairs of them. The graph is read from a g2o file,
// or made: the path of a body round a sphere or a torus, whose steps are measured with noise, so that it drifts, until
// the places that it recognises pull it back.
//
// Exit code 0: the poses came out, as close to the true ones as the noise permits if the graph was made; 1: they did
// not; 2: the program could not run.
#include "adjustment.h"
#include "picture.h"
#include "shared/row.h"
#include "world.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace pose_graph {
namespace {

namespace fs = std::filesystem;
using examples::print_row;
using namespace samite::solvers;

struct Options {
  fs::path file;
  fs::path output = "build/pose_graph";
  WorldOptions world;
  Loss::Kind loss = Loss::Kind::squared;
  double width = 3;
  std::int64_t iterations = 50;
  bool quick = false;
};

double median_seconds(const LeastSquaresReport &report) {
  std::vector<double> seconds;
  for (const LeastSquaresIteration &iteration : report.iterations)
    if (iteration.iteration > 0) seconds.push_back(iteration.seconds);
  if (seconds.empty()) return 0;
  std::nth_element(seconds.begin(), seconds.begin() + std::ssize(seconds) / 2, seconds.end());
  return seconds[seconds.size() / 2];
}

// Prints the cost that is expected, and returns whether the found one is as large. Twice the least cost is a sum of
// squares of independent normal numbers, as many as residuals less the parameters: chi squared, with a standard
// deviation of the square root of twice their number.
bool check_cost(const LeastSquaresReport &report, const Options &options) {
  const double freedoms = static_cast<double>(report.residuals - report.effective_parameters);
  print_row("expected final cost", fmt::format("{:.6g} ± {:.2g}", freedoms / 2, std::sqrt(freedoms / 2)));
  const double excess = 2 * report.final_cost - freedoms, most = 5 * std::sqrt(2 * freedoms);
  // A robust loss is at most the squared one.
  return excess <= most && (options.loss != Loss::Kind::squared || excess >= -most);
}

// Prints the errors of the poses, and returns whether they are as small as a few edges permit: few edges join the fixed
// pose to the others, and their errors turn the whole world about it.
bool check_poses(const Adjustment &result, const World &world, const Options &options) {
  const Distance before = distance(world.graph.poses, world.truth), after = distance(result.poses, world.truth);
  print_row("error of positions, root mean square",
            fmt::format("{:.3g} m (before: {:.3g} m)", after.position, before.position));
  print_row("error of rotations, root mean square",
            fmt::format("{:.3g}° (before: {:.3g}°)", after.rotation, before.rotation));
  const double reach = options.world.shape == Shape::sphere ? 2 * radius_of_sphere : 2 * radius_of_torus;
  return after.position <= 3 * (options.world.translation_noise + reach * options.world.rotation_noise);
}

int run(const Options &options) {
  const samite::Device device = samite::Device::preferred();
  fs::create_directories(options.output);
  std::optional<World> world;
  fs::path file = options.file;
  if (file.empty()) {
    // It is read again, so that other programs get the same graph.
    file = options.output / "made.g2o";
    world = made_world(options.world);
    write_g2o(file, world->graph);
  }
  Graph graph = read_g2o(file);
  fmt::print("{}: {} poses, {} edges, on {} ({})\n", file.string(), graph.poses.size(), graph.edges.size(),
             device.to_string(), device.name());

  const Adjustment result = adjust(device, graph, {options.loss, options.width}, {.iterations = options.iterations});
  fmt::print("{}\n{}\n", result.report.history(), result.report.summary());
  print_row("cost", fmt::format("{:.6g} (before: {:.6g})", result.report.final_cost, result.report.initial_cost));
  print_row("iterations", fmt::format("{}, each {:.1f} ms (median)", result.report.iterations.back().iteration,
                                      1000 * median_seconds(result.report)));
  std::string failure = result.report.converged() ? "" : "the solve has not converged";
  if (world) {
    if (options.world.outliers == 0 && !check_cost(result.report, options)) failure = "the cost is not as expected";
    if (!check_poses(result, *world, options))
      failure = "the poses are further from the true ones than the noise permits";
  }

  const fs::path adjusted = options.output / "adjusted.g2o", picture = options.output / "pose_graph.svg";
  write_picture(picture, graph, graph.poses, result.poses);
  graph.poses = result.poses;
  write_g2o(adjusted, graph);
  fmt::print("\nWrote {} and {}.\n", adjusted.string(), picture.string());
  if (!failure.empty()) fmt::print(stderr, "Failed: {}.\n", failure);
  return failure.empty() ? 0 : 1;
}

const std::map<std::string, Shape> shapes{{"sphere", Shape::sphere}, {"torus", Shape::torus}};
const std::map<std::string, Loss::Kind> losses{
    {"squared", Loss::Kind::squared}, {"huber", Loss::Kind::huber}, {"soft_l1", Loss::Kind::soft_l1},
    {"cauchy", Loss::Kind::cauchy},   {"tukey", Loss::Kind::tukey}, {"geman_mcclure", Loss::Kind::geman_mcclure}};

}  // namespace
}  // namespace pose_graph

int main(int argc, char **argv) {
  pose_graph::Options options;
  pose_graph::WorldOptions &world = options.world;
  CLI::App app{"Finds poses from measured motions between them, those of a g2o file or of a graph that it makes"};
  CLI::Option *file =
      app.add_option("file", options.file, "g2o file with VERTEX_SE3:QUAT and EDGE_SE3:QUAT; none: a graph is made");
  app.add_option("--output", options.output, "folder for the graphs and the picture")->capture_default_str();
  app.add_option("--loss", options.loss, "squared, or robust: huber, soft_l1, cauchy, tukey, geman_mcclure")
      ->transform(CLI::CheckedTransformer(pose_graph::losses));
  app.add_option("--width", options.width, "of the loss, in standard deviations")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "at most")->check(CLI::Range(1, 100000))->capture_default_str();
  app.add_option("--shape", world.shape, "of a graph that is made: sphere or torus")
      ->excludes(file)
      ->transform(CLI::CheckedTransformer(pose_graph::shapes));
  CLI::Option *rings =
      app.add_option("--rings", world.rings, "of it; 50 if not given")->excludes(file)->check(CLI::Range(2, 1000));
  CLI::Option *poses = app.add_option("--poses", world.poses_per_ring, "of each ring; 50 if not given")
                           ->excludes(file)
                           ->check(CLI::Range(3, 1000));
  app.add_option("--translation-noise", world.translation_noise, "of an edge: a standard deviation, in metres")
      ->excludes(file)
      ->check(CLI::Range(1e-6, 1.0))
      ->capture_default_str();
  app.add_option("--rotation-noise", world.rotation_noise, "in radians")
      ->excludes(file)
      ->check(CLI::Range(1e-6, 0.5))
      ->capture_default_str();
  app.add_option("--outliers", world.outliers, "fraction of the recognised places that are others")
      ->excludes(file)
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", world.seed, "of the noise")->excludes(file)->capture_default_str();
  app.add_flag("--quick", options.quick, "a small graph, where nothing else is said")->excludes(file);
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (rings->empty()) world.rings = 12;
    if (poses->empty()) world.poses_per_ring = 20;
  }
  try {
    return pose_graph::run(options);
  } catch (const std::exception &error) {
    fmt::print(stderr, "pose_graph: {}\n", error.what());
    return 2;
  }
}
