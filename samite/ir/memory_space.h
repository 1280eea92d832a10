// The space of a kernel's local memory.
#pragma once

#include <cstdint>

namespace samite::ir {

enum class MemorySpace : std::uint8_t {
  instance,   // private to an instance: `local $array`
  workspace,  // the same, in device memory: of any size
  strip,      // of a strip of instances, an element for each
  thread,     // private to a thread of a block, outlives its thread loops
  registers,  // of a block, each element in a register of one thread
  shared,     // of a block
  device,     // of a block, in device memory: tiles that a loop stores for its adjoint
};

}  // namespace samite::ir
