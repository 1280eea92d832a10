// Adjoints that a kernel calls itself, derived in place.
//
// An `ir::AdjointCall` asks for the gradients of a block's inputs. The block becomes a kernel of its own, which loads
// its inputs from arrays and stores its outputs to arrays. The adjoint of that kernel is derived by the usual rules
// (autodiff/adjoint.h) and takes the place of the call. The cotangents stand for the gradients of its outputs, and
// local sums for the gradients of its inputs.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::autodiff {

// `captured` has no jumps. UserError where the block writes to an array or uses a local array from outside, and where
// derive_adjoint throws.
ir::Kernel expand_adjoint_calls(const ir::Kernel &captured);

}  // namespace samite::autodiff
