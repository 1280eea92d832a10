// The parts of a loop's text: its head, and the values that it carries from one iteration to the next, where all that
// run it go through the same iterations.
//
// Carried values are variables of the enclosing block, named after `inner`.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/values.h"

namespace samite::codegen {

class LoopText {
 public:
  LoopText(Emission &emission, const Values &values) : emission_(emission), values_(values) {}

  void open(const ir::For &loop);
  // Whether the loop goes on with its index: an expression of a bool.
  std::string continues(const ir::For &loop) const;

  void declare(const std::vector<ir::Carried> &carried);
  void advance(const std::vector<ir::Carried> &carried);
  void name_results(const std::vector<ir::Carried> &carried);

  // What the values become, by expressions that are still right when some of them have become it.
  std::vector<std::string> next_values(const std::vector<ir::Carried> &carried);

 private:
  void open_counted(const ir::For &loop);

  Emission &emission_;
  const Values &values_;
};

// Whether a value is what the loop carries already.
inline bool stays(const ir::Carried &value) { return value.next.is_local() && value.next.id() == value.inner; }

}  // namespace samite::codegen
