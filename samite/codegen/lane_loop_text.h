// The text of a loop over instances that are the lanes of vectors.
//
// Full vectors run first, with a constant mask, so that the compiler removes all masking. The rest runs the same code
// with some lanes off. So the body is compiled twice. One that is not worth that (passes/op_cost.h) is compiled once,
// masked.
#pragma once

#include "samite/codegen/source_writer.h"

#include <functional>
#include <string>

namespace samite::codegen {

struct LaneLoop {
  std::string index, type;  // the index's name and scalar type
  std::string begin, end;   // expressions
  std::string mask;         // what the body calls the lanes that are inside the loop's bounds
  int number = 0;           // distinguishes the kernel's thread loops
  bool copied = true;       // the body is, for full vectors
  // So many vectors of instances at a time. The body calls their lanes by the mask's name, with _0, _1 and so on after
  // it.
  int jam = 1;
  bool repeated = false;  // the loop is over a strip, and has fewer iterations than its type counts
  // How many instances are inside of arrays that the body asks about (codegen/inside.h), or nothing. The body is then
  // compiled a second time for the vectors that are, in which `is_inside`, a constant, is true.
  std::string inside = {}, is_inside = {};
};

// Whether it is worth asking what is inside: of a loop of many whole vectors.
bool runs_inside_first(const LaneLoop &loop, int lanes);

// Writes the loop around what `body` writes, for vectors of so many lanes.
void lane_loop(SourceWriter &out, const LaneLoop &loop, int lanes, const std::function<void()> &body);

}  // namespace samite::codegen
