// Debug information that points to the user's lines: a debugger stops in the lines of the function that a kernel was
// captured from, and profilers annotate them.
//
// Kernels in debug mode have it, and all kernels if the environment variable SAMITE_DEBUG_INFO is set to anything but 0
// when the first kernel is compiled. The code is the same, optimised code. Its text names the user's files, so that it
// is compiled and cached separately; kernels in an archive have no debug information.
#pragma once

#include "samite/codegen/emit.h"

#include <string>

namespace samite::jit {

// Whether SAMITE_DEBUG_INFO is set. Thread-safe.
bool debug_info_wanted();

// The text with a #line before each line. A line that comes from no user's line gets the one of the line before it.
std::string with_user_lines(const codegen::EmittedSource &emitted);

// The source, a HostSource or a CudaSource of the emitted text, with line tables if they are wanted for it.
template <class Source>
Source with_debug_info(Source source, const codegen::EmittedSource &emitted) {
  source.debug_info = source.debug_info || debug_info_wanted();
  if (source.debug_info) source.text = with_user_lines(emitted);
  return source;
}

}  // namespace samite::jit
