#include "samite/toolchain/processor_features.h"

#include <initializer_list>

namespace samite {
namespace {

constexpr std::uint32_t bits(std::initializer_list<int> numbers) {
  std::uint32_t word = 0;
  for (const int number : numbers) word |= std::uint32_t{1} << number;
  return word;
}

struct Leaf {
  std::uint32_t leaf, subleaf;
  CpuidRegisters counted;
};

// CX8, CMOV, MMX, FXSR, SSE, SSE2 | SSE3, PCLMUL, SSSE3, FMA, CX16, SSE4.1, SSE4.2, MOVBE, POPCNT, AES, AVX, F16C
constexpr Leaf basic{
    0x1, 0, {.ecx = bits({0, 1, 9, 12, 13, 19, 20, 22, 23, 25, 28, 29}), .edx = bits({8, 15, 23, 24, 25, 26})}};
// BMI1, AVX2, BMI2, AVX-512 F and DQ, ADX, AVX-512 IFMA, PF, ER, CD, SHA, AVX-512 BW and VL | PREFETCHWT1, AVX-512 VBMI
// and VBMI2, GFNI, VAES, VPCLMUL, AVX-512 VNNI, BITALG and VPOPCNTDQ, MOVDIRI, MOVDIR64B | VP2INTERSECT, AVX-512 FP16
constexpr Leaf extended{0x7,
                        0,
                        {.ebx = bits({3, 5, 8, 16, 17, 19, 21, 26, 27, 28, 29, 30, 31}),
                         .ecx = bits({0, 1, 6, 8, 9, 10, 11, 12, 14, 27, 28}),
                         .edx = bits({8, 23})}};
// SHA-512, SM3, SM4, RAO-INT, AVX-VNNI, AVX-512 BF16, CMPCCXADD, AVX-IFMA, MOVRS | AVX-VNNI-INT8, AVX-NE-CONVERT,
// AVX-VNNI-INT16, AVX10, APX
constexpr Leaf more{0x7, 1, {.eax = bits({0, 1, 2, 3, 4, 5, 7, 23, 31}), .edx = bits({4, 5, 10, 19, 21})}};
// AVX10's version and its widths
constexpr Leaf avx10{0x24, 0, {.ebx = ~std::uint32_t{0}}};
// LAHF, LZCNT, SSE4a, PREFETCHW, XOP, FMA4, TBM
constexpr Leaf of_amd{0x80000001, 0, {.ecx = bits({0, 5, 6, 8, 11, 16, 21})}};

constexpr std::uint64_t vector_registers = 0xe6;  // of 16, 32 and 64 bytes, and masks

}  // namespace

Hash128 features_of(const Processor &processor) {
  Hasher hasher;
  for (const Leaf &leaf : {basic, extended, more, avx10, of_amd}) {
    const CpuidRegisters found = processor.cpuid(leaf.leaf, leaf.subleaf);
    hasher.add(found.eax & leaf.counted.eax).add(found.ebx & leaf.counted.ebx);
    hasher.add(found.ecx & leaf.counted.ecx).add(found.edx & leaf.counted.edx);
  }
  return hasher.add(processor.saved_registers() & vector_registers).result();
}

}  // namespace samite
