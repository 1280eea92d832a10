// A fluid in a box: finds the initial velocity that turns a round cloud of smoke into the letter S, by descent along
// the gradient that the adjoint of all time steps gives, pressure iterations included.
//
// Exit code 0: the smoke takes the shape, and the gradient is right; 1: one of them failed; 2: the program could not
// run.
#include "fit.h"
#include "shapes.h"
#include "shared/drawing.h"
#include "shared/progress_bar.h"
#include "shared/stopwatch.h"
#include "shared/summary.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>

namespace fluid {
namespace {

namespace fs = std::filesystem;
using examples::Drawing, examples::Image, examples::Stopwatch;

struct Options {
  fs::path output = "build/fluid";
  Box box;
  int iterations = 300;
  bool quick = false;
};

// A small box with a swirl, so that no derivative vanishes for lack of motion.
examples::GradientCheck check(Device device) {
  const Box box{.size = 16, .steps = 6, .pressure_iterations = 8};
  Simulation<double> simulation(device, box);
  const Image start = cloud(box.size), end = letter(box.size);
  simulation.smoke(0).copy_from(std::vector<double>(start.pixels.begin(), start.pixels.end()));
  simulation.target().copy_from(std::vector<double>(end.pixels.begin(), end.pixels.end()));
  std::vector<double> v_y, v_x;
  for (int y = 0; y < box.size; ++y)
    for (int x = 0; x < box.size; ++x) {
      v_y.push_back(0.4 * std::sin(0.37 * x + 0.1) + 0.2 * std::cos(0.71 * y));
      v_x.push_back(-0.4 * std::sin(0.41 * y + 0.2) + 0.2 * std::cos(0.53 * x));
    }
  simulation.initial_v_y().copy_from(v_y);
  simulation.initial_v_x().copy_from(v_x);
  simulation.mismatch();
  simulation.add_gradient();
  return examples::check_gradient([&] { return simulation.mismatch(); },
                                  {simulation.initial_v_y(), simulation.initial_v_x(), simulation.smoke(0)}, 1e-5);
}

// The smoke at the beginning, with the found velocity; on its way; at the end; the target.
void draw(Simulation<float> &simulation, const Box &box, const Image &target, const fs::path &path) {
  constexpr int frames = 5, scale = 4, gap = 8;
  constexpr examples::Colour paper{1, 1, 1}, smoke{0.12f, 0.16f, 0.32f}, goal{0.55f, 0.13f, 0.13f},
      arrow{0.9f, 0.45f, 0};
  const int side = box.size * scale;
  Drawing drawing((frames + 1) * (side + gap) - gap, side, {0.8f, 0.8f, 0.8f});
  for (int frame = 0; frame < frames; ++frame) {
    const Image image{box.size, box.size, simulation.smoke(frame * box.steps / (frames - 1)).to_vector()};
    drawing.image(frame * (side + gap), 0, image, scale, paper, smoke);
  }
  drawing.image(frames * (side + gap), 0, target, scale, paper, goal);

  const Image v_y{box.size, box.size, simulation.initial_v_y().to_vector()};
  const Image v_x{box.size, box.size, simulation.initial_v_x().to_vector()};
  for (int y = 2; y < box.size; y += 4)
    for (int x = 2; x < box.size; x += 4) {
      const double from_x = (x + 0.5) * scale, from_y = (y + 0.5) * scale, length = 4.0 * scale;
      drawing.disc(from_x, from_y, 1.5, arrow);
      drawing.line(from_x, from_y, from_x + length * v_x.at(y, x), from_y + length * v_y.at(y, x), 1, arrow);
    }
  drawing.write(path);
}

int run(const Options &options) {
  const Stopwatch run;
  const Device device = Device::preferred();
  const Box &box = options.box;
  fs::create_directories(options.output);
  fmt::print("{} x {} cells, {} time steps with {} pressure iterations each, on {} ({})\n", box.size, box.size,
             box.steps, box.pressure_iterations, device.to_string(), device.name());

  Simulation<float> simulation(device, box);
  const Image target = letter(box.size);
  simulation.smoke(0).copy_from(cloud(box.size).pixels);
  simulation.target().copy_from(target.pixels);

  const Stopwatch fitting;
  examples::ProgressBar bar("fitting", options.iterations);
  const std::vector<double> mismatches = fit(simulation, options.iterations, [&](int iteration, double mismatch) {
    bar.update(iteration, fmt::format("mismatch {:.2e}", mismatch));
  });

  examples::Summary summary;
  summary.objective = "mismatch of the smoke";
  summary.before = mismatches.front(), summary.after = mismatches.back();
  summary.fall = options.quick ? 2 : 10;
  summary.fit_seconds = fitting.seconds();
  const fs::path picture = options.output / "fluid.png";
  draw(simulation, box, target, picture);
  summary.gradient = check(device);
  summary.total_seconds = run.seconds();
  const int code = examples::report(simulation.chain, summary);
  fmt::print("\nWrote {} (the smoke on its way, with the velocity that was found; the target).\n", picture.string());
  return code;
}

}  // namespace
}  // namespace fluid

int main(int argc, char **argv) {
  fluid::Options options;
  CLI::App app{"Finds the velocity that carries smoke into a shape, through the adjoint of a fluid"};
  app.add_option("--output", options.output, "folder for the picture")->capture_default_str();
  CLI::Option *size = app.add_option("--size", options.box.size, "cells along each side")->check(CLI::Range(16, 512));
  CLI::Option *steps = app.add_option("--steps", options.box.steps, "of time")->check(CLI::Range(4, 1000));
  CLI::Option *iterations =
      app.add_option("--iterations", options.iterations, "of the descent")->check(CLI::Range(1, 100000));
  app.add_flag("--quick", options.quick, "a small box and a rough fit, where nothing else is said");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (size->empty()) options.box.size = 32;
    if (steps->empty()) options.box.steps = 12;
    if (iterations->empty()) options.iterations = 40;
  }
  try {
    return fluid::run(options);
  } catch (const std::exception &error) {
    fmt::print(stderr, "fluid: {}\n", error.what());
    return 2;
  }
}
