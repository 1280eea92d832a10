// Accelerations of 16 K bodies under gravity, all pairs. Peer: the same loops with OpenMP in several forms, the fastest
// of which counts; once with C++'s 1 / √x, once with the compiler allowed to estimate it.
#include "bench/support/alternate.h"
#include "bench/support/gravity.h"
#include "bench/support/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

using namespace samite;

namespace {

// The acceleration of one body, in double.
double acceleration_along_x(const bench::Galaxy &galaxy, int i) {
  const Bodies b = galaxy.bodies();
  double sum = 0;
  for (int j = 0; j < b.count; ++j) {
    double dx = double(b.x[j]) - b.x[i], dy = double(b.y[j]) - b.y[i], dz = double(b.z[j]) - b.z[i];
    sum += b.mass[j] * dx * std::pow(dx * dx + dy * dy + dz * dz + double(b.softening) * b.softening, -1.5);
  }
  return sum;
}

// Relative to the largest acceleration, since the small ones are differences of large ones.
void verify(const bench::Galaxy &galaxy) {
  double largest = 0;
  for (int i = 0; i < galaxy.count; ++i) largest = std::max(largest, std::abs(double(galaxy.ax.data()[i])));
  for (int i = 0; i < galaxy.count; i += 997) {
    double expected = acceleration_along_x(galaxy, i);
    bench::require_close(galaxy.ax.at(i), expected, 1e-4 * largest, fmt::format("acceleration of body {}", i));
    bench::require_close(galaxy.peer_x.at(i), expected, 1e-4 * largest, fmt::format("the peer's, of body {}", i));
  }
  for (int i = 0; i < galaxy.count; ++i) {
    bench::require_close(galaxy.ax.at(i), galaxy.peer_x.at(i), 1e-4 * largest, fmt::format("x of body {}", i));
    bench::require_close(galaxy.ay.at(i), galaxy.peer_y.at(i), 1e-4 * largest, fmt::format("y of body {}", i));
    bench::require_close(galaxy.az.at(i), galaxy.peer_z.at(i), 1e-4 * largest, fmt::format("z of body {}", i));
  }
}

using Peer = std::pair<const char *, void (*)(const Bodies &, const Vectors &)>;

// The fastest of the peers, with our time next to it.
bench::Figure fastest(bench::Report &report, const std::string &what, const std::vector<Peer> &peers) {
  bench::Galaxy galaxy(16384);
  Launch launch = galaxy.record(bench::gravity(), Direction::forward);
  std::optional<bench::Figure> best;
  for (const auto &[name, run] : peers) {
    auto run_peer = [&, run = run] { run(galaxy.bodies(), galaxy.peer()); };
    launch.launch();
    run_peer();
    verify(galaxy);
    bench::Outcome outcome = bench::alternate({.rounds = 21}, [&] { launch.launch(); }, run_peer);
    bench::Figure figure{what, "time of a launch", outcome.ours * 1e3, "ms", name, outcome.peer * 1e3};
    report.note(fmt::format("{}: {:.2f} ms, beside ours of {:.2f} ms", name, figure.peer_value, figure.value));
    if (!best || figure.peer_value < best->peer_value) best = figure;
  }
  return *best;
}

}  // namespace

int main() {
  return bench::run("nbody", [](bench::Report &report) {
    report.add(fastest(report, "16 K bodies",
                       {{"OpenMP, reduction over j", peer_nbody_reduction},
                        {"OpenMP, blocks of 16 bodies", peer_nbody_blocks_16},
                        {"OpenMP, blocks of 32 bodies", peer_nbody_blocks_32}}),
               {.ratio_at_least = 0.95});
    report.add(fastest(report, "16 K bodies, peer estimates roots",
                       {{"OpenMP, reduction over j, estimated", peer_nbody_reduction_estimated},
                        {"OpenMP, blocks of 16 bodies, estimated", peer_nbody_blocks_16_estimated},
                        {"OpenMP, blocks of 32 bodies, estimated", peer_nbody_blocks_32_estimated}}),
               {.ratio_at_least = 0.95});
  });
}
