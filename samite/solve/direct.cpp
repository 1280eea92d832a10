#include "samite/solve/direct.h"

#include "samite/base/error.h"
#include "samite/jit/tape_function.h"
#include "samite/runtime/shared_elements.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/vector_space.h"

#include <fmt/format.h>

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace samite::solvers {
namespace {

using Numbers = std::vector<double>;

// Compressed rows of numbers. Since the matrix is symmetric, its columns are the same.
struct HostMatrix {
  std::vector<std::int32_t> offsets, indices;
  Numbers values;

  std::int32_t rows() const { return static_cast<std::int32_t>(offsets.size()) - 1; }
  Eigen::Map<const Eigen::SparseMatrix<double>> view() const {
    return {rows(), rows(), static_cast<std::int32_t>(indices.size()), offsets.data(), indices.data(), values.data()};
  }
};

Numbers numbers_of(const AnyBuffer &buffer) {
  return detail::with_floating_type(buffer.type(), "", {}, [&]<class T>(T) {
    const std::vector<T> values = Buffer<T>(buffer).to_vector();
    return Numbers(values.begin(), values.end());
  });
}

void write_numbers(const AnyBuffer &buffer, const Eigen::VectorXd &numbers) {
  detail::with_floating_type(buffer.type(), "", {}, [&]<class T>(T) {
    const std::vector<T> values(numbers.begin(), numbers.end());
    Buffer<T>(buffer).copy_from(std::span<const T>(values));
  });
}

HostMatrix on_host(const SparseMatrix &a) {
  const std::vector<std::int32_t> offsets = a.offsets().to_vector(), indices = a.indices().to_vector();
  const Numbers values = numbers_of(a.values());
  const int size = a.block().rows;
  if (size == 1) return {offsets, indices, values};
  HostMatrix matrix{{0}, {}, {}};
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    for (int i = 0; i < size; ++i) {
      for (auto k = static_cast<std::size_t>(offsets[row]); k < static_cast<std::size_t>(offsets[row + 1]); ++k)
        for (int j = 0; j < size; ++j) {
          matrix.indices.push_back(indices[k] * size + j);
          matrix.values.push_back(values[(k * static_cast<std::size_t>(size) + static_cast<std::size_t>(i)) *
                                             static_cast<std::size_t>(size) +
                                         static_cast<std::size_t>(j)]);
        }
      matrix.offsets.push_back(static_cast<std::int32_t>(matrix.indices.size()));
    }
  return matrix;
}

// The factorization reads only one triangle, and would silently ignore a different other one.
void check_symmetric(const HostMatrix &a, double rounding, SourceLocation where) {
  double largest = 0;
  for (const double value : a.values) {
    if (!std::isfinite(value))
      throw UserError(where, fmt::format("a direct solver: the matrix has the number {}", value));
    largest = std::max(largest, std::abs(value));
  }
  const Eigen::SparseMatrix<double> transposed = a.view().transpose(), difference = a.view() - transposed;
  for (int column = 0; column < difference.outerSize(); ++column)
    for (Eigen::SparseMatrix<double>::InnerIterator it(difference, column); it; ++it)
      if (std::abs(it.value()) > rounding * largest)
        throw UserError(where, fmt::format("a direct solver: a symmetric matrix is expected; entries ({}, {}) and ({}, "
                                           "{}) differ by {:.3g}",
                                           it.col(), it.row(), it.row(), it.col(), it.value()));
}

class Ldlt : public Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> {
 public:
  // The first pivot that is not as required, and its row in the matrix.
  std::string bad_pivot(bool positive) const {
    for (Eigen::Index k = 0; k < m_diag.size(); ++k)
      if (!std::isfinite(m_diag[k]) || m_diag[k] == 0 || (positive && m_diag[k] < 0))
        return fmt::format("pivot {} of the elimination, of row {}, is {:.3g}", k,
                           m_P.size() > 0 ? m_Pinv.indices()[k] : static_cast<int>(k), m_diag[k]);
    return "a pivot is not as expected";
  }
};

double rounding_of(ScalarType type) {
  return type == ScalarType::Float32 ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
}

}  // namespace

struct DirectSolver::Factor {
  explicit Factor(Factorisation kind) : kind(kind) {}

  Factorisation kind;
  bool is_analysed = false;
  Ldlt ldlt;
  Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> llt;

  void compute(const HostMatrix &a, SourceLocation where) {
    const auto analyse_and_factor = [&](auto &solver) {
      if (!is_analysed) solver.analyzePattern(a.view());
      is_analysed = true;
      solver.factorize(a.view());
      return solver.info() == Eigen::Success;
    };
    const bool positive = kind == Factorisation::llt;
    if (positive ? analyse_and_factor(llt) : analyse_and_factor(ldlt)) return;
    if (positive) ldlt.compute(a.view());
    throw UserError(where, std::string("a direct solver: the matrix is ") +
                               (positive ? "not positive definite: " : "singular, or needs pivoting: ") +
                               ldlt.bad_pivot(positive));
  }

  Eigen::VectorXd solve(const Numbers &b) const {
    const Eigen::Map<const Eigen::VectorXd> right(b.data(), static_cast<Eigen::Index>(b.size()));
    if (b.empty()) return {};
    return kind == Factorisation::llt ? Eigen::VectorXd(llt.solve(right)) : Eigen::VectorXd(ldlt.solve(right));
  }
};

DirectSolver::DirectSolver(const SparseMatrix &a, Factorisation kind, SourceLocation where) : kind_(kind), a_(a) {
  a.pattern(where);
  if (a.rows() != a.columns() || a.block().rows != a.block().columns)
    throw UserError(where,
                    "a direct solver: a square matrix of square blocks is expected, " + a.to_string() + " is given");
  factor(a, where);
}

void DirectSolver::factor(const SparseMatrix &a, SourceLocation where) {
  if (!a_.same_pattern(a) || a.type() != a_.type())
    throw UserError(where, "a direct solver: the pattern of " + a_.to_string() + " is expected again, " +
                               a.to_string() + " is given");
  const HostMatrix matrix = on_host(a);
  check_symmetric(matrix, 64 * rounding_of(a.type()), where);
  // A factor shared with a tape is not changed. After an error there is no factor, and solve() refuses.
  const bool is_own = factor_ && factor_.use_count() == 1;
  std::shared_ptr<Factor> factor = is_own ? std::move(factor_) : std::make_shared<Factor>(kind_);
  factor_.reset();
  const std::uint64_t version = a.values().version();
  if (matrix.rows() > 0) factor->compute(matrix, where);
  a_ = a, version_ = version;
  factor_ = std::move(factor);
}

void DirectSolver::check_values(const AnyBuffer &b, const AnyBuffer &x, SourceLocation where) const {
  const auto fits = [&](const AnyBuffer &buffer) {
    return buffer.valid() && buffer.rank() == 1 && buffer.count() == a_.rows() && buffer.type() == a_.type() &&
           buffer.device() == a_.device();
  };
  const auto given = [](const AnyBuffer &buffer) { return buffer.valid() ? buffer.to_string() : "an empty buffer"; };
  if (!fits(b) || !fits(x) || x.is_broadcast() || share_elements(b, x))
    throw UserError(where,
                    fmt::format("a direct solver: b and x of {} {} on {}, apart from each other, are expected; b "
                                "is {}, x is {}",
                                a_.rows(), name(a_.type()), a_.device().to_string(), given(b), given(x)));
  if (!factor_)
    throw UserError(where, "a direct solver: the last factor() failed, so that there is nothing to solve with");
  if (a_.values().version() != version_)
    throw UserError(where, "a direct solver: the values of " + a_.to_string() +
                               " were written since they were factored; call factor() again");
}

SolveReport DirectSolver::solve(const AnyBuffer &b, const AnyBuffer &x, SourceLocation where) const {
  check_values(b, x, where);
  const auto report = std::make_shared<SolveReport>();
  const std::shared_ptr<const Factor> factor = factor_;
  const SparseMatrix a = a_;
  const auto run = [factor, where](const SparseMatrix &a, const AnyBuffer &b, const AnyBuffer &x) {
    SolveReport report;
    report.solver = factor->kind == Factorisation::llt ? "llt" : "ldlt";
    const detail::VectorSpace space(a.device(), a.type(), a.rows(), where);
    write_numbers(x, factor->solve(numbers_of(b)));
    const AnyBuffer r = space.vector();
    multiply(a, x, r);
    space.combine(1, b, -1, r);
    report.residual = space.norm(r);
    report.target = (a.type() == ScalarType::Float32 ? 1e-3 : 1e-8) * space.norm(b);
    report.ended = report.residual <= report.target ? Ended::converged
                   : std::isfinite(report.residual) ? Ended::stagnated
                                                    : Ended::not_finite;
    report.reason = report.converged() ? "the residual is small enough" : "elimination has lost the digits";
    return report;
  };
  TapeFunction function;
  function.outputs = {x}, function.inputs = {b, a.values()};
  function.options.name = "direct solve";
  function.forward = [&] { *report = run(a, b, x); };
  function.backward = [run, a, report, where](const FunctionGradients &of) {
    const auto require_converged = [&](const SolveReport &report) {
      if (!report.converged())
        throw UserError(where, "backward: the gradient of a solve would be wrong, since " + report.to_string());
    };
    require_converged(*report);
    const detail::VectorSpace space(a.device(), a.type(), a.rows(), where);
    const AnyBuffer multiplier = space.vector();
    require_converged(run(a.with_values(of.input_values[1]), of.outputs[0], multiplier));
    if (of.inputs[0].valid()) space.combine(1, multiplier, 1, of.inputs[0]);
    if (of.inputs[1].valid()) add_outer_product(a, -1, multiplier, of.output_values[0], of.inputs[1]);
  };
  run_on_tape(function, where);
  return *report;
}

}  // namespace samite::solvers
