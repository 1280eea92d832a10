// The parts of a loop's text: its head, and the values that it carries from one iteration to the next.
//
// Carried values are variables of the enclosing block, named after `inner`. In a divergent loop a lane that has left
// must keep its value: vectors are written under the mask, and where the inner value is a scalar because all running
// lanes agree on it, the result is a vector beside it.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/values.h"

namespace samite::codegen {

class LoopText {
 public:
  LoopText(Emission &emission, const Values &values) : emission_(emission), values_(values) {}

  // Of a loop whose iterations all lanes share.
  void open(const ir::For &loop);
  // Asks NVIDIA's compiler not to unroll what is large.
  void keep_small(const ir::For &loop);
  // Whether the loop goes on with its index: an expression of a bool, or of a Mask where `shape` is Varying.
  std::string continues(const ir::For &loop, passes::Shape shape) const;

  void declare(const std::vector<ir::Carried> &carried, bool divergent);
  void advance(const std::vector<ir::Carried> &carried, bool divergent);
  void name_results(const std::vector<ir::Carried> &carried, bool divergent);

 private:
  void open_counted(const ir::For &loop);

  Emission &emission_;
  const Values &values_;
};

}  // namespace samite::codegen
