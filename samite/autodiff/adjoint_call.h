// Derives adjoints that a kernel calls, in place.
//
// An `ir::AdjointCall` computes the gradients of a block's inputs. The block becomes a kernel, which loads its inputs
// from arrays and stores its outputs to arrays. The adjoint of that kernel is derived by the usual rules
// (autodiff/adjoint.h) and replaces the call, with the cotangents instead of the gradients of its outputs, and local
// sums instead of the gradients of its inputs.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::autodiff {

// `captured` has no jumps. Throws UserError if the block writes to an array or uses a local array from outside, and
// whenever derive_adjoint throws.
ir::Kernel expand_adjoint_calls(const ir::Kernel &captured);

}  // namespace samite::autodiff
