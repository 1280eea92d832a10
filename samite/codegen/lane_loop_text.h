// The text of a loop over instances that are the lanes of vectors.
//
// Full vectors run first, with a constant mask, so that the compiler removes all masking. The rest runs the same code
// with some lanes off. So the body is compiled twice; a body too large for that (passes/analysis/op_cost.h) is compiled
// once, masked.
#pragma once

#include "samite/codegen/source_writer.h"

#include <functional>
#include <string>

namespace samite::codegen {

struct LaneLoop {
  std::string index, type;  // the index's name and scalar type
  std::string begin, end;   // expressions
  std::string mask;         // the body's name for the lanes inside the loop's bounds
  int number = 0;           // distinguishes the kernel's thread loops
  bool copied = true;       // the body is compiled a second time, for full vectors
  bool rotated = false;     // LoopText::rotated
  // This many vectors of instances together. The body names their masks with the suffixes _0, _1 and so on.
  int jam = 1;
  bool repeated = false;  // the loop is over a strip, and its iteration count fits its type
  // The number of instances inside the arrays of the body's bounds checks (codegen/inside.h), or empty. The body is
  // then compiled once more for the vectors inside, where `is_inside`, a constant, is true.
  std::string inside = {}, is_inside = {};
  // A constant that is true in the code without fallbacks (codegen/likely.h), or empty.
  std::string is_likely = {};
};

// Whether a separate loop for the vectors inside pays: the loop has many whole vectors.
bool runs_inside_first(const LaneLoop &loop, int lanes);

// Whether full vectors may have code of their own, without fallbacks.
bool runs_likely_sides_first(const LaneLoop &loop, int lanes);

// Writes the loop around the output of `body`, for vectors of this many lanes.
void lane_loop(SourceWriter &out, const LaneLoop &loop, int lanes, const std::function<void()> &body);

}  // namespace samite::codegen
