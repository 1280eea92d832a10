// What the body of a loop over elements computes at the first one, where the loop's index is 0: of what is computed by
// the statements of the body itself, and reads nothing.
#pragma once

#include "samite/passes/builder.h"
#include "samite/passes/index_forms.h"

#include <map>
#include <optional>
#include <set>

namespace samite::passes {

// Refers to the forms and the loop.
class AtFirst {
 public:
  AtFirst(const IndexForms &forms, const ir::For &loop);

  // A power of two, at most 64, that an integer is a multiple of there: always.
  std::int64_t divisor(const ir::Value &value) const;
  // Computed again outside of the loop. Nothing where it is not of that kind.
  std::optional<ir::Value> computed(const ir::Value &value, Builder &build) const;

 private:
  bool is_index(const ir::Value &value) const { return value.is_local() && value.id() == loop_.index; }

  const IndexForms &forms_;
  const ir::For &loop_;
  std::set<ir::LocalId> inside_;
  std::map<ir::LocalId, const ir::Operation *> definitions_;
};

}  // namespace samite::passes
