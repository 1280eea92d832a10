// Index maps of stencils: the element to which an index takes each instance, if the index is the instance's own number,
// shifted by a constant and possibly clamped to an array. Such a map can be inverted.
//
// This only reads the forms that passes/analysis/index_forms.h has found.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <vector>

namespace samite::passes {

// A dimension of an array parameter.
struct ArrayDimension {
  std::uint32_t array;
  int dimension;
  friend bool operator==(const ArrayDimension &, const ArrayDimension &) = default;
};

// thread_index(dimension) + offset, clamped to 0 if `from_first`, and to the last index along `until`, if any.
struct IndexMap {
  int dimension;
  std::int64_t offset = 0;
  bool from_first = false;
  std::optional<ArrayDimension> until{};
  friend bool operator==(const IndexMap &, const IndexMap &) = default;
};

// For a structured kernel, by local. Empty for locals that are not such indices.
std::vector<std::optional<IndexMap>> index_maps(const ir::Kernel &structured);

}  // namespace samite::passes
