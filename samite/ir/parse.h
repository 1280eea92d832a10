// Reading a kernel from its printed form.
//
// Reads what `ir/print.h` writes, exactly: printing the result gives the text again. Tests write kernels in this
// language rather than with constructors. White space is free, and `//` starts a comment. `docs/ir.md` has the grammar.
//
// Only the grammar and the names are checked here: whether the kernel is well-formed is for `ir/verify.h` to say.
#pragma once

#include "samite/ir/kernel.h"

#include <string_view>

namespace samite::ir {

// Throws UserError with line, column, what was expected and what was found. `local_count` is one more than the largest
// local of the text, `local_array_count` likewise; a statement without an `at` has an unknown location. So that any
// text is read in little memory, locals are numbered below 2^20, and blocks are nested at most 320 deep.
Kernel parse_kernel(std::string_view text);

}  // namespace samite::ir
