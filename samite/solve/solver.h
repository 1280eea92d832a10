// Iterative solvers of linear systems A x = b, with gradients.
//
//   SolveReport report = conjugate_gradients(a, b, x, {.tolerance = 1e-10, .preconditioner = jacobi(a)});
//   if (!report.converged()) std::cout << report << '\n';
//
//   solver                A
//   conjugate_gradients   symmetric, positive definite
//   minres                symmetric
//   bicgstab              square
//   gmres                 square; keeps `restart` vectors
//
// x holds the initial guess, and then the solution. A solver ends when the norm of the recomputed b - A x is at most
// max(tolerance |b|, absolute_tolerance), or for one of the other reasons in `Ended`; each loop has a limit. Products
// of vectors are summed in double in a fixed order: a solve has the same bits on every run.
//
// On a tape, the gradients of b and of A's values (or an operator's parameters) take one more solve, with the
// transpose: transpose(A) l = x_gradient, b_gradient += l, and A_gradient -= l x on the pattern. Their error is that of
// both solves; SolveOptions::on_adjoint gets the second report. `backward` refuses, with a UserError, a solve that has
// not converged, in either direction. The initial guess gets no gradient. A symmetric A is differentiated as a general
// matrix: each stored entry independently.
//
// A, b and x are of f32 or f64, on one device. UserError for arrays that do not fit, and for a rectangular A.
#pragma once

#include "samite/solve/linear_operator.h"

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace samite::solvers {

// z = M r, where M approximates the inverse of A.
struct Preconditioner {
  std::function<void(const AnyBuffer &r, const AnyBuffer &z)> apply = {};             // none: M = 1
  std::function<void(const AnyBuffer &r, const AnyBuffer &z)> apply_transposed = {};  // none: M is symmetric
};

// The inverse of A's current diagonal. UserError for a zero on it (naming the row), or a rectangular A.
Preconditioner jacobi(const SparseMatrix &a, SourceLocation where = std::source_location::current());
// The inverses of the blocks on A's diagonal: those of a matrix of blocks, or of `size` x `size` numbers of an A
// without blocks; the last one may be smaller. UserError for a singular block.
Preconditioner block_jacobi(const SparseMatrix &a, int size = 0,
                            SourceLocation where = std::source_location::current());

struct ChebyshevOptions {
  int degree = 4;     // of the polynomial: products with A
  double ratio = 30;  // of the largest to the smallest eigenvalue that it is meant for
};
// A polynomial of D^-1 A that approximates its inverse, by Chebyshev's (Saad, Iterative Methods for Sparse Linear
// Systems, 2nd ed. 2003, algorithm 12.1); D is the diagonal. For a symmetric, positive definite A, as it is when a
// product is made; the bound of the eigenvalues, by Gershgorin's circles, is that of A as it is now. UserError for a
// diagonal that is not positive (naming the row), a rectangular A, and options out of range.
Preconditioner chebyshev(const SparseMatrix &a, const ChebyshevOptions &options = {},
                         SourceLocation where = std::source_location::current());

struct IncompleteCholeskyOptions {
  // Iterations of Jacobi in place of each triangular solve, which then is one launch each (Anzt, Chow and Dongarra,
  // Iterative sparse triangular solves for preconditioning, 2015). 0: exactly, with a launch for each level of rows
  // that do not depend on each other.
  int sweeps = 0;
};
// The inverse of L transpose(L), a factor with the entries of A's lower triangle only, IC(0) (Meijerink and van der
// Vorst, 1977). For a symmetric, positive definite A, as it is now; the host factors, and reads the lower triangle. If
// a pivot is not positive, the diagonal is enlarged, in steps (Manteuffel, 1980). UserError for a diagonal that is not
// positive (naming the row), numbers that are not finite, and a rectangular A.
Preconditioner incomplete_cholesky(const SparseMatrix &a, const IncompleteCholeskyOptions &options = {},
                                   SourceLocation where = std::source_location::current());

struct SolveProgress {
  std::int64_t iterations;
  double residual, target;
};

enum class Ended {
  converged,
  iterations,  // as many as allowed
  breakdown,   // the method cannot go on: `reason` says why
  stagnated,   // the residual does not become smaller any more
  not_finite,  // an infinite or NaN number
  stopped      // by SolveOptions::progress
};

struct SolveReport {
  std::string solver;
  Ended ended = Ended::iterations;
  std::string reason;  // for people
  std::int64_t iterations = 0;
  double residual = 0, target = 0;  // the norm of b - A x at the end, and the norm to be reached
  std::vector<double> history;      // the norm after each iteration, as the method estimates it; the guess's first

  bool converged() const { return ended == Ended::converged; }
  std::string to_string() const;
};
std::ostream &operator<<(std::ostream &stream, const SolveReport &report);

struct SolveOptions {
  double tolerance = 1e-6;  // relative to the norm of b
  double absolute_tolerance = 0;
  std::int64_t iterations = 1000;  // at most
  Preconditioner preconditioner = {};
  std::int64_t restart = 30;  // of gmres
  // Called after each iteration; false stops the solve.
  std::function<bool(const SolveProgress &)> progress = {};
  // For b and x that are this rank's parts of longer vectors: adds up these numbers over all ranks, in place, as
  // sum_over(communicator) does (distributed/sparse_matrix.h). Conjugate gradients then wait for other ranks once per
  // iteration. All ranks solve with the same options.
  std::function<void(std::span<double> numbers)> sum_over_ranks = {};
  // Tolerance of the solve in `backward`; default: this solve's.
  std::optional<double> adjoint_tolerance = {};
  std::function<void(const SolveReport &)> on_adjoint = {};
};

SolveReport conjugate_gradients(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x,
                                const SolveOptions &options = {},
                                SourceLocation where = std::source_location::current());
SolveReport minres(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options = {},
                   SourceLocation where = std::source_location::current());
SolveReport bicgstab(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options = {},
                     SourceLocation where = std::source_location::current());
SolveReport gmres(const LinearOperator &a, const AnyBuffer &b, const AnyBuffer &x, const SolveOptions &options = {},
                  SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
