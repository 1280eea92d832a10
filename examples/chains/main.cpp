// Rigid chains on a floor: finds the throws that make 64 chains land at given places, by descent along the gradient
// that the adjoint of all time steps gives, through joints, impacts and friction.
//
// Exit code 0: the chains land there, and the gradient is right; 1: one of them failed; 2: the program could not run.
#include "shared/adam.h"
#include "shared/drawing.h"
#include "shared/progress_bar.h"
#include "shared/stopwatch.h"
#include "shared/summary.h"
#include "simulation.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <random>

namespace chains {
namespace {

namespace fs = std::filesystem;
using examples::Stopwatch;

struct Options {
  fs::path output = "build/chains";
  Model model;
  int iterations = 150;
  bool quick = false;
};

// throws(quantity, chain): forwards and up, with a spin; the same on every machine.
template <class T>
std::vector<T> hidden_throws(int chains) {
  std::mt19937 engine(20);
  const auto between = [&](double low, double high) { return low + (high - low) * (engine() / 4294967296.0); };
  constexpr double low[] = {0.5, -0.5, 0.0, -1.0, -1.2, -1.2}, high[] = {2.5, 0.5, 1.6, 1.0, 1.2, 1.2};
  std::vector<T> throws;
  for (int i = 0; i < 6; ++i)
    for (int chain = 0; chain < chains; ++chain) throws.push_back(static_cast<T>(between(low[i], high[i])));
  return throws;
}

template <class T>
std::vector<T> first_guess(int chains) {
  constexpr double middle[] = {1.5, 0, 1, 0, 0, 0};
  std::vector<T> throws;
  for (const double value : middle)
    throws.insert(throws.end(), static_cast<std::size_t>(chains), static_cast<T>(value));
  return throws;
}

// Throws the hidden throws, keeps the landed chains as the target, and replaces the throws by the first guess.
template <class T>
void set_out(Simulation<T> &simulation, const Model &model) {
  simulation.throws().copy_from(hidden_throws<T>(model.chains));
  simulation.miss();
  std::vector<T> landed = simulation.state(model.steps).to_vector();
  landed.resize(static_cast<std::size_t>(3) * model.links * model.chains);  // the positions come first
  simulation.target().copy_from(landed);
  simulation.throws().copy_from(first_guess<T>(model.chains));
}

// Chains that are thrown onto the floor immediately, so that the contacts matter.
examples::GradientCheck check(Device device) {
  const Model model{.links = 3, .chains = 5, .steps = 150, .height = 0.08};
  Simulation<double> simulation(device, model);
  set_out(simulation, model);
  simulation.miss();
  simulation.add_gradient();
  return examples::check_gradient([&] { return simulation.miss(); }, {simulation.throws()}, 1e-6);
}

// Some of the chains from the side, in rows: pale at their targets, blue in flight and after landing.
class Picture {
 public:
  explicit Picture(const Model &model) : model_(model) {}

  void target(const std::vector<float> &positions) {
    for (int chain = 0; chain < rows; ++chain) rods(positions, chain, 10, {1.0f, 0.72f, 0.45f});
  }
  void state(const std::vector<float> &state, double width, examples::Colour ink) {
    for (int chain = 0; chain < rows; ++chain) rods(state, chain, width, ink);
  }
  void write(const fs::path &path) {
    for (int chain = 0; chain < rows; ++chain) {
      const double y = y_of(chain, 0);
      drawing_.line(0, y + 4, drawing_.width(), y + 4, 2, {0.4f, 0.4f, 0.4f});
    }
    drawing_.write(path);
  }

  static constexpr int rows = 4;

 private:
  static constexpr int row_height = 190, pixels_per_metre = 110;

  static double y_of(int chain, double z) { return (chain + 1) * row_height - 12 - z * pixels_per_metre; }

  // Middles of the rods, joined; the first index is the quantity, position first.
  void rods(const std::vector<float> &state, int chain, double width, examples::Colour ink) {
    const auto at = [&](int i, int link) {
      return static_cast<double>(state[(static_cast<std::size_t>(i) * model_.links + link) * model_.chains + chain]);
    };
    const auto x = [&](int link) { return (at(0, link) + 1.3) * pixels_per_metre; };
    const auto y = [&](int link) { return y_of(chain, at(2, link) - model_.radius); };
    for (int link = 0; link + 1 < model_.links; ++link)
      drawing_.line(x(link), y(link), x(link + 1), y(link + 1), width, ink);
  }

  Model model_;
  examples::Drawing drawing_{620, rows * row_height};
};

int run(const Options &options) {
  const Stopwatch run;
  const Device device = Device::preferred();
  const Model &model = options.model;
  fs::create_directories(options.output);
  fmt::print("{} chains of {} rods, {} time steps of {} ms, on {} ({})\n", model.chains, model.links, model.steps,
             model.dt * 1e3, device.to_string(), device.name());

  Simulation<float> simulation(device, model);
  set_out(simulation, model);

  const Stopwatch fitting;
  examples::Adam adam({simulation.throws()});
  examples::ProgressBar bar("fitting", options.iterations);
  examples::Summary summary;
  Picture picture(model);
  for (int k = 0; k < options.iterations; ++k) {
    const double miss = simulation.miss();
    if (k == 0) {
      summary.before = miss;
      picture.target(simulation.target().to_vector());
      picture.state(simulation.state(model.steps).to_vector(), 2, {0.75f, 0.2f, 0.2f});
    }
    simulation.add_gradient();
    // Large steps first, small ones to settle.
    adam.step(static_cast<float>(0.15 * std::pow(0.02, double(k) / options.iterations)));
    bar.update(k + 1, fmt::format("miss {:.2e} m²", miss));
  }
  summary.objective = "squared distance from the target";
  summary.after = simulation.miss();
  summary.fall = options.quick ? 2 : 10;
  summary.fit_seconds = fitting.seconds();
  for (int frame = 0; frame <= 5; ++frame)
    picture.state(simulation.state(model.steps * frame / 5).to_vector(), frame == 5 ? 4 : 2,
                  frame == 5 ? examples::Colour{0.1f, 0.25f, 0.6f} : examples::Colour{0.7f, 0.78f, 0.92f});
  const fs::path path = options.output / "chains.png";
  picture.write(path);
  summary.gradient = check(device);
  summary.total_seconds = run.seconds();
  const int code = examples::report(simulation.chain, summary);
  fmt::print("\nWrote {} (orange: where the chains should land; red: the first guess; blue: the throws found).\n",
             path.string());
  return code;
}

}  // namespace
}  // namespace chains

int main(int argc, char **argv) {
  chains::Options options;
  CLI::App app{"Finds the throws that make rigid chains land in given places, through contacts and friction"};
  app.add_option("--output", options.output, "folder for the picture")->capture_default_str();
  CLI::Option *count =
      app.add_option("--chains", options.model.chains, "that are thrown")->check(CLI::Range(4, 100000));
  CLI::Option *steps = app.add_option("--steps", options.model.steps, "of time")->check(CLI::Range(10, 100000));
  CLI::Option *iterations =
      app.add_option("--iterations", options.iterations, "of the descent")->check(CLI::Range(1, 100000));
  app.add_flag("--quick", options.quick, "few steps and a rough fit, where nothing else is said");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (count->empty()) options.model.chains = 16;
    if (steps->empty()) options.model.steps = 300;
    if (iterations->empty()) options.iterations = 30;
  }
  try {
    return chains::run(options);
  } catch (const std::exception &error) {
    fmt::print(stderr, "chains: {}\n", error.what());
    return 2;
  }
}
