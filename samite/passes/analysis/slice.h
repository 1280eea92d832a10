// Slices: finds the statements that a statement needs to run, that is those that compute its operands, their operands,
// and the branches around them.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

// For a structured kernel. Keeps only copies of its statements.
class Slices {
 public:
  explicit Slices(const ir::Kernel &structured);

  // The number of `wanted` statements together with all that they depend on. `wanted` are statements of the kernel.
  std::size_t size(const std::vector<ir::Stmt> &wanted) const;

  // All statements, outer before inner, in program order.
  const std::vector<ir::Stmt> &statements() const { return statements_; }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void add(const ir::Block &block, std::size_t around);

  std::vector<ir::Stmt> statements_;
  std::vector<std::size_t> around_;   // by statement: the enclosing one
  std::vector<std::size_t> defined_;  // by local: its statement
};

}  // namespace samite::passes
