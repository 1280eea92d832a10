// The text of a loop over one dimension of a launch of CUDA's threads.
#pragma once

#include "samite/codegen/emit.h"
#include "samite/codegen/source_writer.h"

#include <cstdint>
#include <functional>
#include <string>

namespace samite::codegen {

struct LaunchLoop {
  std::string index, type;             // the index's name and scalar type
  std::string begin, end;              // expressions
  int number = 0;                      // distinguishes the kernel's loops
  int dimension = 0, launch_rank = 1;  // the loop's dimension of the launch, and its rank
  std::int64_t step = 1;               // the neighbours that a thread runs together; `index` is the first
  int march = 1;                       // the iterations that a thread runs one after another
};

// Writes the loop around the output of `body`.
void launch_loop_text(SourceWriter &out, const LaunchLoop &loop, bool grid_stride, const std::function<void()> &body);

}  // namespace samite::codegen
