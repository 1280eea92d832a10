// Programs whose adjoint would be wrong, refused by line.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <vector>

namespace samite::autodiff {

// Whether an operation of an adjoint reads an element of the kernel's own arrays as the forward run found it.
bool reads_before(const ir::Operation &operation, const ir::Kernel &adjoint);

// The arrays whose elements `adjoint` reads and `primal` writes.
std::vector<std::uint32_t> overwritten_values(const ir::Kernel &primal, const ir::Kernel &adjoint);

// Where `primal` reads from array `read` after it has written to `written`, if it does. Two parameters may be one
// array.
struct LateRead {
  SourceLocation read, written;
};
std::optional<LateRead> late_read(const ir::Kernel &primal, std::uint32_t read, std::uint32_t written);

// Sets of arrays, by parameter, that an adjoint of `primal` could not follow, and what is thrown for the first of a
// set.
//
// Of the arrays whose elements `adjoint` reads, those that `primal` reads after it has written to them: a copy from
// before the launch would not hold those values.
std::vector<bool> values_read_late(const ir::Kernel &primal, const ir::Kernel &adjoint);
void refuse_values_read_late(const ir::Kernel &primal, const std::vector<bool> &late);

// Throws where a computation with an adjoint of its own would lose a gradient: where it reads a value that carries one
// and is no operand, or an active array to whose gradient its adjoint does not add, or where it writes to one.
void refuse_hidden_operands(const ir::Kernel &structured, const std::vector<bool> &active);

// Active arrays that `primal` reads and writes at different places: another instance may then read what this one
// writes, in no order that an adjoint could reverse.
std::vector<bool> moving_elements(const ir::Kernel &primal, const std::vector<bool> &active);
void refuse_moving_elements(const ir::Kernel &primal, const std::vector<bool> &moving);

// Arrays that are not active and through which `primal` passes values that depend on an active array on to an active
// one: the gradient would end in between without a word.
std::vector<bool> lost_gradients(const ir::Kernel &primal, const std::vector<bool> &active);
void refuse_lost_gradients(const ir::Kernel &primal, const std::vector<bool> &lost);

// Throws where a gradient would pass through an atomic operation whose result depends on the order of the instances:
// any on an active array, or on one that passes active values on. An addition whose old value is unused is none.
void refuse_unordered_atomics(const ir::Kernel &primal, const std::vector<bool> &active);

// Throws where `adjoint` reads what `primal` also changes by atomic operations: in which instance's favour is not
// known.
void refuse_values_changed_by_atomics(const ir::Kernel &primal, const ir::Kernel &adjoint);

// The locals of `primal` that an atomic operation defines: an adjoint cannot have their old values again.
std::vector<bool> old_values(const ir::Kernel &primal);
[[noreturn]] void refuse_old_value(const ir::Kernel &primal, ir::LocalId local);

// Throws where the condition of a while_ writes to an array: it runs once more often than the body, which is what the
// reverse counts.
void refuse_stores_in_conditions(const ir::Kernel &primal);

}  // namespace samite::autodiff
