// Merges multiplications by powers of two, and signs, that follow one another: `(x * -0.5) * 2` is `-x`.
//
// Derivative rules leave such chains, since each rule has a constant of its own. The result is the same to the last bit
// unless a value between is too large or too small for its type. So the merge is for adjoints, and not for what a user
// wrote.
#pragma once

#include "samite/ir/stmt.h"

#include <optional>

namespace samite::passes {

class Scales {
 public:
  // The same value, merged with the scale of its operand: a Copy where both cancel.
  ir::Operation merged(const ir::Operation &operation) const;

  // Notes that the local has this value.
  void define(ir::LocalId local, const ir::Operation &operation);

 private:
  // `base` times `factor`, a power of two with a sign.
  struct Scale {
    ir::Value base;
    double factor;
  };
  static std::optional<Scale> scale_of(const ir::Operation &operation);

  std::vector<std::optional<Scale>> scale_;  // by local
};

}  // namespace samite::passes
