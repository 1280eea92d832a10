// Colourings of a sparse matrix's columns, so that one product with a vector finds the entries of all columns of a
// colour.
//
// See Gebremedhin, Manne and Pothen, What color is your Jacobian? Graph coloring for computing derivatives, SIAM Review
// 47, 2005. Both colour greedily, in the order of the columns, and are deterministic.
#pragma once

#include <cstdint>
#include <vector>

namespace samite::solvers::detail {

// Columns that have no row in common get one colour, from 0 on (Curtis, Powell and Reid 1974): distance 2 in the graph
// of rows and columns (algorithm 3.2 there). `offsets` and `indices` are the matrix's rows.
std::vector<std::int32_t> colours_of_columns(std::int64_t columns, const std::vector<std::int64_t> &offsets,
                                             const std::vector<std::int32_t> &indices);

// For a symmetric matrix: neighbours differ, and every path of four has at least three colours (algorithm 4.1 there).
// Then each entry (i, j) off the diagonal is alone of its column's colour in row i, or alone of its row's in row j.
std::vector<std::int32_t> star_colours(const std::vector<std::int64_t> &offsets,
                                       const std::vector<std::int32_t> &indices);

}  // namespace samite::solvers::detail
