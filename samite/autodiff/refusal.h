// Programs whose adjoint would be wrong, refused by line.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::autodiff {

// The arrays whose elements `adjoint` reads and `primal` writes. Throws where `primal` reads one after it has written
// it: a copy from before the launch would not hold that value.
std::vector<std::uint32_t> overwritten_values(const ir::Kernel &primal, const ir::Kernel &adjoint);

// Throws where `primal` reads and writes an active array at different places: another instance may then read what this
// one writes, in no order that an adjoint could reverse.
void refuse_moving_elements(const ir::Kernel &primal, const std::vector<bool> &active);

// Throws where `primal` passes values that depend on an active array through an array that is not, and on to an active
// one: the gradient would end in between without a word.
void refuse_lost_gradients(const ir::Kernel &primal, const std::vector<bool> &active);

// Throws where `primal` has local arrays: their adjoint is not there yet.
void refuse_local_arrays(const ir::Kernel &primal);

}  // namespace samite::autodiff
