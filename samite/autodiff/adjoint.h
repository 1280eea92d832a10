// The adjoint of a kernel: reverse-mode differentiation, structure by structure.
//
// For y = f(x) over all instances, the adjoint kernel takes the gradients ȳ of what the kernel wrote and adds to the
// gradients x̄ of what it read: x̄ += (∂f/∂x)ᵀ ȳ (A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed. 2008, ch. 3).
// Its parameters are those of the kernel, followed by one gradient array for each active array parameter.
//
// The rule for each block: first recompute the block's own values, then run its statements backwards.
//   %r = op(…)          x̄ += (∂op/∂x) r̄ for each active operand, by the table of autodiff/rules.h
//   %r = load a[i]      ā[i] += r̄
//   store a[i] = v      v̄ += ā[i], and ā[i] = 0: the store ends the life of the value that was there
//   accumulate a[i] += v  v̄ += ā[i]
//   local_load, local_store  the same of a local array, whose gradients are another local array
//   if                  the same branch, recomputed and reversed
//   for, while          the same iterations backwards, each recomputed and reversed
// Dead-code removal then keeps of the recomputation what the reverse sweep reads.
//
// What is kept: a value that a loop carries has another value in each iteration. Where recomputing or reversing an
// iteration needs the value that it started with, the recomputation of the whole loop stores it in a local array, one
// element for each iteration; counters (i += constant) are computed from the iteration's number instead. Everything
// else is recomputed: the body of a loop at nesting depth d runs d + 1 times forward, as far as it is needed. `kept`
// lists the decision.
//
// A local array is a value that changes in place. Where a branch or an iteration that is run again reads elements that
// were overwritten since, the writes are taken back on the way: by a log of the stores (each with the index and the
// element from before), or by a copy of the array from before the branch or the iteration where that is smaller or the
// stores are in a loop inside.
//
// Arrays written in place. Where no two instances touch one element (passes/accesses.h), an instance's elements of an
// array that it reads after writing, or at other indices than it writes, are made local first (passes/privatise.h), and
// what holds for locals and local arrays holds for them. So is an array between that tracks no gradient.
//
// A gradient is right or refused. UserError names the line where the adjoint would need, of an array whose elements are
// no instance's own,
//   - an element that the kernel has written before it read it,
//   - the gradient of an array that the kernel reads at one place and writes at another,
//   - a gradient through an array that is not active,
// and a write in the condition of a while_.
// Array elements are read again when the adjoint runs: they must still hold what the forward launch read. `values_read`
// says which arrays that concerns; of those, `values_before` are arrays that the kernel itself overwrites, so that the
// adjoint must be given a copy from before the launch (a Tape keeps it).
#pragma once

#include "samite/autodiff/notes.h"
#include "samite/ir/kernel.h"

#include <vector>

namespace samite::autodiff {

// A local whose value at the start of each iteration is kept.
struct KeptValue {
  SourceLocation loop, assigned;  // the loop that carries it, and where that assigns it
  ScalarType type;                // one element of it for each iteration
};

struct Adjoint {
  ir::Kernel kernel;                         // structured form, simplified
  std::vector<std::uint32_t> gradient_of;    // by gradient parameter, in order: its primal parameter
  std::vector<std::uint32_t> values_read;    // primal arrays whose elements the adjoint reads
  std::vector<std::uint32_t> values_before;  // those of them that the kernel overwrites
  // By adjoints and replays that the user gives: primal arrays that the kernel writes and whose elements are read as it
  // has left them, and those that the adjoint writes.
  std::vector<std::uint32_t> values_after, written;
  std::vector<KeptValue> kept;
  bool empty = false;  // no gradient reaches any active array
};

// `active` is by parameter: whether its gradient is wanted. Only arrays of floating type may be active.
// `may_alias` says that two gradient arrays may share memory: then every addition to a gradient is atomic.
Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias);

// The same, taking notes: `notes` gets the sites.
Adjoint derive_noting_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                              Notes &notes);

// The name of `parameter` with `suffix`, numbered where a parameter has it already: in an adjoint's adjoint, say.
std::string derived_name(const std::vector<ir::Parameter> &parameters, const ir::Parameter &parameter,
                         const std::string &suffix);

}  // namespace samite::autodiff
