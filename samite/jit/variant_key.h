// The facts about a launch's extents and arguments that its code may rely on: the key of its variant.
//
// On the path of every launch that is not recorded, so it looks at each array once, and at pairs of arrays only if
// their storages may overlap.
#pragma once

#include "samite/jit/arguments.h"

namespace samite::jit {

// For checked arguments. `in_graph`: the code is for a graph, whose launches on CUDA do not look for races. Derives
// nothing: `add_adjoint_facts` adds the facts that depend on the adjoint.
VariantKey variant_key(const KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                       std::span<const Argument> arguments, bool in_graph = false);

// `derived` is for the key's active parameters.
void add_adjoint_facts(VariantKey &key, const KernelDefinition &definition, const KernelDefinition::Derived &derived,
                       const Extents &extents, std::span<const Argument> arguments);

}  // namespace samite::jit
