// Parses a kernel's printed form.
//
// Round-trips with `ir/print.h`: printing the result gives the same text. Tests write kernels in this language rather
// than with constructors. White space is insignificant, and `//` starts a comment. `docs/ir.md` has the grammar.
//
// Checks only the grammar and the names; `ir/verify.h` checks whether the kernel is well-formed.
#pragma once

#include "samite/ir/kernel.h"

#include <string_view>

namespace samite::ir {

// Throws UserError with line, column, what was expected and what was found. `local_count` is one more than the largest
// local of the text, and so is `local_array_count`; a statement without an `at` has an unknown location. To bound
// memory, locals are numbered below 2^20, and blocks are nested at most 320 deep.
Kernel parse_kernel(std::string_view text);

}  // namespace samite::ir
