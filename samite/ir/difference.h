// Whether two kernels are the same program.
#pragma once

#include "samite/ir/kernel.h"

#include <string>

namespace samite::ir {

// Empty if the kernels are equal up to the numbers of their locals and their source locations; else the first lines of
// their printed forms that differ, with the line's number. For tests of passes: `EXPECT_EQ` with "" prints it.
std::string structural_difference(const Kernel &actual, const Kernel &expected);

}  // namespace samite::ir
