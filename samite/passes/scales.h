// Merges powers of two that a value is multiplied with one after another, and signs: `(x * -0.5) * 2` is `-x`.
//
// Derivative rules leave such chains, each rule its own constant. The result is the same to the last bit but where a
// value between is too large or too small for its type; that is why it is for adjoints, and not for what a user wrote.
#pragma once

#include "samite/ir/stmt.h"

#include <optional>

namespace samite::passes {

class Scales {
 public:
  // The same value with the scale of its operand taken in: a Copy where nothing is left of both.
  ir::Operation merged(const ir::Operation &operation) const;

  // From here on the local has this value.
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
