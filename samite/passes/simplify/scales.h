// Merges chains of multiplications by powers of two and negations: `(x * -0.5) * 2` becomes `-x`.
//
// Derivative rules leave such chains, because each rule has its own constant. The result has the same bits unless an
// intermediate value overflows or underflows. So the pass runs on adjoints, and not on code that the user wrote.
#pragma once

#include "samite/ir/stmt.h"

#include <optional>

namespace samite::passes {

class Scales {
 public:
  // The same value, merged with the scale of its operand: a Copy if both cancel.
  ir::Operation merged(const ir::Operation &operation) const;

  // Records the local's value.
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
