// Is a kernel well-formed? Runs after each pass in debug builds, so that a wrong pass is caught where it is wrong and
// not three passes on.
//
// What it checks, beyond what the types of `ir/stmt.h` can say:
//
//   names      parameters have distinct names; a gradient parameter belongs to a parameter of the same kernel
//   locals     each is numbered below `local_count`, defined once, and read only where its definition is in scope:
//              after it in the same block, or in a block nested there. The body of a While sees its condition block;
//              what a branch or a loop defines inside is not seen after it, its results are
//   local      are numbered below `local_array_count`, allocated once, and used only where the allocation is in
//     arrays   scope, as for locals
//   types      of operands, results, indices, conditions and bounds, as `Typing` and the statement say
//   constants  are values of their type, in the one form that `Value` keeps them in
//   arrays     exist, have the rank they are indexed with, and are not written where they are read-only
//   loops      a constant step is not zero; only a Serial loop carries values, for others have no order
//   form       `Assign`, `Labelled` and `Leave` stand in the captured form alone; an `Assign` changes a local that a
//              `Let` defined. Loops without an order, memory of a block and `TileCall` stand in the lowered form
//              alone, which has no tiles. A `TileCall` is typed as the operation that it computes, and
//              its tiles fit the memory
//   adjoints   a `CustomAdjoint` gives floating values, and a gradient of its operand's type for each operand. Its
//              blocks assign no local from outside and leave no label around them; only its adjoint block adds to
//              gradients of arrays. An `AdjointCall` stands in the captured form alone
//   jumps      a label is not that of a block around it; a `Leave` stands inside of its block. Between the two is no
//              condition of a While, no loop that carries values, and no branch with results: what is left
//              half-way has no values to give
#pragma once

#include "samite/ir/kernel.h"

#include <string_view>

namespace samite::ir {

// The forms that `ir/stmt.h` describes.
enum class Form : std::uint8_t { captured, structured, lowered };

// Throws InternalError with `after_pass`, what is wrong, the printed statement and the user's line.
void verify(const Kernel &kernel, Form form, std::string_view after_pass);

}  // namespace samite::ir
