// Nonlinear least squares: the parameters x with the least cost, 1/2 of the sum of rho(|r(x)|^2) over observations.
//
//   LeastSquares problem;
//   ParameterBlocks cameras = problem.add_parameters("cameras", camera_values, {.manifold = Manifold::se3()});
//   ParameterBlocks points = problem.add_parameters("points", point_values, {.eliminated = true});
//   problem.add_residuals("pixels",
//                         [](const Transformd &camera, const Vec3d &point, const Vec2d &seen) {
//                           Vec3d p = transform_point(camera, point);
//                           return Vec2d(p.x() / p.z(), p.y() / p.z()) - seen;
//                         },
//                         {{cameras, camera_of}, {points, point_of}}, {seen}, {.loss = Loss::huber(2)});
//   LeastSquaresReport report = problem.solve();
//   std::cout << report.summary();
//
// Parameters are arrays of blocks, count x numbers. A function of residuals is written for one observation, with traced
// values: first the blocks that it depends on, one for each pair of parameters and indices, then its row of each array
// of observations. It is captured once; its Jacobian is derived and computed row by row, in registers of an instance.
//
// Steps solve (J^T J + D) d = -J^T r: by Householder's QR of J for small problems; by elimination of the sparse normal
// matrix; with blocks that are `eliminated`, by their Schur complement (Brown, A solution to the general problem of
// multiple station analytical stereotriangulation, 1958); or by conjugate gradients, which do not form the matrix. D is
// Levenberg and Marquardt's, as in Madsen, Nielsen and Tingleff, Methods for non-linear least squares problems, 2004,
// with the diagonal of J^T J; or the step is Powell's dogleg (same text, section 3.3).
//
// Numbers are f64. The arrays, residuals and Jacobians stay on their device; factors are on the host. One thread uses a
// problem at a time. Sums are in a fixed order: a solve has the same bits on every run. Errors are UserErrors.
#pragma once

#include "samite/runtime/buffer.h"
#include "samite/solve/loss.h"
#include "samite/solve/manifold.h"
#include "samite/solve/residual_function.h"

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace samite::solvers {

namespace detail {
class LeastSquaresProblem;
}

struct ParameterOptions {
  Manifold manifold = {};                // of each block; none: Euclidean
  std::vector<std::int64_t> fixed = {};  // blocks that do not change
  // Each residual depends on at most one eliminated block: points of a scene, not its cameras.
  bool eliminated = false;
  // Bounds of a block's numbers, for Euclidean parameters: one for each, the same for all blocks. Empty: none.
  std::vector<double> lower = {}, upper = {};
};

// The parameters that add_parameters() has added.
struct ParameterBlocks {
  std::size_t number = 0;
};

// Residual i depends on block index[i] of `parameters`.
struct BlockOf {
  ParameterBlocks parameters;
  Buffer<std::int32_t> index;
};

struct ResidualOptions {
  Loss loss = {};
};

enum class TrustRegion { levenberg_marquardt, dogleg };
enum class StepSolver { automatic, dense_qr, sparse, schur, conjugate_gradients };

struct LeastSquaresProgress {
  std::int64_t iteration;
  double cost, gradient, step;  // the largest component of the gradient; the norm of the step
};

struct LeastSquaresOptions {
  std::int64_t iterations = 50;
  double cost_tolerance = 1e-6;  // ends when a step changes the cost by less than that, relative to it
  double gradient_tolerance = 1e-10;
  double step_tolerance = 1e-8;  // relative to the norm of the parameters
  TrustRegion trust_region = TrustRegion::levenberg_marquardt;
  // Automatic: schur, if parameters are eliminated; else dense_qr for up to 1e6 numbers in J; else sparse.
  StepSolver solver = StepSolver::automatic;
  // Adds half the geodesic acceleration to each step of Levenberg and Marquardt's, and refuses steps whose acceleration
  // is longer than 3/8 of them (Transtrum and Sethna, Improvements to the Levenberg-Marquardt algorithm for nonlinear
  // least-squares minimization, 2012): one more run of the residuals and one more solve. Useful for curved valleys, and
  // for models that flatten far away. Not available with robust losses.
  bool acceleration = false;
  double radius = 1e4;                                              // initial trust region, for a scaled step
  double inner_tolerance = 1e-8;                                    // relative, for conjugate gradients
  std::function<bool(const LeastSquaresProgress &)> progress = {};  // after each iteration; false stops
};

enum class LeastSquaresEnd {
  small_cost_change,
  small_gradient,
  small_step,
  iterations,   // as many as allowed
  no_decrease,  // the trust region has become too small: the gradient is wrong, or rounding hides it
  stopped       // by LeastSquaresOptions::progress
};

// The gradient at the last point with derivatives; if a small change of cost ends the solve, that is the previous
// point.
struct LeastSquaresIteration {
  std::int64_t iteration;
  double cost, change, gradient, step, ratio, radius, seconds;  // ratio: of the actual to the predicted change
  bool accepted;
};

struct LeastSquaresReport {
  LeastSquaresEnd ended = LeastSquaresEnd::iterations;
  std::string reason;  // for people
  double initial_cost = 0, final_cost = 0;
  std::vector<LeastSquaresIteration> iterations;  // first the initial point
  std::int64_t blocks = 0, parameters = 0, effective_parameters = 0, residual_blocks = 0, residuals = 0;
  std::int64_t fixed_blocks = 0;
  std::string trust_region, solver;
  struct Seconds {
    double structure = 0, residuals = 0, jacobians = 0, linear_solver = 0, total = 0;
  } seconds;

  bool converged() const;
  std::string to_string() const;  // one line
  std::string summary() const;    // sizes, costs, times and the reason, as a table
  std::string history() const;    // a line for each iteration
};
std::ostream &operator<<(std::ostream &stream, const LeastSquaresReport &report);

class LeastSquares {
 public:
  explicit LeastSquares(SourceLocation where = std::source_location::current());

  // `values` (blocks x numbers, or blocks) hold the first guess, and after solve() the result. Names have letters,
  // digits and _. UserError for a manifold of another size, fixed blocks that do not exist, bounds that do not fit, and
  // values outside of them.
  ParameterBlocks add_parameters(std::string name, const Buffer<double> &values, const ParameterOptions &options = {},
                                 SourceLocation where = std::source_location::current());

  // `observations`: one row of each array for each residual; a row has as many elements as the function's parameter has
  // numbers. UserError for arrays that do not fit the function, for block indices out of range (naming the
  // observation), and for a residual without parameters.
  template <class F, std::size_t N>
  void add_residuals(std::string name, const F &function, const BlockOf (&blocks)[N],
                     const std::vector<AnyBuffer> &observations = {}, const ResidualOptions &options = {},
                     SourceLocation where = std::source_location::current()) {
    add(std::move(name), detail::residual_function(function), {blocks, blocks + N}, observations, options, where);
  }

  // UserError for a block that is neither fixed nor in a residual (named), a residual that depends on two eliminated
  // blocks, no parameters to find, options out of range, and residuals or derivatives that are infinite or NaN at the
  // first guess (naming the observation, and the parameter of a derivative). Later such points count as too large.
  LeastSquaresReport solve(const LeastSquaresOptions &options = {},
                           SourceLocation where = std::source_location::current());

  double cost(SourceLocation where = std::source_location::current()) const;

  // The block of the inverse of J^T J at the present values that belongs to one block's steps, in row-major order: the
  // covariance of the estimate, for residuals of unit variance and a problem without robust losses and bounds.
  // UserError if J's rank is below the number of parameters, for a fixed block, and for a J of more than 1e8 numbers.
  std::vector<double> covariance(ParameterBlocks parameters, std::int64_t block,
                                 SourceLocation where = std::source_location::current()) const;

 private:
  void add(std::string name, detail::ResidualFunction function, std::vector<BlockOf> blocks,
           const std::vector<AnyBuffer> &observations, const ResidualOptions &options, SourceLocation where);

  std::shared_ptr<detail::LeastSquaresProblem> problem_;
};

}  // namespace samite::solvers
