// How the text says what fails: arguments that name a line, and, where it is known in debug mode, the instance.
#pragma once

#include "samite/codegen/emission.h"

#include <map>

namespace samite::codegen {

class Failures {
 public:
  explicit Failures(Emission &emission) : emission_(emission) {}

  // The instance, or in lanes the first one, and the place.
  std::string blame(SourceLocation where);

  // Asks in debug mode whether indices are inside of an array, of an instance or of the lanes of a mask. `question` is
  // the prelude's function, which gives a value of this type, and what it is told before the array. Returns its name.
  // What has been asked before, and is known here, is not asked again.
  std::string check_indices(std::string_view type, const std::string &question, std::uint32_t array,
                            const std::vector<std::string> &indices, SourceLocation where);

  // A loop over the launch is open, or no longer. Inside of all of them, `self` is the index of the instance. `along`
  // is the dimension along which lanes lie, of a thread 0.
  void enter(const ir::Value &index, int along);
  void leave() { indices_.pop_back(); }
  int depth() const { return static_cast<int>(indices_.size()); }  // how many such loops are open
  bool in_instance() const { return depth() == emission_.kernel.launch_rank; }

 private:
  Emission &emission_;
  std::vector<ir::Value> indices_;  // of these loops, outermost first

  struct Answer {
    std::string name;
    std::uint64_t scope;  // in which it is declared
  };
  std::map<std::string, Answer> answers_;  // by question
};

}  // namespace samite::codegen
