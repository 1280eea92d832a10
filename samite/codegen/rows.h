// The text of additions that lanes sum first (`ir::Accumulate::over_lanes`), while their loop is written.
#pragma once

#include "samite/codegen/emission.h"

namespace samite::codegen {

struct Row {
  const ir::Accumulate *statement;
  std::string name, count, step;  // C++ names: the rows, the iteration within a chunk; elements between rows
  std::size_t number = 0;         // the number of a warp's rows, which share a name
};

class Rows {
 public:
  explicit Rows(Emission &emission) : emission_(emission) {}

  std::vector<Row> of(const ir::For &loop);

  // While the statements of such a loop are being written.
  void open(const std::vector<Row> &rows) { rows_.insert(rows_.end(), rows.begin(), rows.end()); }
  void close(std::size_t count) { rows_.resize(rows_.size() - count); }
  const Row *find(const ir::Accumulate &accumulate) const;

 private:
  Emission &emission_;
  std::vector<Row> rows_;  // of the enclosing loops
};

}  // namespace samite::codegen
