// The facts that a variant's code relies on, for archives: as text for people and as text that is parsed again, and the
// archived variants that can serve a launch without a variant of its own.
//
// A key (jit/variant.h) has facts about one launch, some of which depend on the machine and on extents: the number of
// multiprocessors, alignment, the number of instances. A variant serves every launch for which its facts hold. So in
// addition to the variants of the launches that were made, archives contain conservative ones, which rely only on the
// facts that SAMITE_AOT_ASSUME names. They have no plan, and serve no launch that has one, because a plan may need
// facts that they do not rely on.
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
// Empty if facts_text did not write the text.
std::optional<VariantKey> facts_from(const std::string &text);

// Whether code for `archived` may run a launch with `key`.
bool serves(const VariantKey &archived, const VariantKey &key);

// The keys under which open archives may have the kernel for a launch with `key`: its own first, then those that rely
// on the most facts. For CUDA with the architecture that the code was compiled for.
struct ArchivedKey {
  VariantKey key;
  std::string architecture;
};
std::vector<ArchivedKey> archived_keys(const std::string &kernel, const VariantKey &key);

// The variants that a recording run adds for a launch with `key`: the conservative one, and those of each CUDA target
// in SAMITE_AOT_TARGETS. An empty architecture means the CPU.
std::vector<ArchivedKey> keys_to_record(KernelDefinition &definition, const VariantKey &key);

}  // namespace samite::jit
