// Pictures of where a sparse matrix has entries.
//
//   std::cout << spy_plot(a);          // a line for some rows: '.' few entries, ':' some, '#' all
//   write_spy_plot(a, "a.png");        // a pixel for some rows and columns, the darker the more of them are stored
//
// A cell stands for as many rows and columns as are needed to fit the picture. Blocks count with all of their numbers.
#pragma once

#include "samite/solve/sparse_matrix.h"

#include <filesystem>
#include <string>

namespace samite::solvers {

// At most `columns` characters a line, without a frame; a character stands for twice as many rows as columns, since it
// is as high as two are wide. UserError for an empty matrix, and for less than one column.
std::string spy_plot(const SparseMatrix &a, int columns = 64, SourceLocation where = std::source_location::current());

// Grey on white, at most `pixels` wide and high. UserError as above, and for a file that cannot be written.
void write_spy_plot(const SparseMatrix &a, const std::filesystem::path &path, int pixels = 512,
                    SourceLocation where = std::source_location::current());

}  // namespace samite::solvers
