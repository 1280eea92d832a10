// Right-hand sides of systems with matrices in tiles.
#pragma once

#include "samite/lang/tile.h"

namespace samite::lang {

// The extents of right-hand sides with a column for each system: those of `right`, or with an extent of 1 appended if
// it has one dimension less than the matrices. UserError that begins with `what` if it does not fit the matrices.
ir::TileShape shape_of_columns(const char *what, const ir::TileShape &matrix, const ir::TileShape &right,
                               SourceLocation where);

}  // namespace samite::lang
