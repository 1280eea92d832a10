// The normal matrix J^T J of a least squares problem in blocks, and products with J.
//
// The lower triangle is stored, a group for each pair of parameters. A block is the sum of the products of the
// observations that have both parameters: these are sorted once, and then one instance for each block adds them up in
// order.
#pragma once

#include "samite/solve/eigen_systems.h"
#include "samite/solve/least_squares_problem.h"

#include <vector>

namespace samite::solvers::detail {

// The sources of each target, in order: sources[starts[i]] to sources[starts[i + 1] - 1] go to targets[i].
struct Gathering {
  Buffer<std::int32_t> targets, starts, sources, others;  // `others`: for sources with two parts

  struct Item {
    std::int32_t target, source, other;
  };
  // Keeps the order of items with the same target; targets are 0 to targets - 1.
  Gathering(Device device, std::int64_t target_count, const std::vector<Item> &items);
  std::int64_t count() const { return targets.count(); }
};

struct BlockGroup {
  std::size_t row_parameters, column_parameters;
  int rows, columns;
  std::vector<std::int32_t> row_blocks, column_blocks;    // places in Columns::owners
  std::vector<std::int32_t> row_offsets, column_offsets;  // columns of the step
  Buffer<double> values;                                  // blocks x (rows * columns)
  Buffer<std::int32_t> rows_at = {}, columns_at = {};     // the offsets, on the device

  std::int64_t count() const { return static_cast<std::int64_t>(row_blocks.size()); }
  bool is_diagonal(std::size_t k) const { return row_blocks[k] == column_blocks[k]; }
  LowerBlocks on_host() const;
};

class NormalEquations {
 public:
  NormalEquations(const LeastSquaresProblem &problem, const Columns &columns, bool with_matrix);

  const std::vector<BlockGroup> &groups() const { return groups_; }

  // J^T J into the groups.
  void compute_matrix(const Linearisation &of);
  // J^T r for given residuals, for all columns.
  void transposed_product(const Linearisation &of, const std::vector<Buffer<double>> &residuals,
                          const Buffer<double> &product) const;
  // J v, by residuals.
  void product(const Linearisation &of, const Buffer<double> &v, const std::vector<Buffer<double>> &products) const;
  // The diagonal of J^T J: from the matrix if it is stored, otherwise from J alone. From J alone, blocks that occur
  // twice in an observation count separately.
  void diagonal(const Linearisation &of, const Buffer<double> &into) const;

 private:
  // Sums over the rows of J for each column: of products with the residuals, or of squares.
  void sum_columns(const Linearisation &of, const std::vector<Buffer<double>> &residuals, bool squares,
                   const Buffer<double> &into) const;

  struct BlockSum {
    std::size_t residuals, first, second, group;  // the places of two of the residuals' blocks
    Gathering gathering;
  };
  struct GradientSum {
    std::size_t residuals, block;
    Gathering gathering;
    Buffer<std::int32_t> columns;  // of each target
  };
  void find_groups();
  void find_gradients();

  const LeastSquaresProblem &problem_;
  const Columns &columns_;
  std::vector<BlockGroup> groups_;
  std::vector<BlockSum> sums_;
  std::vector<GradientSum> gradients_;
};

// The place of each (row, column) pair among the distinct ones, which are returned in order.
struct Places {
  std::vector<std::pair<std::int32_t, std::int32_t>> different;
  std::vector<std::int32_t> place;
};
Places places_of_pairs(const std::vector<std::pair<std::int32_t, std::int32_t>> &pairs, std::int64_t numbers);

}  // namespace samite::solvers::detail
