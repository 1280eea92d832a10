// Finds accesses of neighbouring instances to neighbouring elements of an aligned row.
#pragma once

#include "samite/passes/array_facts.h"
#include "samite/passes/index_forms.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace samite::passes {

// Where an access of the first neighbour is.
struct PlaceInRow {
  std::vector<std::uint64_t> row;  // the array and the indices before the last; equal rows are one row
  std::int64_t from_index;         // how far behind the element that has the instance's own index

  // The first element of the unit of `count` that the element `by` further on lies in, counted in the same way.
  std::int64_t unit(std::int64_t by, std::int64_t count) const {
    const std::int64_t element = from_index + by;
    return element - ((element % count) + count) % count;
  }
};

// Of an index that is a value and a small constant: both.
std::optional<std::pair<ir::Value, std::int64_t>> value_and_constant(const ir::Operation &operation);

class NeighboursInRows {
 public:
  // `index`: of the loop over the launch's last dimension.
  NeighboursInRows(const ir::Kernel &lowered, FactsOfArrays arrays, const ir::Value &index);

  // Where the last index is that of the instance and a constant, in an array whose rows are aligned. Whether the
  // neighbours agree about the indices before it is for the caller to say.
  std::optional<PlaceInRow> operator()(std::uint32_t array, std::span<const ir::Value> indices) const;

  // Whether nothing writes to an array while the kernel runs.
  bool constant(std::uint32_t array) const { return !written_[array] && facts_of(arrays_, array).unaliased; }
  bool read(std::uint32_t array) const { return read_[array]; }

 private:
  IndexForms forms_;
  FactsOfArrays arrays_;
  ir::LocalId index_;
  std::vector<bool> written_, read_;                                     // by parameter
  std::vector<std::optional<std::pair<ir::Value, std::int64_t>>> sums_;  // of a local that is a value and a constant
};

}  // namespace samite::passes
