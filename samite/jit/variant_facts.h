// What a variant's code relies on, for archives: in words for people and in words that are read again, and which
// archived variants serve a launch that has none of its own.
//
// A key (jit/variant.h) has facts of one launch, some of which depend on the machine and on extents: the number of
// multiprocessors, alignment, the number of instances. A variant serves every launch of which its facts hold. So
// archives have, beside the variants of the launches that were made, conservative ones, which rely on what
// SAMITE_AOT_ASSUME names and nothing else.
#pragma once

#include "samite/jit/variant.h"
#include "samite/toolchain/archives.h"

#include <string>
#include <vector>

namespace samite::jit {

class KernelDefinition;

// "adjoint of x; y, x contiguous; x aligned".
std::string description(const VariantKey &key, const std::vector<ir::Parameter> &parameters);

// The first fact names the kernel: all of its variants and their parts have it.
std::string first_fact(const std::string &kernel);
std::string facts_text(const std::string &kernel, const VariantKey &key);
// Empty if the text is none of facts_text.
std::optional<VariantKey> facts_from(const std::string &text);

// Whether code for `archived` may run a launch with `key`.
bool serves(const VariantKey &archived, const VariantKey &key);

// The keys with which open archives may have the kernel for a launch with `key`: its own first, then those that rely on
// most. For CUDA with the architecture that the code was compiled for.
struct ArchivedKey {
  VariantKey key;
  std::string architecture;
};
std::vector<ArchivedKey> archived_keys(const std::string &kernel, const VariantKey &key);

// The variants that a recording run adds for a launch with `key`: the conservative one, and those of each CUDA target
// of SAMITE_AOT_TARGETS. Empty architecture: the CPU.
std::vector<ArchivedKey> keys_to_record(KernelDefinition &definition, const VariantKey &key);

}  // namespace samite::jit
