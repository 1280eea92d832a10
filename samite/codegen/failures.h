// How the text says what fails: arguments that name a line, and, where it is known in debug mode, the instance.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/values.h"

namespace samite::codegen {

class Failures {
 public:
  Failures(Emission &emission, const Values &values) : emission_(emission), values_(values) {}

  // Of each lane by itself, and of what all lanes do at once.
  std::string blame(SourceLocation where);
  std::string blame_all(SourceLocation where);

  // A loop over the launch is open, or no longer. Inside of all of them, `self` is the index of the instance.
  void enter(const ir::Value &index);
  void leave() { indices_.pop_back(); }
  int depth() const { return static_cast<int>(indices_.size()); }  // how many such loops are open
  bool in_instance() const { return depth() == emission_.kernel.launch_rank; }

 private:
  Emission &emission_;
  const Values &values_;
  std::vector<ir::Value> indices_;  // of these loops, outermost first
};

}  // namespace samite::codegen
