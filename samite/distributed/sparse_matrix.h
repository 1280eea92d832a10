// Sparse matrices whose rows are cut among ranks, for the solvers of solve/solver.h.
//
//   DistributedMatrix a{world, own_rows, rows, columns, values};   // the triplets of this rank's rows
//   SolveReport report = conjugate_gradients(
//       a.linear_operator(), b, x, {.preconditioner = jacobi(a.own_block()), .sum_over_ranks = sum_over(world)});
//
// The matrix is square. Each rank owns consecutive rows, in the order of ranks; vectors are cut likewise, and each rank
// has its own part of b and x. A product sends the elements of x that other ranks' rows need, one message to each of
// them.
//
// On tapes the gradients of x and of the values are those of a single rank that has the whole system: y's gradient
// times the transpose, whose parts go back to the ranks that own them, in a fixed order. A solve's gradient takes one
// more solve by all ranks. All ranks make the same calls. Errors are UserErrors; bad triplets are refused on all ranks.
#pragma once

#include "samite/distributed/communicator.h"
#include "samite/solve/assembly.h"
#include "samite/solve/linear_operator.h"

#include <functional>
#include <memory>
#include <span>

namespace samite {

class DistributedMatrix {
 public:
  // Rows and columns are those of the whole matrix; one value of f32 or f64 for each triplet, and values at the same
  // place are added up, as by solvers::Assembly. UserError on all ranks for a row of another rank, a column outside of
  // the matrix, and arrays that do not fit.
  DistributedMatrix(const Communicator &ranks, std::int64_t own_rows, const Buffer<std::int64_t> &rows,
                    const Buffer<std::int64_t> &columns, const AnyBuffer &values,
                    SourceLocation where = std::source_location::current());

  // Other values for the same triplets. On a tape the gradient of values() goes back to them.
  void assemble(const AnyBuffer &values, SourceLocation where = std::source_location::current());

  std::int64_t rows() const;       // of all ranks
  std::int64_t first_row() const;  // of this one
  std::int64_t own_rows() const;
  std::int64_t ghosts() const;  // elements of x that come from other ranks

  // One value for each entry of this rank's rows.
  const AnyBuffer &values() const { return local_.values(); }
  // This rank's rows; its columns are this rank's elements of x, then the ghosts, in the order of their numbers.
  const solvers::SparseMatrix &local() const { return local_; }
  // This rank's rows and columns, for preconditioners: a copy of the values, without gradients.
  solvers::SparseMatrix own_block(SourceLocation where = std::source_location::current()) const;

  // For solvers. The gradient of a solve goes to values().
  solvers::LinearOperator linear_operator(SourceLocation where = std::source_location::current()) const;

 private:
  struct Exchange;
  friend void multiply(const DistributedMatrix &a, const AnyBuffer &x, const AnyBuffer &y, SourceLocation where);
  friend void multiply_transposed(const DistributedMatrix &a, const AnyBuffer &x, const AnyBuffer &y,
                                  SourceLocation where);
  void check(const AnyBuffer &x, const AnyBuffer &y, SourceLocation where) const;
  void apply(const AnyBuffer &x, const AnyBuffer &y, bool transposed, SourceLocation where) const;

  std::shared_ptr<const Exchange> exchange_;
  std::optional<solvers::Assembly> assembly_;
  solvers::SparseMatrix local_;
};

// y = A x and y = transpose(A) x, for this rank's parts of x and y.
void multiply(const DistributedMatrix &a, const AnyBuffer &x, const AnyBuffer &y,
              SourceLocation where = std::source_location::current());
void multiply_transposed(const DistributedMatrix &a, const AnyBuffer &x, const AnyBuffer &y,
                         SourceLocation where = std::source_location::current());

// For SolveOptions::sum_over_ranks: one all_reduce.
std::function<void(std::span<double>)> sum_over(const Communicator &ranks,
                                                SourceLocation where = std::source_location::current());

}  // namespace samite
