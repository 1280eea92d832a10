#include "shared/summary.h"
#include "samite/jit/variant.h"
#include "shared/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace examples {
namespace {

// Median, because other work on a machine disturbs single times.
template <class Work>
double microseconds(const Work &work, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  const auto middle = times.begin() + repeats / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double compile_milliseconds(const samite::Launch &launch) { return launch.variant().report.times.total(); }

// One row for each kernel, in the order of their first launches.
void print_kernels(const Chain &chain) {
  std::map<std::string, int> count;
  for (std::size_t i = 0; i < chain.size(); ++i) ++count[chain.forward(i).kernel_name()];

  fmt::print("\n{:<18} {:>8} {:>21} {:>25} {:>9}\n", "", "", "compile, ms", "one launch, µs", "adjoint /");
  fmt::print("{:<18} {:>8} {:>11} {:>9} {:>15} {:>9} {:>9}\n", "kernel", "launches", "forward", "adjoint", "forward",
             "adjoint", "forward");
  bool cached = false;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    samite::Launch forward = chain.forward(i), adjoint = chain.adjoint(i);
    const auto launches = count.extract(forward.kernel_name());
    if (!launches) continue;
    cached = cached || forward.variant().host.compile.from_cache || adjoint.variant().host.compile.from_cache;
    const double there = microseconds([&] { forward.launch(); }, 51),
                 back = microseconds([&] { adjoint.launch(); }, 51);
    fmt::print("{:<18} {:>8} {:>11.1f} {:>9.1f} {:>15.1f} {:>9.1f} {:>9.2f}\n", forward.kernel_name(),
               launches.mapped(), compile_milliseconds(forward), compile_milliseconds(adjoint), there, back,
               back / there);
  }
  if (cached) fmt::print("Some of it came from the disk cache.\n");
}

}  // namespace

int report(Chain &chain, const Summary &summary) {
  print_kernels(chain);
  const double there = microseconds([&] { chain.run(); }, 11), back = microseconds([&] { chain.run_adjoint(); }, 11);
  fmt::print("{:<18} {:>8} {:>11} {:>9} {:>15.1f} {:>9.1f} {:>9.2f}\n", "all", chain.size(), "", "", there, back,
             back / there);

  fmt::print("\n");
  print_row(summary.objective + ", before", fmt::format("{:.4g}", summary.before));
  print_row(summary.objective + ", after",
            fmt::format("{:.4g} ({:.1f} times less)", summary.after, summary.before / summary.after));
  print_row("largest relative error of the gradient",
            fmt::format("{:.1e} (of {}, against central differences)", summary.gradient.largest_error,
                        summary.gradient.components));
  print_row("fit", fmt::format("{:.1f} s", summary.fit_seconds));
  print_row("whole run", fmt::format("{:.1f} s", summary.total_seconds));

  if (summary.good()) return 0;
  fmt::print(stderr, "Failed: the objective is to fall {} times, and the gradient's error to stay below {:g}.\n",
             summary.fall, summary.allowed_error);
  return 1;
}

}  // namespace examples
