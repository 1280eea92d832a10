// The parts of a uniform loop's text: its head, and its loop-carried values.
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
  // Whether the loop continues with its index: an expression of type bool.
  std::string continues(const ir::For &loop) const;

  void declare(const std::vector<ir::Carried> &carried);
  void advance(const std::vector<ir::Carried> &carried);
  void name_results(const std::vector<ir::Carried> &carried);

  // The next values, as expressions that stay valid while the others are being assigned.
  std::vector<std::string> next_values(const std::vector<ir::Carried> &carried);

 private:
  void open_counted(const ir::For &loop);

  Emission &emission_;
  const Values &values_;
};

// Whether a value does not change in the loop.
inline bool stays(const ir::Carried &value) { return value.next.is_local() && value.next.id() == value.inner; }

}  // namespace samite::codegen
