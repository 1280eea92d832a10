// A grid's array in one file, which all ranks write or read together, each its own block: NumPy's format, .npy, which
// numpy.load reads.
//
//   write_npy(grid, temperature, "step-0100.npy");
//   read_npy(grid, temperature, "step-0100.npy");          // on any number of ranks
//
// The file has the elements of the whole grid without ghosts, in row-major order. It is on a file system that all ranks
// share, and appears under its name when it is complete. Reading leaves ghosts unchanged; call grid.exchange() after
// it. Elements are of the types that NumPy has: all but bf16 and the 8-bit floating types.
#pragma once

#include "samite/distributed/grid.h"

#include <string>

namespace samite {

// Collective calls. UserError on all ranks if one cannot write its block, or if the file is not an array with the
// grid's extents and the array's type in row-major order.
void write_npy(const Grid &grid, const AnyBuffer &array, const std::string &path,
               SourceLocation where = std::source_location::current());
void read_npy(const Grid &grid, const AnyBuffer &array, const std::string &path,
              SourceLocation where = std::source_location::current());

}  // namespace samite
