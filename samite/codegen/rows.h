// Loops in which all lanes add to one element, another one in each iteration: what an all-pairs loop owes to the other
// body. Lanes are those of vectors, or the threads of a warp. The sums over the lanes are put off, and done for many
// iterations at once.
#pragma once

#include "samite/codegen/sums.h"

namespace samite::codegen {

struct Row {
  const ir::Accumulate *statement;
  std::string name, count, step;  // C++ names: the rows, the iteration within a piece; elements from row to row
  std::size_t number = 0;         // of a warp's, which share a name
};

class Rows {
 public:
  Rows(Emission &emission, const Sums &sums) : emission_(emission), sums_(sums) {}

  // Of a loop that all lanes go through in step.
  std::vector<Row> of(const ir::For &loop, const passes::Uniformity &lanes);

  // While the statements of such a loop are written.
  void open(const std::vector<Row> &rows) { rows_.insert(rows_.end(), rows.begin(), rows.end()); }
  void close(std::size_t count) { rows_.resize(rows_.size() - count); }
  const Row *find(const ir::Accumulate &accumulate) const;

 private:
  Emission &emission_;
  const Sums &sums_;
  std::vector<Row> rows_;  // of the loops that are open
};

}  // namespace samite::codegen
