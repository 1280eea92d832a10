// Indices that are sums, written in 64 bits on the CPU.
//
// Integers wrap around, so a 32-bit sum must be computed in 32 bits and widened for each access. If it can only wrap to
// a negative number, the sum in 64 bits names the same element, since neither result of a wrapping sum is inside the
// array, an argument or a local one. The compiler folds such a sum into the address, and steps it through loops.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/values.h"
#include "samite/passes/analysis/interval.h"

#include <optional>
#include <string>
#include <vector>

namespace samite::codegen {

class IndexSums {
 public:
  IndexSums(Emission &emission, const Values &values);

  // The index as a C++ integer: a sum in 64 bits if possible, else the plain value.
  std::string text(const ir::Value &index) const;

 private:
  struct Term {
    std::string text;
    passes::Range range;  // of the sum in 64 bits
  };

  Term term(const ir::Value &value, int depth) const;
  std::optional<Term> sum(const ir::Operation &operation, int depth) const;

  Emission &emission_;
  const Values &values_;
  std::vector<const ir::Operation *> sum_of_;  // by LocalId: its addition or subtraction of i32
};

}  // namespace samite::codegen
