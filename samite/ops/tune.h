// Chooses a product's plan by measurement, on the device of its arrays.
//
//   const ops::Matmul layer{…};
//   layer.tune(a, b, c, bias, residual);      // some seconds, once for this shape on this kind of device
//   layer.launch(a, b, c, bias, residual);    // by the fastest plan, in later processes, too
//
// Each candidate (ops/matmul_plan.h) is launched many times on the given arrays: c and other results of the epilogue
// are overwritten, and accumulated arrays are added to as often. Pass other arrays of the same extents if that matters.
// The default plan stays unless another one takes at least 2% less. The choice is stored on disk (ops/tuned_plans.h).
#pragma once

#include "samite/jit/launch.h"
#include "samite/ops/tuned_plans.h"

#include <functional>
#include <string>
#include <vector>

namespace samite::ops {

struct MeasuredPlan {
  MatmulPlan plan;
  double seconds;  // of a launch
};

struct TuneOptions {
  // Called for each candidate after its measurement, with its number and the number of candidates. SAMITE_PROGRESS
  // writes the same information.
  std::function<void(const MeasuredPlan &measured, std::size_t number, std::size_t count)> progress = {};
  // How long a launch takes; default: the median over several rounds, by the device's clock.
  std::function<double(const MatmulPlan &plan, Launch &launch)> seconds_of = {};
};

struct TunedPlan {
  MatmulPlan plan;
  std::vector<MeasuredPlan> measured;  // in the order of the candidates; the first is the usual plan
};

namespace detail {

// UserError if a tape, a graph or a tangent is being recorded; DeviceError as for launches. `record` is called on
// several threads at once, so that the candidates are compiled in parallel.
TunedPlan tune_plan(const std::string &name, const PlannedProduct &product, const TuneOptions &options,
                    const std::function<Launch(const MatmulPlan &)> &record, SourceLocation where);

}  // namespace detail

}  // namespace samite::ops
