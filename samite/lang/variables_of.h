// The variables that the values of a pipeline depend on, and the arrays that they are loaded from.
#pragma once

#include "samite/lang/trace.h"

#include <set>
#include <vector>

namespace samite::lang {

// Follows the statements of a trace. A value assigned in a branch or a loop also depends on its previous value, and on
// the conditions of the branch or loop.
class Dependencies {
 public:
  struct Set {
    std::set<ir::LocalId> variables;
    std::set<std::uint32_t> arrays;  // reached by loads, not through the variables of Funcs

    void add(const Set &other) {
      variables.insert(other.variables.begin(), other.variables.end());
      arrays.insert(other.arrays.begin(), other.arrays.end());
    }
    friend bool operator==(const Set &, const Set &) = default;
  };

  explicit Dependencies(const Trace &trace) : trace_(trace) {}

  // Advances to the last statement that is outside of any loop or branch.
  void follow();

  // The dependencies of a value at the statement that the trace was followed to.
  Set of(const ir::Value &value) const;

 private:
  void statement(const ir::Stmt &stmt, const Set &control);
  void nested(const ir::Block &block, const Set &control);
  void repeated(const ir::While &loop, const Set &control);
  void set(ir::LocalId local, Set to, bool keep);

  const Trace &trace_;
  std::size_t followed_ = 0;
  int depth_ = 0;         // number of blocks around the current statement
  bool changed_ = false;  // a set has grown
  std::vector<Set> locals_, local_arrays_;
};

}  // namespace samite::lang
