// Adds variants to the archive that a run records, by their names: without buffers and without a launch.
//
//   add_to_archive(scale, {});                                                          // forward
//   add_to_archive(scale, {.direction = Direction::adjoint, .active = {"y", "x"}});
//   add_to_archive(scale, {.any_strides = {"x"}});
//
// Each is compiled for the targets of SAMITE_AOT_TARGETS, or of samite_add_kernels (docs/shipping.md), and relies only
// on the facts named here. If no archive is recorded, nothing is compiled.
#pragma once

#include "samite/jit/kernel.h"
#include "samite/jit/options.h"

#include <source_location>
#include <string>
#include <vector>

namespace samite {

struct NamedVariant {
  Direction direction = Direction::forward;
  std::vector<std::string> active = {};       // adjoint, tangent: the arrays that track gradients
  std::vector<std::string> any_strides = {};  // arrays that need not be contiguous along their last dimension
  std::vector<std::string> large = {};        // arrays that may have 2^31 elements or more
  bool gradients_overlap = false;             // adjoint: gradients may share elements, as those of broadcast views do
  bool deterministic = false;                 // LaunchOptions::deterministic
};

namespace jit {
void add_to_archive(KernelDefinition &definition, const NamedVariant &variant, SourceLocation where);
}

// UserError for a name that is not one of the kernel's arrays, for active arrays whose elements are not floating point,
// for a direction that needs active arrays and has none, and as for the kernel's derivatives.
template <class Signature>
void add_to_archive(const Kernel<Signature> &kernel, const NamedVariant &variant,
                    SourceLocation where = std::source_location::current()) {
  jit::add_to_archive(*kernel.definition(), variant, where);
}

}  // namespace samite
