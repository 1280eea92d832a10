// Finds a scene from one picture of it: positions, sizes and colours of soft blobs, by descent along the gradient that
// the adjoint of a ray marcher gives. Each ray takes its own number of steps, and the adjoint goes back over them.
//
// Exit code 0: the picture is met, and the gradient is right; 1: one of them failed; 2: the program could not run.
#include "renderer.h"
#include "scenes.h"
#include "shared/adam.h"
#include "shared/drawing.h"
#include "shared/progress_bar.h"
#include "shared/stopwatch.h"
#include "shared/summary.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cmath>

namespace ray_marcher {
namespace {

namespace fs = std::filesystem;
using examples::Stopwatch;

struct Options {
  fs::path output = "build/ray_marcher";
  Camera camera;
  int iterations = 300;
  bool quick = false;
};

template <class T>
std::vector<T> as(const std::vector<double> &values) {
  return {values.begin(), values.end()};
}

// Renders the hidden scene, keeps the picture as the target, and replaces the scene by the first guess.
template <class T>
void set_out(Renderer<T> &renderer) {
  renderer.scene().copy_from(as<T>(hidden_scene()));
  renderer.mismatch();
  renderer.target().copy_from(renderer.picture().to_vector());
  renderer.scene().copy_from(as<T>(first_guess()));
}

// With a tolerance so small that one step more or less of a ray does not show.
examples::GradientCheck check(Device device) {
  Renderer<double> renderer(device, {.width = 16, .height = 12, .steps = 400, .tolerance = 1e-12}, blobs);
  set_out(renderer);
  renderer.mismatch();
  renderer.add_gradient();
  return examples::check_gradient([&] { return renderer.mismatch(); }, {renderer.scene()}, 1e-6);
}

// The picture of each scene on the way, and the target, from left to right.
void draw(const std::vector<std::vector<float>> &pictures, const Camera &camera, const fs::path &path) {
  constexpr int scale = 3, gap = 6;
  const int width = camera.width * scale + gap;
  examples::Drawing drawing(static_cast<int>(pictures.size()) * width - gap, camera.height * scale);
  for (std::size_t n = 0; n < pictures.size(); ++n)
    for (int y = 0; y < camera.height * scale; ++y)
      for (int x = 0; x < camera.width * scale; ++x) {
        const float *pixel = &pictures[n][3 * ((y / scale) * static_cast<std::size_t>(camera.width) + x / scale)];
        drawing.blend(static_cast<int>(n) * width + x, y, {pixel[0], pixel[1], pixel[2]}, 1);
      }
  drawing.write(path);
}

int run(const Options &options) {
  const Stopwatch run;
  const Device device = Device::preferred();
  const Camera &camera = options.camera;
  fs::create_directories(options.output);
  fmt::print("{} x {} pixels, at most {} steps each, {} blobs of {} parameters, on {} ({})\n", camera.width,
             camera.height, camera.steps, blobs, blob_size, device.to_string(), device.name());

  Renderer<float> renderer(device, camera, blobs);
  set_out(renderer);

  const Stopwatch fitting;
  examples::Adam adam({renderer.scene()});
  examples::ProgressBar bar("fitting", options.iterations);
  std::vector<std::vector<float>> pictures;
  examples::Summary summary;
  for (int k = 0; k < options.iterations; ++k) {
    const double mismatch = renderer.mismatch();
    if (k == 0) summary.before = mismatch;
    if (k == 0 || k == options.iterations / 8) pictures.push_back(renderer.picture().to_vector());
    renderer.add_gradient();
    // Large steps first, small ones to settle.
    adam.step(static_cast<float>(0.015 * std::pow(0.1, double(k) / options.iterations)));
    bar.update(k + 1, fmt::format("mismatch {:.2e}", mismatch));
  }
  summary.objective = "mismatch of the picture";
  summary.after = renderer.mismatch();
  summary.fall = options.quick ? 4 : 50;
  summary.fit_seconds = fitting.seconds();
  pictures.push_back(renderer.picture().to_vector());
  pictures.push_back(renderer.target().to_vector());
  const fs::path picture = options.output / "ray_marcher.png";
  draw(pictures, camera, picture);
  summary.gradient = check(device);
  summary.total_seconds = run.seconds();
  const int code = examples::report(renderer.chain, summary);
  fmt::print("\nWrote {} (the first guess, on the way, the scene that was found; the target).\n", picture.string());
  return code;
}

}  // namespace
}  // namespace ray_marcher

int main(int argc, char **argv) {
  ray_marcher::Options options;
  CLI::App app{"Finds a scene of soft blobs from a picture of it, through the adjoint of a ray marcher"};
  app.add_option("--output", options.output, "folder for the picture")->capture_default_str();
  CLI::Option *width = app.add_option("--width", options.camera.width, "of the picture")->check(CLI::Range(8, 4096));
  CLI::Option *height = app.add_option("--height", options.camera.height, "of it")->check(CLI::Range(8, 4096));
  CLI::Option *iterations =
      app.add_option("--iterations", options.iterations, "of the descent")->check(CLI::Range(1, 100000));
  app.add_flag("--quick", options.quick, "a small picture and a rough fit, where nothing else is said");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    if (width->empty()) options.camera.width = 40;
    if (height->empty()) options.camera.height = 30;
    if (iterations->empty()) options.iterations = 40;
  }
  try {
    return ray_marcher::run(options);
  } catch (const std::exception &error) {
    fmt::print(stderr, "ray_marcher: {}\n", error.what());
    return 2;
  }
}
