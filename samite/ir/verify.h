// Whether a kernel is well-formed. Runs after each pass in debug builds, so that an error is found at the pass that
// made it.
//
// Its checks, beyond the types of `ir/stmt.h`:
//
//   names      parameters have distinct names; a gradient parameter belongs to a parameter of the same kernel
//   locals     each is numbered below `local_count`, defined once, and read only in the scope of its definition:
//              after it in the same block, or in a block nested there. The scope of the condition block of a While
//              includes its body; definitions inside a branch or a loop end there, its results do not
//   local      are numbered below `local_array_count`, allocated once, and used only in the scope of the allocation,
//     arrays   as for locals
//   types      of operands, results, indices, conditions and bounds, as `Typing` and the statement say
//   constants  are values of their type, in the one form that `Value` keeps them in
//   arrays     exist, have the rank they are indexed with, and are not written if they are read-only
//   loops      a constant step is not zero; only a Serial loop carries values, since others are unordered
//   form       `Assign`, `Labelled` and `Leave` occur only in the captured form; an `Assign` changes a local that a
//              `Let` defined. Unordered loops, memory of a block and `TileCall` occur only in the lowered form, which
//              has no tiles. A `TileCall` has the types of the operation that it computes, and its tiles fit the
//              memory
//   adjoints   a `CustomAdjoint` has floating results, and a gradient of its operand's type for each operand. Its
//              blocks assign no outer local and leave no outer label; only its adjoint block adds to gradients of
//              arrays. An `AdjointCall` occurs only in the captured form
//   jumps      a label differs from those of enclosing blocks; a `Leave` is inside its block. Between the two there
//              is no condition of a While, no loop that carries values, and no branch with results: leaving them
//              early would leave these values undefined
#pragma once

#include "samite/ir/kernel.h"

#include <string_view>

namespace samite::ir {

// The forms that `ir/stmt.h` describes.
enum class Form : std::uint8_t { captured, structured, lowered };

// Throws InternalError with `after_pass`, the broken rule, the printed statement and the user's line.
void verify(const Kernel &kernel, Form form, std::string_view after_pass);

}  // namespace samite::ir
