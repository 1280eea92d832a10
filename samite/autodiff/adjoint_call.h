// Adjoints that a kernel calls itself, derived in place.
//
// An `ir::AdjointCall` asks for the gradients of a block's inputs. The block becomes a kernel of its own, whose inputs
// are loaded from arrays and whose outputs are stored to arrays; the adjoint of that kernel, by the same rules as any
// (autodiff/adjoint.h), takes the call's place, with the cotangents for the gradients of the outputs, and sums for
// those of the inputs.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::autodiff {

// `captured` has no jumps. UserError where the block writes to an array or uses a local array from outside, and as
// derive_adjoint.
ir::Kernel expand_adjoint_calls(const ir::Kernel &captured);

}  // namespace samite::autodiff
