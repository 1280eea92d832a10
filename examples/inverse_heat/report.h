// The cost and the results of the run, as tables.
#pragma once

#include "gradient_check.h"

namespace inverse_heat {

struct Outcome {
  static constexpr double required_rise = 5, allowed_error = 1e-6;

  double psnr_before = 0, psnr_after = 0;  // decibel
  GradientCheck gradient;
  long launches = 0;  // of the descent
  double descent_seconds = 0, total_seconds = 0;

  bool good() const { return psnr_after - psnr_before >= required_rise && gradient.largest_error <= allowed_error; }
};

// Launches the steps of `problem` some more times, to time them.
void print_report(const InverseProblem<float> &problem, const Outcome &outcome);

}  // namespace inverse_heat
