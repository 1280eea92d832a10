// How the text says what fails: arguments that name a line, and, where it is known in debug mode, the instance.
#pragma once

#include "samite/codegen/emission.h"

namespace samite::codegen {

class Failures {
 public:
  explicit Failures(Emission &emission) : emission_(emission) {}

  // Of an instance, or of each lane by itself; and of what all lanes of a mask do at once.
  std::string blame(SourceLocation where);
  std::string blame_first(SourceLocation where, const std::string &mask);

  // Asks in debug mode whether an index is inside, and whether all before it were. Returns a bool's name.
  std::string check_index(const std::string &before, const std::string &index, const std::string &bounds);
  // The rest of the arguments of such a question.
  static std::string bounds(std::uint32_t array, std::size_t dimension, const std::string &blame);

  // A loop over the launch is open, or no longer. Inside of all of them, `self` is the index of the instance. `along`
  // is the dimension along which lanes lie, of a thread 0.
  void enter(const ir::Value &index, int along);
  void leave() { indices_.pop_back(); }
  int depth() const { return static_cast<int>(indices_.size()); }  // how many such loops are open
  bool in_instance() const { return depth() == emission_.kernel.launch_rank; }

 private:
  Emission &emission_;
  std::vector<ir::Value> indices_;  // of these loops, outermost first
};

}  // namespace samite::codegen
