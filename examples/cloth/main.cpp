// A cloth is thrown at a target: finds the velocity with which each of its particles must leave the hand for the cloth
// to arrive flat and turned by a quarter, by descent along the gradient that the adjoint of all time steps gives.
//
// Exit code 0: the cloth arrives, and the gradient is right; 1: one of them failed; 2: the program could not run.
#include "shared/adam.h"
#include "shared/drawing.h"
#include "shared/progress_bar.h"
#include "shared/stopwatch.h"
#include "shared/summary.h"
#include "throw.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>

namespace cloth {
namespace {

namespace fs = std::filesystem;
using examples::Colour, examples::Drawing, examples::Stopwatch;

struct Options {
  fs::path output = "build/cloth";
  Cloth cloth;
  int iterations = 250;
  bool quick = false;
};

// A small cloth that is bent as it flies, so that all springs pull.
examples::GradientCheck check(Device device) {
  const Cloth cloth{.side = 8, .steps = 60, .duration = 0.3, .stiffness = 400};
  Throw<double> flight(device, cloth);
  std::vector<double> velocity;
  for (int i = 0; i < 3 * cloth.side * cloth.side; ++i) velocity.push_back(std::sin(0.7 * i) + 0.03 * (i % 11));
  flight.initial_velocity().copy_from(velocity);
  flight.mismatch();
  flight.add_gradient();
  return examples::check_gradient([&] { return flight.mismatch(); }, {flight.initial_velocity(), flight.position(0)},
                                  3e-6);
}

// The mismatch before each iteration, and after the last.
std::vector<double> fit(Throw<float> &flight, int iterations) {
  examples::Adam adam({flight.initial_velocity()});
  examples::ProgressBar bar("aiming", iterations);
  std::vector<double> mismatches;
  for (int k = 0; k < iterations; ++k) {
    mismatches.push_back(flight.mismatch());
    flight.add_gradient();
    // Large steps first, small ones to settle.
    adam.step(static_cast<float>(0.2 * std::pow(0.02, double(k) / iterations)));
    bar.update(k + 1, fmt::format("mismatch {:.2e}", mismatches.back()));
  }
  mismatches.push_back(flight.mismatch());
  return mismatches;
}

// One position of the cloth, seen from the side and from above: 220 pixels a metre.
void draw(Drawing &drawing, const Cloth &cloth, const std::vector<float> &positions, Colour ink) {
  const int count = cloth.side * cloth.side;
  auto point = [&](int row, int column) {
    const int i = row * cloth.side + column;
    const double x = positions[i], y = positions[count + i], z = positions[2 * count + i];
    return std::array{90 + 220 * (x + 0.35 * z), 720 - 220 * (y - 0.25 * z)};
  };
  auto join = [&](const std::array<double, 2> &a, const std::array<double, 2> &b) {
    drawing.line(a[0], a[1], b[0], b[1], 1, ink);
  };
  for (int row = 0; row < cloth.side; ++row)
    for (int column = 0; column < cloth.side; ++column) {
      if (column + 1 < cloth.side) join(point(row, column), point(row, column + 1));
      if (row + 1 < cloth.side) join(point(row, column), point(row + 1, column));
    }
}

// The cloth on its way, darker with time, over the target in red.
void draw(Throw<float> &flight, const Cloth &cloth, const fs::path &path) {
  constexpr int frames = 5;
  Drawing drawing(1000, 560);
  const std::vector<double> goal = target(cloth);
  draw(drawing, cloth, {goal.begin(), goal.end()}, {0.9f, 0.35f, 0.3f});
  for (int frame = 0; frame <= frames; ++frame) {
    const float light = 0.75f * (1 - static_cast<float>(frame) / frames);
    draw(drawing, cloth, flight.position(frame * cloth.steps / frames).to_vector(),
         {light, 0.15f + 0.75f * light, 0.4f + 0.6f * light});
  }
  drawing.write(path);
}

int run(const Options &options) {
  const Stopwatch run;
  const Device device = Device::preferred();
  const Cloth &cloth = options.cloth;
  fs::create_directories(options.output);
  fmt::print("{} x {} particles, {} time steps of {} ms, on {} ({})\n", cloth.side, cloth.side, cloth.steps,
             1000 * cloth.duration / cloth.steps, device.to_string(), device.name());

  Throw<float> flight(device, cloth);
  const Stopwatch fitting;
  const std::vector<double> mismatches = fit(flight, options.iterations);

  examples::Summary summary;
  const double particles = double(cloth.side) * cloth.side;
  summary.objective = "mean squared distance from the target, m²";
  summary.before = mismatches.front() / particles, summary.after = mismatches.back() / particles;
  summary.fall = options.quick ? 10 : 1000;
  summary.fit_seconds = fitting.seconds();
  const fs::path picture = options.output / "cloth.png";
  draw(flight, cloth, picture);
  summary.gradient = check(device);
  summary.total_seconds = run.seconds();
  const int code = examples::report(flight.chain, summary);
  fmt::print("\nWrote {} (the cloth on its way, over the target in red).\n", picture.string());
  return code;
}

}  // namespace
}  // namespace cloth

int main(int argc, char **argv) {
  cloth::Options options;
  CLI::App app{"Finds the throw that lands a cloth on a target, through the adjoint of its flight"};
  app.add_option("--output", options.output, "folder for the picture")->capture_default_str();
  CLI::Option *side =
      app.add_option("--side", options.cloth.side, "particles along each edge")->check(CLI::Range(4, 128));
  CLI::Option *iterations =
      app.add_option("--iterations", options.iterations, "of the descent")->check(CLI::Range(1, 100000));
  app.add_flag("--quick", options.quick, "a coarse cloth and a rough fit, where nothing else is said");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (side->empty()) options.cloth.side = 16;
    if (iterations->empty()) options.iterations = 80;
  }
  try {
    return cloth::run(options);
  } catch (const std::exception &error) {
    fmt::print(stderr, "cloth: {}\n", error.what());
    return 2;
  }
}
