#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/scalar_rows.h"
#include "samite/solve/solver.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

namespace samite::solvers {
namespace {

using Indices = Array<const std::int32_t, 1>;

// z[row] = (r[row] - the sum of values * x[column]) * inverse_diagonal[row], for the rows from `first` on.
template <class T>
const auto &triangular_rows() {
  static const Kernel kernel{
      "triangular_rows",
      {"z", "x", "r", "rows", "offsets", "columns", "values", "inverse_diagonal", "first"},
      [](Array<T, 1> z, Array<const T, 1> x, Array<const T, 1> r, Indices rows, Indices offsets, Indices columns,
         Array<const T, 1> values, Array<const T, 1> inverse_diagonal, const Int &first) {
        const Int row = rows(first + thread_index());
        Traced<T> sum = r(row);
        for (Int k : range(offsets(row), offsets(row + 1))) sum -= values(k) * x(columns(k));
        z(row) = sum * inverse_diagonal(row);
      }};
  return kernel;
}

// The lower triangle without its diagonal, by rows.
struct Lower {
  std::vector<std::int32_t> offsets{0}, columns;
  std::vector<double> values, diagonal;

  std::size_t rows() const { return diagonal.size(); }
};

Lower lower_triangle(const detail::ScalarRows &a, std::vector<double> diagonal) {
  Lower lower;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    for (std::size_t k = a.offsets[i]; k < a.offsets[i + 1] && static_cast<std::size_t>(a.columns[k]) < i; ++k)
      lower.columns.push_back(a.columns[k]), lower.values.push_back(a.values[k]);
    lower.offsets.push_back(static_cast<std::int32_t>(lower.columns.size()));
  }
  lower.diagonal = std::move(diagonal);
  return lower;
}

// Replaces A's numbers by those of the factor. Returns the first row whose pivot is not positive, if any.
std::optional<std::size_t> factor(Lower &a) {
  for (std::size_t i = 0; i < a.rows(); ++i) {
    const auto begin = static_cast<std::size_t>(a.offsets[i]), end = static_cast<std::size_t>(a.offsets[i + 1]);
    double pivot = a.diagonal[i];
    for (std::size_t k = begin; k < end; ++k) {
      const auto column = static_cast<std::size_t>(a.columns[k]);
      // The products of what both rows have before this column.
      auto other = static_cast<std::size_t>(a.offsets[column]);
      const auto others = static_cast<std::size_t>(a.offsets[column + 1]);
      for (std::size_t j = begin; j < k; ++j) {
        while (other < others && a.columns[other] < a.columns[j]) ++other;
        if (other < others && a.columns[other] == a.columns[j]) a.values[k] -= a.values[j] * a.values[other];
      }
      a.values[k] /= a.diagonal[column];
      pivot -= a.values[k] * a.values[k];
    }
    if (!(pivot > 0) || !std::isfinite(pivot)) return i;
    a.diagonal[i] = std::sqrt(pivot);
  }
  return std::nullopt;
}

Lower factored(const Lower &a, SourceLocation where) {
  constexpr double first_shift = 1e-3, largest_shift = 100;
  for (double shift = 0;; shift = shift == 0 ? first_shift : 2 * shift) {
    Lower lower = a;
    for (double &number : lower.diagonal) number *= 1 + shift;
    const std::optional<std::size_t> failed = factor(lower);
    if (!failed) return lower;
    if (shift > largest_shift)
      throw UserError(where, "incomplete_cholesky: row " + std::to_string(*failed) +
                                 " has no positive pivot, however large the diagonal is made; finite numbers, and a "
                                 "positive definite matrix, are expected");
  }
}

Lower transposed(const Lower &a) {
  Lower upper;
  upper.diagonal = a.diagonal;
  upper.offsets.assign(a.rows() + 1, 0);
  for (const std::int32_t column : a.columns) ++upper.offsets[static_cast<std::size_t>(column) + 1];
  for (std::size_t i = 1; i < upper.offsets.size(); ++i) upper.offsets[i] += upper.offsets[i - 1];
  upper.columns.resize(a.columns.size()), upper.values.resize(a.values.size());
  std::vector<std::int32_t> next(upper.offsets.begin(), upper.offsets.end() - 1);
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (auto k = static_cast<std::size_t>(a.offsets[i]); k < static_cast<std::size_t>(a.offsets[i + 1]); ++k) {
      const auto to = static_cast<std::size_t>(next[static_cast<std::size_t>(a.columns[k])]++);
      upper.columns[to] = static_cast<std::int32_t>(i), upper.values[to] = a.values[k];
    }
  return upper;
}

// One triangular system on the device. Rows of a level depend on those of levels before.
template <class T>
class Triangle {
 public:
  Triangle(Device device, const Lower &of, bool backwards)
      : offsets_(device, {of.offsets.size()}, of.offsets), columns_(device, {of.columns.size()}, of.columns) {
    std::vector<T> inverses;
    for (const double number : of.diagonal) inverses.push_back(static_cast<T>(1 / number));
    values_ = Buffer<T>(device, {of.values.size()}, std::vector<T>(of.values.begin(), of.values.end()));
    inverse_diagonal_ = Buffer<T>(device, {inverses.size()}, inverses);
    std::vector<std::size_t> level(of.rows());
    std::vector<std::vector<std::int32_t>> levels;
    for (std::size_t n = 0; n < of.rows(); ++n) {
      const std::size_t i = backwards ? of.rows() - 1 - n : n;
      for (auto k = static_cast<std::size_t>(of.offsets[i]); k < static_cast<std::size_t>(of.offsets[i + 1]); ++k)
        level[i] = std::max(level[i], level[static_cast<std::size_t>(of.columns[k])] + 1);
      if (level[i] == levels.size()) levels.emplace_back();
      levels[level[i]].push_back(static_cast<std::int32_t>(i));
    }
    std::vector<std::int32_t> rows;
    for (const std::vector<std::int32_t> &one : levels) {
      rows.insert(rows.end(), one.begin(), one.end());
      starts_.push_back(static_cast<int>(rows.size()));
    }
    rows_ = Buffer<std::int32_t>(device, {rows.size()}, rows);
  }

  void solve(const Buffer<T> &r, const Buffer<T> &z) const {
    for (std::size_t i = 0; i + 1 < starts_.size(); ++i) run(z, z, r, starts_[i], starts_[i + 1]);
  }

  // Jacobi's iterations from zero; `between` is memory.
  void iterate(const Buffer<T> &r, const Buffer<T> &z, const Buffer<T> &between, int sweeps) const {
    Buffer<T> from = sweeps % 2 == 0 ? between : z, to = sweeps % 2 == 0 ? z : between;
    from.fill(T(0));
    run(to, from, r, 0, starts_.back());
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      std::swap(from, to);
      run(to, from, r, 0, starts_.back());
    }
  }

 private:
  void run(const Buffer<T> &z, const Buffer<T> &x, const Buffer<T> &r, int first, int last) const {
    triangular_rows<T>().launch({last - first}, z, x, r, rows_, offsets_, columns_, values_, inverse_diagonal_, first);
  }

  Buffer<std::int32_t> offsets_, columns_, rows_;
  Buffer<T> values_, inverse_diagonal_;
  std::vector<int> starts_{0};  // of each level in rows_, and the end
};

template <class T>
Preconditioner by_triangles(const SparseMatrix &a, const Lower &lower, int sweeps) {
  struct Parts {
    Triangle<T> lower, upper;
    Buffer<T> between, more;
  };
  const Extents all{a.rows()};
  const auto parts = std::make_shared<Parts>(Parts{Triangle<T>(a.device(), lower, false),
                                                   Triangle<T>(a.device(), transposed(lower), true),
                                                   Buffer<T>(a.device(), all), Buffer<T>(a.device(), all)});
  return {.apply = [parts, sweeps](const AnyBuffer &right, const AnyBuffer &result) {
    const Buffer<T> r(right), z(result);
    if (sweeps == 0) {
      parts->lower.solve(r, parts->between);
      parts->upper.solve(parts->between, z);
    } else {
      parts->lower.iterate(r, parts->between, parts->more, sweeps);
      parts->upper.iterate(parts->between, z, parts->more, sweeps);
    }
  }};
}

}  // namespace

Preconditioner incomplete_cholesky(const SparseMatrix &a, const IncompleteCholeskyOptions &options,
                                   SourceLocation where) {
  a.pattern(where);
  if (options.sweeps < 0)
    throw UserError(
        where, "incomplete_cholesky: at least 0 sweeps are expected, " + std::to_string(options.sweeps) + " are given");
  const detail::ScalarRows rows(a);
  const Lower lower = factored(lower_triangle(rows, rows.positive_diagonal("incomplete_cholesky", where)), where);
  return detail::with_floating_type(a.type(), "", where,
                                    [&]<class T>(T) { return by_triangles<T>(a, lower, options.sweeps); });
}

}  // namespace samite::solvers
