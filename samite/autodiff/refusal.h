// Refuses programs whose adjoint would be wrong, and names the line.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <vector>

namespace samite::autodiff {

// Whether an operation of an adjoint reads an element of the kernel's own arrays from before the forward run.
bool reads_before(const ir::Operation &operation, const ir::Kernel &adjoint);

// The arrays whose elements `adjoint` reads and `primal` writes.
std::vector<std::uint32_t> overwritten_values(const ir::Kernel &primal, const ir::Kernel &adjoint);

// The place where `primal` reads from array `read` after it has written to `written`, if any. Both parameters may be
// the same array.
struct LateRead {
  SourceLocation read, written;
};
std::optional<LateRead> late_read(const ir::Kernel &primal, std::uint32_t read, std::uint32_t written);

// Each pair below finds a set of arrays, by parameter, that rules out the adjoint of `primal`, and throws for the first
// array of the set.
//
// Arrays that `adjoint` reads, and that `primal` reads after it has written to them: a copy from before the launch
// would not hold those values.
std::vector<bool> values_read_late(const ir::Kernel &primal, const ir::Kernel &adjoint);
void refuse_values_read_late(const ir::Kernel &primal, const std::vector<bool> &late);

// Throws if a custom adjoint would lose a gradient: if the computation reads a value that carries one and is not an
// operand, reads an active array to whose gradient the adjoint does not add, or writes to an active array.
void refuse_hidden_operands(const ir::Kernel &structured, const std::vector<bool> &active);

// Active arrays that `primal` reads and writes at different indices: another instance may then read elements that this
// one writes. Instances have no order that an adjoint could reverse.
std::vector<bool> moving_elements(const ir::Kernel &primal, const std::vector<bool> &active);
void refuse_moving_elements(const ir::Kernel &primal, const std::vector<bool> &moving);

// Inactive arrays through which values of an active array reach an active array: the gradient would be lost silently.
std::vector<bool> lost_gradients(const ir::Kernel &primal, const std::vector<bool> &active);
void refuse_lost_gradients(const ir::Kernel &primal, const std::vector<bool> &lost);

// Throws if a gradient would pass through an atomic operation whose result depends on the order of the instances: any
// on an active array, or on an array that carries active values. An addition whose previous value is unused does not
// depend on the order.
void refuse_unordered_atomics(const ir::Kernel &primal, const std::vector<bool> &active);

// Throws if `adjoint` reads elements that `primal` also changes by atomic operations: the last writer is unknown.
void refuse_values_changed_by_atomics(const ir::Kernel &primal, const ir::Kernel &adjoint);

// The locals of `primal` that an atomic operation defines: an adjoint cannot recompute them.
std::vector<bool> old_values(const ir::Kernel &primal);
[[noreturn]] void refuse_old_value(const ir::Kernel &primal, ir::LocalId local);

// Throws if the condition of a while_ writes to an array: the condition runs once more often than the body, and the
// reverse counts runs of the body.
void refuse_stores_in_conditions(const ir::Kernel &primal);

}  // namespace samite::autodiff
