// y += a x over 64 M floats, limited by memory bandwidth. Peer: the loop with OpenMP, on the same memory.
#include "bench/peers/axpy.h"
#include "bench/support/alternate.h"
#include "bench/support/report.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <cmath>

using namespace samite;

int main() {
  return bench::run("axpy", [](bench::Report &report) {
    constexpr std::int64_t count = std::int64_t{64} << 20;
    constexpr float a = 0.5f;
    Kernel axpy{"axpy", [](Array<float, 1> y, Array<const float, 1> x, Float a) {
                  Int i = thread_index();
                  y(i) += a * x(i);
                }};

    Buffer<float> y{Device::cpu(), {count}}, x{Device::cpu(), {count}};
    // The first thread to touch a page determines its place; the peer's threads touch pages in the same pattern as
    // later.
    peer_axpy(y.data(), x.data(), a, count);
    for (std::int64_t i = 0; i < count; ++i) x.data()[i] = static_cast<float>(i % 1000);
    Launch launch = axpy.record({count}, y, x, a);

    launch.launch();
    peer_axpy(y.data(), x.data(), a, count);
    for (std::int64_t i = 0; i < count; ++i)
      if (y.data()[i] != 2 * a * x.data()[i]) bench::require_close(y.data()[i], 2 * a * x.data()[i], 0, "axpy");

    bench::Outcome outcome =
        bench::alternate({.rounds = 21}, [&] { launch.launch(); }, [&] { peer_axpy(y.data(), x.data(), a, count); });
    report.add(
        {"64 M floats", "time of a launch", outcome.ours * 1e3, "ms", "OpenMP, parallel for simd", outcome.peer * 1e3},
        {.ratio_at_least = 0.95});
    double bytes = 3.0 * sizeof(float) * count;
    report.note(
        fmt::format("{:.1f} GB/s, the peer {:.1f} GB/s", bytes / outcome.ours * 1e-9, bytes / outcome.peer * 1e-9));
  });
}
