// The iterations of nonlinear least squares.
#pragma once

#include "samite/solve/least_squares_step.h"

namespace samite::solvers::detail {

LeastSquaresReport minimise(LeastSquaresProblem &problem, const LeastSquaresOptions &options, SourceLocation where);

}  // namespace samite::solvers::detail
