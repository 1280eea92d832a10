#include "samite/solve/solver.h"

#include "samite/base/error.h"
#include "samite/jit/tape_function.h"
#include "samite/runtime/shared_elements.h"
#include "samite/solve/iteration.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <ostream>

namespace samite::solvers {
namespace {

struct Method {
  const char *name;
  void (*round)(detail::System &system, const AnyBuffer &r);
  bool symmetric;  // it is for an A that is its own transpose
};

void check(const char *solver, const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x,
           const SolveOptions &options, SourceLocation where) {
  const auto refuse = [&](const std::string &what) { throw UserError(where, std::string(solver) + ": " + what); };
  if (a.rows() != a.columns())
    refuse("a square A is expected, " + std::to_string(a.rows()) + " x " + std::to_string(a.columns()) + " is given");
  const auto fits = [&](const AnyBuffer &buffer) {
    return buffer.valid() && buffer.rank() == 1 && buffer.count() == a.rows() && buffer.type() == a.type() &&
           buffer.device() == a.device();
  };
  const auto given = [](const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; };
  if (!fits(b) || !fits(x))
    refuse("b and x of " + std::to_string(a.rows()) + " " + std::string(name(a.type())) + " on " +
           a.device().to_string() + " are expected; b is " + given(b) + ", x is " + given(x));
  if (x.is_broadcast() || share_elements(b, x)) refuse("x is expected to be an array of its own, apart from b");
  if (!(options.tolerance >= 0) || !(options.absolute_tolerance >= 0) || options.iterations < 0 || options.restart < 1)
    refuse(
        fmt::format("tolerances and iterations of at least 0, and a restart after at least 1, are expected; {}, {}, "
                    "{} and {} are given",
                    options.tolerance, options.absolute_tolerance, options.iterations, options.restart));
}

// Whether the solve is over, after a round that began with a residual of the norm `before`.
bool is_over(SolveReport &report, double before, double claimed, std::int64_t most) {
  const double norm = report.residual;
  if (norm <= report.target) {
    report.ended = Ended::converged;
    report.reason = "the residual is small enough";
  } else if (!std::isfinite(norm)) {
    report.ended = Ended::not_finite;
    if (report.reason.empty()) report.reason = fmt::format("the residual is {}", norm);
  } else if (report.ended == Ended::iterations && report.iterations < most &&
             norm > before * (claimed <= report.target ? 0.5 : 1 - 1e-10)) {
    report.ended = Ended::stagnated;
    report.reason = fmt::format(
        "a round of the method left a residual of {:.3g}, after {:.3g}: rounding, or a singular A, keeps it from the "
        "target",
        norm, before);
  }
  return report.ended != Ended::iterations || report.iterations >= most;
}

void solve_from_guess(detail::System &system, const Method &method) {
  SolveReport &report = system.report;
  const double size = system.space.norm(system.b);
  if (!std::isfinite(size)) {
    report.ended = Ended::not_finite;
    report.reason = fmt::format("the norm of b is {}", size);
    report.residual = size;
    return;
  }
  const SolveOptions &options = system.options;
  report.target = std::max(options.tolerance * size, options.absolute_tolerance);
  if (size == 0) system.space.combine(0, system.b, 0, system.x);  // the exact solution
  const AnyBuffer r = system.space.vector();
  report.residual = system.residual(r);
  report.history.push_back(report.residual);
  if (!std::isfinite(report.residual)) {
    report.ended = Ended::not_finite;
    report.reason = "A times the initial guess is not finite";
    return;
  }
  if (report.residual <= report.target) {
    report.ended = Ended::converged;
    report.reason = "the initial guess is good enough";
    return;
  }
  while (report.iterations < options.iterations) {
    const double before = report.residual;
    method.round(system, r);
    const double claimed = report.residual;
    report.residual = system.residual(r);
    if (is_over(report, before, claimed, options.iterations)) break;
  }
  if (report.ended == Ended::iterations)
    report.reason = fmt::format("after the {} iterations that are allowed", report.iterations);
}

SolveReport run(const Method &method, const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x,
                const SolveOptions &options, SourceLocation where) {
  SolveReport report;
  report.solver = method.name;
  detail::System system(a, b, x, options, report, where);
  solve_from_guess(system, method);
  return report;
}

void require_converged(const SolveReport &report, const char *which, SourceLocation where) {
  if (report.converged()) return;
  throw UserError(where, "backward: the gradient of a solve would be wrong, since the " + std::string(which) +
                             " has not converged: " + report.to_string());
}

void add_gradients(const Method &method, const LinearOperator &a, const SolveOptions &options,
                   const FunctionGradients &of, SourceLocation where) {
  const AnyBuffer &x_gradient = of.outputs[0], &b_gradient = of.inputs[0];
  const LinearOperator then = a.with_parameters(std::span(of.input_values).subspan(1), where);
  SolveOptions adjoint = options;
  adjoint.tolerance = options.adjoint_tolerance.value_or(options.tolerance);
  if (!method.symmetric && options.preconditioner.apply_transposed)
    std::swap(adjoint.preconditioner.apply, adjoint.preconditioner.apply_transposed);
  const detail::VectorSpace space(a.device(), a.type(), a.rows(), where);
  const AnyBuffer multiplier = space.vector();
  SolveReport report = run(method, method.symmetric ? then : then.transposed(), x_gradient, multiplier, adjoint, where);
  report.solver += " of the transposed system";
  if (options.on_adjoint) options.on_adjoint(report);
  require_converged(report, "transposed one", where);
  if (b_gradient.valid()) space.combine(1, multiplier, 1, b_gradient);
  a.add_gradient(-1, multiplier, of.output_values[0]);
}

SolveReport solve(const Method &method, const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x,
                  const SolveOptions &options, SourceLocation where) {
  check(method.name, a, b, x, options, where);
  const auto report = std::make_shared<SolveReport>();
  TapeFunction function;
  function.outputs = {x}, function.inputs = {b};
  function.options.name = method.name;
  function.inputs.insert(function.inputs.end(), a.parameters().begin(), a.parameters().end());
  function.forward = [&] { *report = run(method, a, b, x, options, where); };
  function.backward = [method, a, options, report, where](const FunctionGradients &of) {
    require_converged(*report, "solve itself", where);
    add_gradients(method, a, options, of, where);
  };
  run_on_tape(function, where);
  return *report;
}

const char *text(Ended ended) {
  switch (ended) {
    case Ended::converged: return "converged";
    case Ended::iterations: return "stopped";
    case Ended::breakdown: return "broke down";
    case Ended::stagnated: return "stagnated";
    case Ended::not_finite: return "met a number that is not finite";
    case Ended::stopped: return "was stopped";
  }
  return "";
}

}  // namespace

std::string SolveReport::to_string() const {
  return fmt::format("{} {} after {} iterations with a residual of {:.3g}, of at most {:.3g}: {}", solver, text(ended),
                     iterations, residual, target, reason);
}

std::ostream &operator<<(std::ostream &stream, const SolveReport &report) { return stream << report.to_string(); }

SolveReport conjugate_gradients(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x,
                                const SolveOptions &options, SourceLocation where) {
  return solve({"conjugate_gradients", detail::conjugate_gradients_round, true}, a, b, x, options, where);
}

SolveReport minres(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options,
                   SourceLocation where) {
  return solve({"minres", detail::minres_round, true}, a, b, x, options, where);
}

SolveReport bicgstab(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options,
                     SourceLocation where) {
  return solve({"bicgstab", detail::bicgstab_round, false}, a, b, x, options, where);
}

SolveReport gmres(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options,
                  SourceLocation where) {
  return solve({"gmres", detail::gmres_round, false}, a, b, x, options, where);
}

}  // namespace samite::solvers
