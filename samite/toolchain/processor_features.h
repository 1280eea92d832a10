// The instructions of an x86-64 processor that compilers use unasked: two processors with the same ones run the same
// code, whatever their maker. Their models, steppings, privileged instructions and instructions that need an intrinsic
// of their own do not count.
#pragma once

#include "samite/base/hash.h"

#include <cstdint>

namespace samite {

struct CpuidRegisters {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// Answers as the CPUID instruction does: zeros for a leaf that the processor does not have.
class Processor {
 public:
  virtual ~Processor() = default;
  virtual CpuidRegisters cpuid(std::uint32_t leaf, std::uint32_t subleaf) const = 0;
  // The register state that the operating system saves, as XGETBV reads it: wide registers are usable only if it does.
  virtual std::uint64_t saved_registers() const = 0;
};

Hash128 features_of(const Processor &processor);

}  // namespace samite
