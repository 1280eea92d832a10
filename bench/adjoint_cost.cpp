// The cost of an adjoint compared with its forward launch, which is the peer here: the ratio is the forward time over
// the adjoint's.
#include "bench/support/alternate.h"
#include "bench/support/gravity.h"
#include "bench/support/report.h"
#include "bench/support/sheet.h"
#include "examples/fluid/simulation.h"
#include "examples/ray_marcher/renderer.h"

#include <fmt/core.h>

#include <cmath>
#include <numbers>

using namespace samite;

namespace {

constexpr bench::Reach reach{.ratio_at_least = 1 / 3.5};

template <class Forward, class Adjoint>
void compare(bench::Report &report, const std::string &what, const std::function<void()> &prepare,
             const Forward &forward, const Adjoint &adjoint) {
  const bench::Outcome outcome = bench::alternate({.rounds = 21, .prepare = prepare}, adjoint, forward);
  report.add({what, "time of the adjoint", outcome.ours * 1e3, "ms", "the same, forward", outcome.peer * 1e3}, reach);
  report.note(fmt::format("{}: the adjoint takes {:.2f} times as long", what, outcome.ours / outcome.peer));
}

void compare_nbody(bench::Report &report) {
  const bench::Galaxy galaxy(16384);
  Launch forward = galaxy.record(bench::gravity(), Direction::forward);
  Launch adjoint = galaxy.record(bench::gravity(), Direction::adjoint);
  auto prepare = [&] {
    for (const auto *buffer : {&galaxy.ax, &galaxy.ay, &galaxy.az}) buffer->gradient().fill(1);
  };
  compare(report, "N-body, 16 K bodies", prepare, [&] { forward.launch(); }, [&] { adjoint.launch(); });
}

void compare_cloth(bench::Report &report) {
  bench::Sheet sheet(200);
  Launch forward = sheet.record(Direction::forward), adjoint = sheet.record(Direction::adjoint);
  compare(
      report, "cloth, 200 x 200", [&] { sheet.prepare_adjoint(); }, [&] { forward.launch(); },
      [&] { adjoint.launch(); });
}

// A swirl that carries a stripe of smoke.
void compare_fluid(bench::Report &report) {
  const fluid::Box box{.size = 250, .steps = 1, .pressure_iterations = 20};
  fluid::Simulation<float> fluid(Device::cpu(), box);
  std::vector<float> v_y, v_x, smoke;
  for (int y = 0; y < box.size; ++y)
    for (int x = 0; x < box.size; ++x) {
      v_y.push_back(std::sin(0.013f * static_cast<float>(x)));
      v_x.push_back(std::cos(0.017f * static_cast<float>(y)));
      smoke.push_back(x > 100 && x < 150 ? 1.0f : 0.0f);
    }
  fluid.initial_v_y().copy_from(v_y);
  fluid.initial_v_x().copy_from(v_x);
  fluid.smoke(0).copy_from(smoke);
  compare(report, "fluid step, 250 x 250", [] {}, [&] { fluid.mismatch(); }, [&] { fluid.add_gradient(); });
}

// A ring of blobs, with rays that hit it, rays that pass it closely and rays that go to the end.
void compare_ray_marcher(bench::Report &report) {
  constexpr int blobs = 6;
  const ray_marcher::Camera camera{.width = 320, .height = 240};
  ray_marcher::Renderer<float> renderer(Device::cpu(), camera, blobs);
  std::vector<float> scene;
  for (int b = 0; b < blobs; ++b) {
    const float angle = 2 * std::numbers::pi_v<float> * static_cast<float>(b) / blobs;
    for (const float value : {0.6f * std::cos(angle), 0.6f * std::sin(angle), 0.1f, 0.3f, 0.5f, 0.4f, 0.3f})
      scene.push_back(value);
  }
  renderer.scene().copy_from(scene);
  compare(report, "ray marcher, 320 x 240", [] {}, [&] { renderer.mismatch(); }, [&] { renderer.add_gradient(); });
}

}  // namespace

int main() {
  return bench::run("adjoint_cost", [](bench::Report &report) {
    compare_nbody(report);
    compare_cloth(report);
    compare_fluid(report);
    compare_ray_marcher(report);
  });
}
