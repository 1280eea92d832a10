// The gradient of 16 K bodies' accelerations with respect to positions and masses: the adjoint that Samite derives,
// which adds to the gradients of both bodies of a pair. Peer: a hand-written adjoint with OpenMP, in which each body
// gathers its own gradient without atomics; the fastest of several forms counts, once with C++'s 1 / √x, once with the
// compiler allowed to estimate it.
#include "bench/support/alternate.h"
#include "bench/support/gravity.h"
#include "bench/support/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

using namespace samite;

namespace {

using Peer = std::pair<const char *, void (*)(const Bodies &, const Vectors &, const Vectors &, float *)>;

// The part of Σ g·a that depends on body k, in double, if it were `body` = {x, y, z, mass}.
double objective(const bench::Galaxy &galaxy, const Vectors &g, int k, const std::array<double, 4> &body) {
  const Bodies b = galaxy.bodies();
  double sum = 0;
  for (int j = 0; j < b.count; ++j) {
    if (j == k) continue;
    double dx = b.x[j] - body[0], dy = b.y[j] - body[1], dz = b.z[j] - body[2];
    double cube = std::pow(dx * dx + dy * dy + dz * dz + double(b.softening) * b.softening, -1.5);
    double on_k = b.mass[j] * (dx * g.x[k] + dy * g.y[k] + dz * g.z[k]);
    double on_j = body[3] * (dx * g.x[j] + dy * g.y[j] + dz * g.z[j]);
    sum += cube * (on_k - on_j);
  }
  return sum;
}

// Against central differences for some bodies, and each against the other for all.
void verify(const bench::Galaxy &galaxy, const Vectors &g) {
  const Buffer<float> ours[] = {galaxy.x.gradient(), galaxy.y.gradient(), galaxy.z.gradient(), galaxy.mass.gradient()};
  const Buffer<float> peers[] = {galaxy.peer_x, galaxy.peer_y, galaxy.peer_z, galaxy.peer_mass};
  const char *names[] = {"x", "y", "z", "mass"};
  for (std::size_t c = 0; c < 4; ++c) {
    double largest = 0;
    for (float value : peers[c].to_vector()) largest = std::max(largest, std::abs(double(value)));
    for (int i = 0; i < galaxy.count; i += 997) {
      std::array<double, 4> low = {galaxy.x.at(i), galaxy.y.at(i), galaxy.z.at(i), galaxy.mass.at(i)}, high = low;
      constexpr double step = 1e-5;
      low[c] -= step, high[c] += step;
      double expected = (objective(galaxy, g, i, high) - objective(galaxy, g, i, low)) / (2 * step);
      std::string what = fmt::format("gradient of {} of body {}", names[c], i);
      bench::require_close(ours[c].at(i), expected, 1e-4 * largest, what);
      bench::require_close(peers[c].at(i), expected, 1e-4 * largest, what + " by the peer");
    }
    for (int i = 0; i < galaxy.count; ++i)
      bench::require_close(ours[c].at(i), peers[c].at(i), 1e-4 * largest, fmt::format("gradient of {}", names[c]));
  }
}

// The fastest of the peers, with our time next to it.
bench::Figure fastest(bench::Report &report, const std::string &what, const std::vector<Peer> &peers) {
  bench::Galaxy galaxy(16384);
  Launch adjoint = galaxy.record(bench::gravity(), Direction::adjoint);
  // The adjoint consumes the gradients of the accelerations; the accelerations' own memory keeps a copy of them.
  Vectors g{galaxy.ax.data(), galaxy.ay.data(), galaxy.az.data()};
  auto prepare = [&] {
    for (auto *buffer : {&galaxy.x, &galaxy.y, &galaxy.z, &galaxy.mass}) buffer->zero_gradient();
    for (auto *buffer : {&galaxy.ax, &galaxy.ay, &galaxy.az}) buffer->gradient().copy_from(*buffer);
    for (auto *buffer : {&galaxy.peer_x, &galaxy.peer_y, &galaxy.peer_z, &galaxy.peer_mass}) buffer->fill(0);
  };
  std::optional<bench::Figure> best;
  for (const auto &[name, run] : peers) {
    auto run_peer = [&, run = run] { run(galaxy.bodies(), g, galaxy.peer(), galaxy.peer_mass.data()); };
    prepare();
    adjoint.launch();
    run_peer();
    verify(galaxy, g);
    bench::Outcome outcome = bench::alternate({.rounds = 11, .prepare = prepare}, [&] { adjoint.launch(); }, run_peer);
    bench::Figure figure{what, "time of an adjoint launch", outcome.ours * 1e3, "ms", name, outcome.peer * 1e3};
    report.note(fmt::format("{}: {:.2f} ms, beside ours of {:.2f} ms", name, figure.peer_value, figure.value));
    if (!best || figure.peer_value < best->peer_value) best = figure;
  }
  return *best;
}

}  // namespace

int main() {
  return bench::run("nbody_adjoint", [](bench::Report &report) {
    report.add(fastest(report, "16 K bodies",
                       {{"OpenMP, gather, reduction over j", peer_nbody_adjoint_reduction},
                        {"OpenMP, gather, blocks of 16", peer_nbody_adjoint_blocks_16},
                        {"OpenMP, gather, blocks of 32", peer_nbody_adjoint_blocks_32}}),
               {.ratio_at_least = 0.9});
    report.add(fastest(report, "16 K bodies, peer estimates roots",
                       {{"OpenMP, gather, reduction, estimated", peer_nbody_adjoint_reduction_estimated},
                        {"OpenMP, gather, blocks of 16, estimated", peer_nbody_adjoint_blocks_16_estimated},
                        {"OpenMP, gather, blocks of 32, estimated", peer_nbody_adjoint_blocks_32_estimated}}),
               {.ratio_at_least = 0.9});
  });
}
