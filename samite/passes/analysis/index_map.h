// Index maps of stencils: which element an index takes each instance to, if the index is the instance's own number,
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

// thread_index(dimension) + offset; not below 0 where `from_first`; not beyond the last index along `until`, if any.
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
