// A stencil with indices clamped at the edges, as users write it, compared with the same one on a padded array, without
// clamps. On the CPU, in cache.
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/samite.h"

#include <fmt/core.h>

using namespace samite;

namespace {

constexpr int calls = 20;  // timed together

void square(bench::Report &report, int extent) {
  Kernel clamped{"clamped", [](Array<float, 2> y, Array<const float, 2> x) {
                   auto [i, j] = thread_index<2>();
                   Int rows = x.extent(0), columns = x.extent(1);
                   y(i, j) = x(max(i - 1, 0), j) + x(min(i + 1, rows - 1), j) + x(i, max(j - 1, 0)) +
                             x(i, min(j + 1, columns - 1)) - 4.f * x(i, j);
                 }};
  Kernel padded{"padded", [](Array<float, 2> y, Array<const float, 2> x) {
                  auto [i, j] = thread_index<2>();
                  y(i, j) = x(i, j + 1) + x(i + 2, j + 1) + x(i + 1, j) + x(i + 1, j + 2) - 4.f * x(i + 1, j + 1);
                }};
  Buffer<float> y{Device::cpu(), {extent, extent}}, x{Device::cpu(), {extent, extent}},
      wide{Device::cpu(), {extent + 2, extent + 2}};
  x.fill(1);
  wide.fill(1);
  Launch ours = clamped.record({extent, extent}, y, x), peer = padded.record({extent, extent}, y, wide);
  const bench::Outcome outcome =
      bench::alternate({.rounds = 51, .calls = calls}, [&] { ours.launch(); }, [&] { peer.launch(); });
  report.add({fmt::format("5 points, {0} × {0} f32, clamped", extent), "time of a launch", outcome.ours * 1e6, "µs",
              "the same on a padded array", outcome.peer * 1e6},
             {.ratio_at_least = 1 / 1.3});
}

void cube(bench::Report &report, int extent) {
  Kernel clamped{"clamped", [](Array<float, 3> y, Array<const float, 3> x) {
                   auto [i, j, k] = thread_index<3>();
                   Int planes = x.extent(0), rows = x.extent(1), columns = x.extent(2);
                   y(i, j, k) = x(max(i - 1, 0), j, k) + x(min(i + 1, planes - 1), j, k) + x(i, max(j - 1, 0), k) +
                                x(i, min(j + 1, rows - 1), k) + x(i, j, max(k - 1, 0)) +
                                x(i, j, min(k + 1, columns - 1)) - 6.f * x(i, j, k);
                 }};
  Kernel padded{"padded", [](Array<float, 3> y, Array<const float, 3> x) {
                  auto [i, j, k] = thread_index<3>();
                  y(i, j, k) = x(i, j + 1, k + 1) + x(i + 2, j + 1, k + 1) + x(i + 1, j, k + 1) +
                               x(i + 1, j + 2, k + 1) + x(i + 1, j + 1, k) + x(i + 1, j + 1, k + 2) -
                               6.f * x(i + 1, j + 1, k + 1);
                }};
  const Extents all{extent, extent, extent};
  Buffer<float> y{Device::cpu(), all}, x{Device::cpu(), all}, wide{Device::cpu(), {extent + 2, extent + 2, extent + 2}};
  x.fill(1);
  wide.fill(1);
  Launch ours = clamped.record(all, y, x), peer = padded.record(all, y, wide);
  const bench::Outcome outcome =
      bench::alternate({.rounds = 51, .calls = calls}, [&] { ours.launch(); }, [&] { peer.launch(); });
  report.add({fmt::format("7 points, {0} × {0} × {0} f32, clamped", extent), "time of a launch", outcome.ours * 1e6,
              "µs", "the same on a padded array", outcome.peer * 1e6},
             {.ratio_at_least = 1 / 1.3});
}

}  // namespace

int main() {
  return bench::run("stencils", [](bench::Report &report) {
    for (const int extent : {64, 512}) square(report, extent);
    for (const int extent : {32, 64}) cube(report, extent);
  });
}
