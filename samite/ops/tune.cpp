#include "samite/ops/tune.h"

#include "samite/base/error.h"
#include "samite/base/thread_mode.h"
#include "samite/jit/at_once.h"
#include "samite/jit/progress.h"
#include "samite/runtime/event.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace samite::ops::detail {
namespace {

constexpr double worth_a_change = 0.98;  // relative to the default plan's time

double seconds_of_calls(Launch &launch, int calls) {
  Event begin, end;
  begin.record(launch.stream());
  for (int call = 0; call < calls; ++call) launch.launch();
  end.record(launch.stream());
  return end.milliseconds_since(begin) * 1e-3 / calls;
}

// Rounds of about 3 ms, after a warm-up round.
double measured_seconds(Launch &launch) {
  constexpr int rounds = 7, most_calls = 100;
  constexpr double seconds_of_a_round = 3e-3;
  launch.launch();
  const double once = seconds_of_calls(launch, 1);
  const int calls = static_cast<int>(std::clamp(seconds_of_a_round / std::max(once, 1e-9), 1.0, double{most_calls}));
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) times.push_back(seconds_of_calls(launch, calls));
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[rounds / 2];
}

}  // namespace

TunedPlan tune_plan(const std::string &name, const PlannedProduct &product, const TuneOptions &options,
                    const std::function<Launch(const MatmulPlan &)> &record, SourceLocation where) {
  if (calling_thread_is_in_any_mode())
    throw UserError(where,
                    fmt::format("{}: tune() launches many times; expected to be called before a tape, a graph, a "
                                "tangent or a kernel is recorded, and is called while one is",
                                name));
  const std::vector<MatmulPlan> candidates =
      matmul_candidates(product.shape, product.factors, plan_device(product.device));
  std::vector<std::optional<Launch>> launches(candidates.size());
  std::vector<std::function<void()>> compiles;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    compiles.push_back([&, i] { launches[i].emplace(record(candidates[i])); });
  jit::at_once(compiles);

  TunedPlan tuned;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Launch &launch = *launches[i];
    const double seconds = options.seconds_of ? options.seconds_of(candidates[i], launch) : measured_seconds(launch);
    const MeasuredPlan &measured = tuned.measured.emplace_back(MeasuredPlan{candidates[i], seconds});
    if (options.progress) options.progress(measured, i + 1, candidates.size());
    jit::tell_progress(fmt::format("tuning '{}': {} of {}, tiles of {} x {}, {} threads, {} stages: {:.4f} ms", name,
                                   i + 1, candidates.size(), candidates[i].rows, candidates[i].columns,
                                   candidates[i].threads, candidates[i].stages, seconds * 1e3));
  }
  const MeasuredPlan fastest = *std::ranges::min_element(tuned.measured, {}, &MeasuredPlan::seconds);
  const MeasuredPlan usual = tuned.measured.front();
  tuned.plan = fastest.seconds < worth_a_change * usual.seconds ? fastest.plan : usual.plan;
  keep_plan(product, tuned.plan);
  return tuned;
}

}  // namespace samite::ops::detail
