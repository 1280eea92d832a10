// What a loop over a tile in registers loads for whole rows of it, such as the scale of each row: once for each row of
// a thread, rather than for each of its elements.
//
// A thread has several elements of a row. What the loop loads along the rows alone, with the question whether it is
// inside of its array, is computed first for each row that a thread has elements of; the loop itself reads the results.
// So it needs no bounds for these loads, and is written out once.
//
// A pure function of a loop of a planned tile kernel, for targets whose blocks have threads. The statements of
// `of_rows` are the loop's own, in order.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <vector>

namespace samite::passes {

struct RowValues {
  // A thread has so many rows; element `e` of a thread is of row e / elements * of_piece + e % registers / in_row.
  std::int64_t rows, elements, of_piece, registers, in_row;
  ir::Block of_rows;                                      // what is done for each
  std::vector<std::pair<ir::LocalId, ir::Type>> results;  // what the others need of it
  ir::For loop;                                           // the loop without these loads
};

// Nothing where the loop loads nothing along rows alone, or a thread has one element of each.
std::optional<RowValues> row_values(const ir::For &loop, const ir::FragmentLayout &layout);

}  // namespace samite::passes
