// The values that the first iteration of a loop over elements computes, where the loop's index is 0: those that
// statements of the body itself compute without reading memory.
#pragma once

#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/simplify/builder.h"

#include <map>
#include <optional>
#include <set>

namespace samite::passes {

// Keeps references to the forms and the loop.
class FirstIteration {
 public:
  FirstIteration(const IndexForms &forms, const ir::For &loop);

  // A power of two, at most 64, that always divides the integer there.
  std::int64_t divisor(const ir::Value &value) const;
  // The value, recomputed outside of the loop; empty if it is not such a value.
  std::optional<ir::Value> computed(const ir::Value &value, Builder &build) const;

 private:
  bool is_index(const ir::Value &value) const { return value.is_local() && value.id() == loop_.index; }

  const IndexForms &forms_;
  const ir::For &loop_;
  std::set<ir::LocalId> inside_;
  std::map<ir::LocalId, const ir::Operation *> definitions_;
};

}  // namespace samite::passes
