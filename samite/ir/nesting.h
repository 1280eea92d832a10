// How deep the branches and loops of a kernel may nest.
//
// Passes, derivatives and compilers walk nested statements by recursion; at this depth all of them fit a thread's
// stack, also with the larger frames of a sanitized build.
#pragma once

namespace samite::ir {

inline constexpr int maximum_nesting = 320;

}  // namespace samite::ir
