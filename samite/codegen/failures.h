// Text for failures: arguments that name a line, and in debug mode the instance, if it is known.
#pragma once

#include "samite/codegen/emission.h"

#include <map>

namespace samite::codegen {

class Failures {
 public:
  explicit Failures(Emission &emission) : emission_(emission) {}

  // The instance, or in lanes the first one, and the source line.
  std::string blame(SourceLocation where);

  // A function of the prelude that checks whether indices are inside an array.
  struct Question {
    std::string_view type, function;  // the type of its result, and its name
    std::string mask = {};            // the lanes to check; empty outside of lanes
    std::string_view arrays = "p";    // prefix of the names of arrays whose extents it is given
  };
  // Emits the check in debug mode, and returns the name of the result. A check is not repeated while an earlier result
  // is in scope, for the same or for more lanes.
  std::string check_indices(const Question &question, std::uint32_t array, const std::vector<std::string> &indices,
                            SourceLocation where);

  // Enters or leaves a loop over the launch. Inside all of them, `self` is the index of the instance. `along` is the
  // dimension of the lanes; 0 for a thread.
  void enter(const ir::Value &index, int along);
  void leave() { indices_.pop_back(); }
  int depth() const { return static_cast<int>(indices_.size()); }  // the number of enclosing such loops
  bool in_instance() const { return depth() == emission_.kernel.launch_rank; }

 private:
  Emission &emission_;
  std::vector<ir::Value> indices_;  // of these loops, outermost first

  struct Answer {
    std::string name, mask;
    std::uint64_t scope;  // of its declaration
  };
  std::map<std::string, std::vector<Answer>> answers_;  // by question
};

}  // namespace samite::codegen
