// What the code for a launch may know of its extents and arguments: the key of its variant.
//
// Every launch that is not recorded asks, so each array is looked at once; and no pair of them, where their storages
// tell that none shares memory.
#pragma once

#include "samite/jit/arguments.h"

namespace samite::jit {

// Of arguments that have been checked. `in_graph`: the code is for a graph, whose launches on CUDA do not look for
// races. Nothing is derived: what depends on the adjoint is added by `add_adjoint_facts`.
VariantKey variant_key(const KernelDefinition &definition, const Extents &extents, const LaunchOptions &options,
                       std::span<const Argument> arguments, bool in_graph = false);

// `derived` is of the key's active parameters.
void add_adjoint_facts(VariantKey &key, const KernelDefinition &definition, const KernelDefinition::Derived &derived,
                       const Extents &extents, std::span<const Argument> arguments);

}  // namespace samite::jit
