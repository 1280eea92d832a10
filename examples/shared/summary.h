// The cost and the results of a fit, as tables; and whether they are good enough.
#pragma once

#include "shared/chain.h"
#include "shared/gradient_check.h"

#include <string>

namespace examples {

struct Summary {
  std::string objective;         // "mismatch with the target"
  double before = 0, after = 0;  // of the objective
  double fall = 2;               // the least factor by which it must fall
  GradientCheck gradient;
  double allowed_error = 1e-6;  // of the gradient
  double fit_seconds = 0, total_seconds = 0;

  bool good() const { return after * fall <= before && gradient.largest_error <= allowed_error; }
};

// Prints both, after timing each kernel of the chain some more times. The result of main(): 0, or 1 with the reason on
// standard error if the fit or the gradient is not good.
int report(Chain &chain, const Summary &summary);

}  // namespace examples
