#include "report.h"
#include "samite/jit/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace inverse_heat {
namespace {

// Median, because other work on a machine disturbs single times.
double microseconds(Launch launch) {
  constexpr int repeats = 101;
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    launch.launch();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

std::string origin(const CompileReport &compile) {
  if (compile.from_memory) return "this process had it";
  if (compile.from_cache) return "disk cache";
  const double opening = compile.times.open_ms + compile.times.prelude_ms;
  return opening < 1 ? "compiled" : fmt::format("compiled; {:.0f} ms of it opened the compiler, once", opening);
}

void print_launch(const Launch &launch) {
  const jit::StepTimes &times = launch.variant().report.times;
  fmt::print("{:<15} {:<8} {:>11.2f} {:>10.2f} {:>14.1f}   {}\n", launch.kernel_name(), name(launch.direction()),
             times.derive + times.lower + times.emit, times.compile, microseconds(launch),
             origin(launch.variant().host.compile));
}

}  // namespace

void print_report(const InverseProblem<float> &problem, const Outcome &outcome) {
  fmt::print("\n{:<15} {:<8} {:>11} {:>10} {:>14}\n", "kernel", "", "derive, ms", "build, ms", "one launch, µs");
  // In the order in which they were built, so that the first is the one that had to open the compiler.
  for (Direction direction : {Direction::forward, Direction::adjoint}) print_launch(problem.first_step(direction));
  for (Direction direction : {Direction::forward, Direction::adjoint}) print_launch(problem.misfit_launch(direction));

  auto row = [](const char *what, const std::string &value) { fmt::print("{:<44} {}\n", what, value); };
  fmt::print("\n");
  row("launches of the descent", fmt::format("{} in {:.2f} s", outcome.launches, outcome.descent_seconds));
  row("largest relative error of the gradient",
      fmt::format("{:.1e} (of {}, against central differences)", outcome.gradient.largest_error,
                  outcome.gradient.components));
  row("PSNR of the diffused image", fmt::format("{:.2f} dB", outcome.psnr_before));
  row("PSNR of the recovered image",
      fmt::format("{:.2f} dB ({:+.2f})", outcome.psnr_after, outcome.psnr_after - outcome.psnr_before));
  row("whole run", fmt::format("{:.1f} s", outcome.total_seconds));
}

}  // namespace inverse_heat
