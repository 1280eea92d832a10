// Processors that a test makes up.
#pragma once

#include "samite/toolchain/processor_features.h"

namespace samite::test {

// A processor of Zen 4's kind under any name.
class PretendedProcessor : public Processor {
 public:
  CpuidRegisters maker{.eax = 16, .ebx = 0x68747541, .ecx = 0x444d4163, .edx = 0x69746e65};
  CpuidRegisters basic{.eax = 0xa10f12, .ebx = 0x1020800, .ecx = 0x7eda320b, .edx = 0x178bfbff};
  CpuidRegisters extended{.ebx = 0xf1bf97a9, .ecx = 0x405fce, .edx = 0x10000010};
  std::uint64_t saved = 0xe7;

  CpuidRegisters cpuid(std::uint32_t leaf, std::uint32_t subleaf) const override {
    if (leaf == 0) return maker;
    if (leaf == 1) return basic;
    return leaf == 7 && subleaf == 0 ? extended : CpuidRegisters{};
  }
  std::uint64_t saved_registers() const override { return saved; }
};

// One with the same instructions under another maker's name.
inline PretendedProcessor of_another_maker() {
  PretendedProcessor other;
  other.maker = {.eax = 31, .ebx = 0x756e6547, .ecx = 0x6c65746e, .edx = 0x49656e69};
  other.basic.eax = 0x806f8;       // another model
  other.basic.ebx = 0x5400800;     // the number of the core that is asked
  other.basic.ecx |= 1u << 31;     // a hypervisor
  other.extended.edx |= 1u << 31;  // a defence against speculation
  other.extended.ebx |= 1u << 2;   // enclaves
  return other;
}

}  // namespace samite::test
