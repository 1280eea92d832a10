// The adjoint of a kernel: reverse-mode differentiation, structure by structure.
//
// For y = f(x) over all instances, the adjoint kernel takes the gradients ȳ of what the kernel wrote and adds to the
// gradients x̄ of what it read: x̄ += (∂f/∂x)ᵀ ȳ (A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed. 2008, ch. 3).
// Its parameters are those of the kernel, followed by one gradient array for each active array parameter.
//
// The rule for each block: first recompute the block's own values, then run its statements backwards.
//   %r = op(…)          x̄ += (∂op/∂x) r̄ for each active operand, by the table of autodiff/rules.h
//   %r = load a[i]      ā[i] += r̄
//   %r = exchange a[i]  as a load, and a store of 0
//   store a[i] = v      v̄ += ā[i], then ā[i] = 0: the store overwrites the previous value
//   accumulate a[i] += v  v̄ += ā[i]
//   local_load, local_store  the same of a local array, whose gradients are another local array
//   if                  the same branch, recomputed and reversed
//   for, while          the same iterations backwards, each recomputed and reversed
// Dead-code removal then keeps only the recomputed values that the reverse sweep reads.
//
// Storage. A loop-carried value differs between iterations. Recomputing or reversing an iteration may need the value
// that the iteration started with. Then the recomputation of the loop stores that value in a local array, one element
// for each iteration. Counters (i += constant) are computed from the number of the iteration instead. Everything else
// is recomputed: the body of a loop at nesting depth d runs d + 1 times forward, as far as it is needed. A loop that
// would store more than a limit uses checkpoints: it stores the values at the start of each chunk of √n iterations, and
// runs a chunk again, storing its iterations, before reversing it. A loop whose length is not a constant decides this
// at run time. `kept` and `loops` list the decisions.
//
// A local array changes in place. A branch or an iteration that runs again may read elements that have been overwritten
// since. Then the reverse sweep undoes the writes: by a log of the stores (each with the index and the previous
// element), or by a copy of the array from before the branch or the iteration, if that is smaller or if an inner loop
// stores.
//
// Arrays written in place. If no two instances access the same element (passes/analysis/accesses.h), an instance may
// read elements after writing them, or at other indices than it writes. passes/threads/privatise.h first makes those
// elements local; then they are locals and local arrays like any other. It does the same for an array that tracks no
// gradient and carries values from one active array to another.
//
// A gradient is correct or refused. UserError names the line if the adjoint would need, of an array whose elements do
// not belong to one instance each,
//   - an element that the kernel has written before it read it,
//   - the gradient of an array that the kernel reads at one place and writes at another,
//   - a gradient through an array that is not active,
// and a write in the condition of a while_.
// The adjoint reads array elements again: they must still have the values that the forward launch read. `values_read`
// lists these arrays. The kernel itself overwrites those in `values_before`: the adjoint needs a copy of them from
// before the launch (a Tape keeps it).
#pragma once

#include "samite/autodiff/adjoint_report.h"
#include "samite/autodiff/notes.h"
#include "samite/ir/kernel.h"

#include <optional>
#include <vector>

namespace samite::autodiff {

struct Adjoint {
  ir::Kernel kernel;                         // structured form, simplified
  std::vector<std::uint32_t> gradient_of;    // by gradient parameter, in order: its primal parameter
  std::vector<std::uint32_t> values_read;    // primal arrays whose elements the adjoint reads
  std::vector<std::uint32_t> values_before;  // those of them that the kernel overwrites
  // For custom adjoints and replays: primal arrays that the kernel writes and that they read as left by the kernel, and
  // primal arrays that they write.
  std::vector<std::uint32_t> values_after, written;
  std::vector<KeptValue> kept;
  std::vector<LoopRuns> loops;
  bool empty = false;  // no gradient reaches any active array
};

// `active` is by parameter: whether its gradient is wanted. Only arrays of floating type may be active. `may_alias`
// says that two gradient arrays may share memory: then every addition to a gradient is atomic. `memory_limit` is in
// bytes for each loop of an instance: a loop that would store more uses checkpoints. The default is
// `usual_memory_limit`.
Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                       std::optional<std::int64_t> memory_limit = {});

AdjointReport report(const ir::Kernel &structured, const Adjoint &adjoint);

inline constexpr std::int64_t usual_memory_limit = 64 << 10;

// The same adjoint, which takes notes (autodiff/notes.h): `notes` gets the sites.
Adjoint derive_noting_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                              Notes &notes);

// The name of `parameter` with `suffix`, and with a number if another parameter has that name already, as in an
// adjoint's adjoint.
std::string derived_name(const std::vector<ir::Parameter> &parameters, const ir::Parameter &parameter,
                         const std::string &suffix);

}  // namespace samite::autodiff
