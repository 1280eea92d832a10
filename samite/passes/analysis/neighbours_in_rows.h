// Finds accesses of neighbouring instances to neighbouring elements of an aligned row.
#pragma once

#include "samite/passes/analysis/array_facts.h"
#include "samite/passes/analysis/index_forms.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace samite::passes {

// The place of the first neighbour's access.
struct PlaceInRow {
  std::vector<std::uint64_t> row;  // the array and the indices before the last; equal rows are one row
  std::int64_t from_index;         // the distance from the element with the instance's own index

  // The first element of the unit of `count` that contains the element `by` further on, counted in the same way.
  std::int64_t unit(std::int64_t by, std::int64_t count) const {
    const std::int64_t element = from_index + by;
    return element - ((element % count) + count) % count;
  }
};

// For an index that is a value plus a small constant: both.
std::optional<std::pair<ir::Value, std::int64_t>> value_and_constant(const ir::Operation &operation);

class NeighboursInRows {
 public:
  // `index`: of the loop over the launch's last dimension.
  NeighboursInRows(const ir::Kernel &lowered, FactsOfArrays arrays, const ir::Value &index);

  // For accesses whose last index is that of the instance plus a constant, in an array whose rows are aligned. The
  // caller checks that the neighbours have equal indices before it.
  std::optional<PlaceInRow> operator()(std::uint32_t array, std::span<const ir::Value> indices) const;

  // Whether an array is constant while the kernel runs.
  bool constant(std::uint32_t array) const { return !written_[array] && facts_of(arrays_, array).unaliased; }
  bool read(std::uint32_t array) const { return read_[array]; }

 private:
  IndexForms forms_;
  FactsOfArrays arrays_;
  ir::LocalId index_;
  std::vector<bool> written_, read_;                                     // by parameter
  std::vector<std::optional<std::pair<ir::Value, std::int64_t>>> sums_;  // for a local that is a value plus a constant
};

}  // namespace samite::passes
