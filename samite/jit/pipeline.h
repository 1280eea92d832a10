// A kernel's path from capture to code: the one place that knows the order of the passes.
#pragma once

#include "samite/jit/definition.h"
#include "samite/passes/architecture.h"
#include "samite/passes/array_facts.h"

namespace samite::jit {

// capture → verify → structure jumps → expand calls of adjoints → promote → simplify
ir::Kernel structure(ir::Kernel captured);

// Without the adjoints that the user gives.
ir::Kernel inline_primals(const ir::Kernel &structured);

// differentiate
autodiff::Adjoint derive_adjoint(const ir::Kernel &structured, const std::vector<bool> &active, bool may_alias,
                                 std::optional<std::int64_t> memory_limit = {});
// As passes/gather.h says, or passes/gather_tiles.h of a tile kernel.
std::optional<passes::GatheredAdjoint> gather(const ir::Kernel &adjoint, bool even_if_slower);
autodiff::Tangent derive_tangent(const ir::Kernel &structured, const std::vector<bool> &active);

// What is decided of a lowered kernel before its text is written. On a CPU: which arrays are on the stack → which
// loops are interchanged (not in debug mode, where each access is checked).
ir::Kernel plan_for_cpu(ir::Kernel lowered, const passes::FactsOfArrays &arrays, bool debug = false);
// On a GPU: which arrays are on the stack → what is summed over the launch (not in debug mode, where each addition is
// checked). Of a tile kernel: place → stage → spread → barriers → pipeline → units →
// plan memory.
ir::Kernel plan_for_gpu(ir::Kernel lowered, const passes::Architecture &architecture,
                        const passes::FactsOfArrays &arrays, bool debug = false);

// lower → emit C++ → compile → link → load
std::shared_ptr<const Variant> build_variant(KernelDefinition &definition, const VariantKey &key);

}  // namespace samite::jit
