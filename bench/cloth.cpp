// A time step of a cloth of 200 × 200 particles with 12 springs each, and its adjoint. Peer: the same hand-written with
// OpenMP, with a gathering adjoint; once with C++'s 1 / √x, once with the compiler allowed to estimate it.
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "bench/support/sheet.h"

#include <algorithm>
#include <cmath>

using namespace samite;

namespace {

// Relative to the largest value.
void require_same(const Buffer<float> &ours, const Buffer<float> &peers, const std::string &what) {
  const std::vector<float> a = ours.to_vector(), b = peers.to_vector();
  double largest = 0;
  for (float value : b) largest = std::max(largest, std::abs(double(value)));
  for (std::size_t i = 0; i < a.size(); ++i) bench::require_close(a[i], b[i], 2e-5 * largest, what);
}

using Forward = void (*)(const ClothStep &, float *, float *);
using Adjoint = void (*)(const ClothStep &, float *, float *, float *, float *);

bench::Figure forward(bench::Sheet &sheet, const std::string &name, Forward run) {
  Launch launch = sheet.record(Direction::forward);
  auto peer = [&] { run(sheet.step(), sheet.peer_x.data(), sheet.peer_v.data()); };
  launch.launch();
  peer();
  require_same(sheet.next_x, sheet.peer_x, "position");
  require_same(sheet.next_v, sheet.peer_v, "velocity");
  const bench::Outcome outcome = bench::alternate({.rounds = 201}, [&] { launch.launch(); }, peer);
  return {"forward, 200 x 200", "time of a launch", outcome.ours * 1e3, "ms", name, outcome.peer * 1e3};
}

bench::Figure adjoint(bench::Sheet &sheet, const std::string &name, Adjoint run) {
  Launch launch = sheet.record(Direction::adjoint);
  auto peer = [&] {
    run(sheet.step(), sheet.peer_cotangent_x.data(), sheet.peer_cotangent_v.data(), sheet.peer_x.data(),
        sheet.peer_v.data());
  };
  sheet.prepare_adjoint();
  launch.launch();
  peer();
  require_same(sheet.x.gradient(), sheet.peer_x, "gradient of position");
  require_same(sheet.v.gradient(), sheet.peer_v, "gradient of velocity");
  require_same(sheet.next_x.gradient(), sheet.peer_cotangent_x, "gradient of the next position");
  const bench::Outcome outcome =
      bench::alternate({.rounds = 201, .prepare = [&] { sheet.prepare_adjoint(); }}, [&] { launch.launch(); }, peer);
  return {"adjoint, 200 x 200", "time of an adjoint launch", outcome.ours * 1e3, "ms", name, outcome.peer * 1e3};
}

}  // namespace

int main() {
  return bench::run("cloth", [](bench::Report &report) {
    bench::Sheet sheet(200);
    report.add(forward(sheet, "OpenMP", peer_cloth), {.ratio_at_least = 0.95});
    report.add(forward(sheet, "OpenMP, estimated roots", peer_cloth_estimated), {.ratio_at_least = 0.95});
    report.add(adjoint(sheet, "OpenMP, gather", peer_cloth_adjoint), {.ratio_at_least = 1 / 1.15});
    report.add(adjoint(sheet, "OpenMP, gather, estimated roots", peer_cloth_adjoint_estimated),
               {.ratio_at_least = 1 / 1.15});
  });
}
