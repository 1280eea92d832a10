// Computes the trip count of a loop, and its index in a given iteration, as values outside or inside the loop.
#pragma once

#include "samite/passes/simplify/builder.h"

#include <map>
#include <vector>

namespace samite::passes {

// An i32, 0 if the loop does not run. The step is a constant. No loop over tiles has 2^31 iterations.
ir::Value count_iterations(const ir::For &loop, Builder &build);

// The loop's index in an iteration.
ir::Operation index_in(const ir::For &loop, const ir::Value &iteration, Builder &build);

// Copies of a loop's first statements for an index of it, under new names.
class CopiesForIndex {
 public:
  CopiesForIndex(Builder &build, const ir::For &loop, const ir::Value &index) : build_(build) {
    values_.emplace(loop.index, index);
  }

  void copy(const ir::Let &let);
  ir::Value operator()(const ir::Value &value) const;
  std::vector<ir::Value> operator()(std::vector<ir::Value> values) const;

 private:
  Builder &build_;
  std::map<ir::LocalId, ir::Value> values_;
};

}  // namespace samite::passes
