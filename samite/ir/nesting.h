// How deep the branches and loops of a kernel may nest.
//
// Passes, derivatives and compilers recurse over nested statements; this depth fits a thread's stack for all of them,
// even with the larger frames of a sanitized build.
#pragma once

namespace samite::ir {

inline constexpr int maximum_nesting = 320;

}  // namespace samite::ir
