// The inverse heat problem: diffuses a photograph, then recovers it from only the diffused image, by descent along the
// gradient that the adjoint of the whole diffusion gives. No noise is added: the recovery is limited because diffusion
// leaves next to nothing of the finest detail.
//
// Exit code 0: the picture came back, and the gradient is right; 1: one of them failed; 2: the program could not run.
#include "descent.h"
#include "gradient_check.h"
#include "loss_curve.h"
#include "report.h"
#include "shared/image.h"
#include "shared/progress_bar.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>

namespace inverse_heat {
namespace {

namespace fs = std::filesystem;
using examples::middle, examples::ProgressBar, examples::psnr, examples::read_grey, examples::write_side_by_side;

struct Options {
  fs::path image = fs::path(SAMITE_EXAMPLE_DIR) / "photograph.png";
  fs::path output = "build/demo";
  Diffusion diffusion{16, 0.125};
  int iterations = 400;
  int check_size = 32;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int run(const Options &options) {
  const auto start = std::chrono::steady_clock::now();
  const Device device = Device::preferred();
  const Image original = read_grey(options.image);
  fs::create_directories(options.output);
  fmt::print("{}: {} x {} pixels, {} diffusion steps of rate {}, on {} ({})\n", options.image.filename().string(),
             original.width, original.height, options.diffusion.steps, options.diffusion.rate, device.to_string(),
             device.name());

  InverseProblem<float> problem(device, {original.height, original.width}, options.diffusion);
  problem.initial().copy_from(original.pixels);
  problem.diffuse();
  problem.target().copy_from(problem.diffused());
  const Image diffused{original.width, original.height, problem.target().to_vector()};

  const auto descent_start = std::chrono::steady_clock::now();
  ProgressBar bar("recovering", options.iterations);
  const Descent descent = descend(problem, options.iterations, [&](int iteration, double loss) {
    bar.update(iteration, fmt::format("misfit {:.2e}", loss));
  });

  Outcome outcome;
  outcome.descent_seconds = seconds_since(descent_start);
  outcome.launches = options.iterations * (2L * options.diffusion.steps + 3);
  const Image recovered{original.width, original.height, descent.recovered};
  outcome.psnr_before = psnr(diffused, original);
  outcome.psnr_after = psnr(recovered, original);
  outcome.gradient = check_gradient(device, middle(original, options.check_size), options.diffusion);

  const fs::path pictures = options.output / "inverse_heat.png", curve = options.output / "loss.png";
  write_side_by_side(pictures, {original, diffused, recovered});
  outcome.total_seconds = seconds_since(start);
  print_report(problem, outcome);
  fmt::print("\nWrote {} (original, diffused, recovered).\n", pictures.string());
  write_loss_curve(curve, descent.losses);
  fmt::print("Wrote {}.\n", curve.string());

  if (!outcome.good())
    fmt::print(stderr, "Failed: PSNR is to rise by {} dB, and the gradient's error to stay below {:g}.\n",
               Outcome::required_rise, Outcome::allowed_error);
  return outcome.good() ? 0 : 1;
}

}  // namespace
}  // namespace inverse_heat

int main(int argc, char **argv) {
  inverse_heat::Options options;
  CLI::App app{"Diffuses a photograph, and recovers it through the adjoint of the diffusion"};
  app.add_option("--image", options.image, "PNG or JPEG")->capture_default_str();
  app.add_option("--output", options.output, "folder for the pictures")->capture_default_str();
  app.add_option("--steps", options.diffusion.steps, "of the diffusion")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--rate", options.diffusion.rate, "of the diffusion, each step; stable up to 0.25")
      ->check(CLI::Range(0.0, 0.25))
      ->capture_default_str();
  app.add_option("--iterations", options.iterations, "of the descent")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--check-size", options.check_size, "side of the square on which the gradient is checked")
      ->check(CLI::Range(2, 256))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return inverse_heat::run(options);
  } catch (const std::exception &error) {
    fmt::print(stderr, "inverse_heat: {}\n", error.what());
    return 2;
  }
}
