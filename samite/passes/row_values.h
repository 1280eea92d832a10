// Finds what a loop over a register tile loads for whole rows, such as the scale of each row, so that it is loaded once
// for each row that a thread holds a part of, and not once for each element.
//
// A thread holds several elements of a row. Loads whose index depends on the row alone, with their bounds checks, move
// to a loop over the thread's rows, and the element loop reads the results. So the element loop needs no bounds checks
// for them and is written out once.
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
