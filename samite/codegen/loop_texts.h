// The functions that loops of the CPU become (passes/pipelines/loop_functions.h), as text: loops whose text differs
// only in the names of locals and of local arrays share one.
//
// A function is named in the kernel's scope, and takes what a loop uses from outside as parameters, so that the loop is
// a call in any place.
#pragma once

#include "samite/base/source_location.h"
#include "samite/ir/value.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace samite::codegen {

class LoopTexts {
 public:
  // The types of a loop's parameters; that of a local is empty if the loop defines it.
  struct Types {
    std::function<std::string(ir::LocalId)> local;
    std::function<std::string(ir::LocalArrayId)> array;
  };

  // The call that runs a loop with this text. `lines` are the user's, one for each of the text.
  std::string call(const std::string &loop, const std::vector<SourceLocation> &lines, const Types &types);

  // The text of all functions, and the lines of it.
  const std::string &text() const { return text_; }
  const std::vector<SourceLocation> &lines() const { return lines_; }

 private:
  std::map<std::string, std::string> known_;  // names of functions, by their texts
  std::string text_;
  std::vector<SourceLocation> lines_;
};

}  // namespace samite::codegen
