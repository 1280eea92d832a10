// Weighs bodies by watching them: finds the masses of bodies that attract one another from occasional sightings, by
// descent along the gradient that the adjoint of all time steps gives.
//
// Exit code 0: the masses come out, and the gradient is right; 1: one of them failed; 2: the program could not run.
#include "orbits.h"
#include "shared/adam.h"
#include "shared/drawing.h"
#include "shared/progress_bar.h"
#include "shared/row.h"
#include "shared/stopwatch.h"
#include "shared/summary.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>

namespace nbody {
namespace {

namespace fs = std::filesystem;
using examples::Colour, examples::Drawing, examples::Stopwatch;

struct Options {
  fs::path output = "build/nbody";
  Span span;
  int bodies = 24;
  int iterations = 600;
  bool quick = false;
};

// The one in the middle is lighter than the true one, and all others are equal.
Bodies guess(Bodies bodies) {
  std::fill(bodies.mass.begin(), bodies.mass.end(), 0.018);
  bodies.mass[0] = 1.9;
  return bodies;
}

// The root mean square of the masses' relative errors.
double error(const std::vector<float> &masses, const Bodies &truth) {
  double sum = 0;
  for (std::size_t i = 0; i < masses.size(); ++i) sum += std::pow(masses[i] / truth.mass[i] - 1, 2);
  return std::sqrt(sum / static_cast<double>(masses.size()));
}

examples::GradientCheck check(Device device) {
  const Span span{.steps = 60, .steps_between_sights = 10};
  const Bodies truth = disc(16);
  Orbits<double> seen(device, truth, span), orbits(device, guess(truth), span);
  seen.mismatch();
  orbits.see(seen);
  orbits.mismatch();
  orbits.add_gradient();
  return examples::check_gradient([&] { return orbits.mismatch(); },
                                  {orbits.mass(), orbits.position(0), orbits.initial_velocity()}, 1e-5);
}

// The mismatch before each iteration, and after the last.
std::vector<double> fit(Orbits<float> &orbits, int iterations) {
  examples::Adam adam({orbits.mass()});
  examples::ProgressBar bar("weighing", iterations);
  std::vector<double> mismatches;
  for (int k = 0; k < iterations; ++k) {
    mismatches.push_back(orbits.mismatch());
    orbits.add_gradient();
    // Large steps first, small ones to settle.
    adam.step(static_cast<float>(0.002 * std::pow(0.03, double(k) / iterations)));
    bar.update(k + 1, fmt::format("mismatch {:.2e}", mismatches.back()));
  }
  mismatches.push_back(orbits.mismatch());
  return mismatches;
}

constexpr Colour seen_ink{0.1f, 0.1f, 0.1f}, guess_ink{0.95f, 0.65f, 0.6f}, found_ink{0.15f, 0.4f, 0.75f};

std::array<double, 2> place(const std::vector<float> &x, std::size_t body) {
  return {360 + 190.0 * x[body], 360 - 190.0 * x[x.size() / 3 + body]};
}

void draw_paths(Drawing &drawing, Orbits<float> &orbits, const Span &span, Colour ink) {
  std::vector<float> before = orbits.position(0).to_vector();
  for (int step = 1; step <= span.steps; ++step) {
    const std::vector<float> now = orbits.position(step).to_vector();
    for (std::size_t i = 0; i < now.size() / 3; ++i) {
      const auto from = place(before, i), to = place(now, i);
      drawing.line(from[0], from[1], to[0], to[1], 1.5, ink);
    }
    before = now;
  }
}

void draw_sights(Drawing &drawing, Orbits<float> &orbits, const Span &span) {
  for (int step = span.steps_between_sights; step <= span.steps; step += span.steps_between_sights) {
    const std::vector<float> x = orbits.position(step).to_vector();
    for (std::size_t i = 0; i < x.size() / 3; ++i) drawing.disc(place(x, i)[0], place(x, i)[1], 1.5, seen_ink);
  }
}

// A row for each body but the heavy one: its true mass, the guess, and the found one.
void draw_masses(Drawing &drawing, const Bodies &truth, const std::vector<float> &found) {
  constexpr double left = 740, width = 8000;
  const double row = 680.0 / static_cast<double>(found.size() - 1);
  for (std::size_t i = 1; i < found.size(); ++i) {
    const double y = 20 + row * (static_cast<double>(i) - 0.5);
    drawing.line(left + row / 4, y, left + width * found[i] - row / 4, y, row / 2, found_ink);  // its ends are round
    drawing.disc(left + width * 0.018, y, 3, guess_ink);
    drawing.disc(left + width * truth.mass[i], y, 3, seen_ink);
  }
}

int run(const Options &options) {
  const Stopwatch run;
  const Device device = Device::preferred();
  const Span &span = options.span;
  fs::create_directories(options.output);
  fmt::print("{} bodies, {} time steps, seen after each {}, on {} ({})\n", options.bodies, span.steps,
             span.steps_between_sights, device.to_string(), device.name());

  const Bodies truth = disc(options.bodies);
  Orbits<float> seen(device, truth, span), orbits(device, guess(truth), span);
  seen.mismatch();
  orbits.see(seen);
  Drawing drawing(1060, 720);
  orbits.mismatch();
  draw_paths(drawing, orbits, span, guess_ink);

  const double error_before = error(orbits.mass().to_vector(), truth);
  const Stopwatch fitting;
  const std::vector<double> mismatches = fit(orbits, options.iterations);

  examples::Summary summary;
  summary.objective = "mismatch of the positions";
  summary.before = mismatches.front(), summary.after = mismatches.back();
  summary.fall = options.quick ? 20 : 1000;
  summary.fit_seconds = fitting.seconds();
  draw_paths(drawing, orbits, span, found_ink);
  draw_sights(drawing, seen, span);
  draw_masses(drawing, truth, orbits.mass().to_vector());
  const fs::path picture = options.output / "nbody.png";
  drawing.write(picture);
  const double error_after = error(orbits.mass().to_vector(), truth);
  summary.gradient = check(device);
  summary.total_seconds = run.seconds();
  const int code = examples::report(orbits.chain, summary);
  examples::print_row("error of the masses, root mean square",
                      fmt::format("{:.1f} % (before: {:.1f} %)", 100 * error_after, 100 * error_before));
  fmt::print("\nWrote {} (orbits: seen as dots, guessed in red, found in blue; masses in the same colours).\n",
             picture.string());
  return code;
}

}  // namespace
}  // namespace nbody

int main(int argc, char **argv) {
  nbody::Options options;
  CLI::App app{"Finds the masses of bodies from their orbits, through the adjoint of their motion"};
  app.add_option("--output", options.output, "folder for the picture")->capture_default_str();
  CLI::Option *bodies = app.add_option("--bodies", options.bodies, "how many")->check(CLI::Range(2, 4096));
  CLI::Option *iterations =
      app.add_option("--iterations", options.iterations, "of the descent")->check(CLI::Range(1, 100000));
  app.add_flag("--quick", options.quick, "few bodies and a rough fit, where nothing else is said");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (bodies->empty()) options.bodies = 12;
    if (iterations->empty()) options.iterations = 200;
  }
  try {
    return nbody::run(options);
  } catch (const std::exception &error) {
    fmt::print(stderr, "nbody: {}\n", error.what());
    return 2;
  }
}
