// Finds the loads of a loop over a register tile that depend only on the row, such as the scale of each row, so that
// they run once for each row in a thread, not once for each element.
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
  // The rows of a thread; its element `e` is in row e / elements * of_piece + e % registers / in_row.
  std::int64_t rows, elements, of_piece, registers, in_row;
  ir::Block of_rows;                                      // runs once for each row
  std::vector<std::pair<ir::LocalId, ir::Type>> results;  // the values that the loop needs
  ir::For loop;                                           // the loop without these loads
};

// Empty if the loop has no such loads, or if a thread has one element of each row.
std::optional<RowValues> row_values(const ir::For &loop, const ir::FragmentLayout &layout);

}  // namespace samite::passes
