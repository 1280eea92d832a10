// Prints and checks: each instance hands its values to the launcher, which has the texts.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/values.h"

namespace samite::codegen {

class Messages {
 public:
  Messages(Emission &emission, const Values &values) : emission_(emission), values_(values) {}

  void print(const ir::Print &print, SourceLocation where);
  void check(const ir::Check &check, SourceLocation where);

 private:
  void say(const ir::Message &message, const std::vector<ir::Value> &instance, MessageSite site);
  std::string of_lane(const ir::Value &value) const;  // of the lane that is called k

  Emission &emission_;
  const Values &values_;
};

}  // namespace samite::codegen
