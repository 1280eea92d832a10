// Sums over a whole launch, if a thread runs each instance: the additions of all instances to one element
// (`ir::Accumulate::over_launch`). Each thread keeps its own sum, and each block adds its threads' sums.
#pragma once

#include "samite/codegen/sums.h"
#include "samite/codegen/thread_access.h"

namespace samite::codegen {

class LaunchSums {
 public:
  LaunchSums(Emission &emission, ThreadAccess &access) : emission_(emission), access_(access) {}

  const Sum *of(const ir::Accumulate &accumulate) const { return open_.of(accumulate); }

  // Before the outermost loop over the launch, and after it.
  void open(const ir::For &outermost);
  void close();

 private:
  Emission &emission_;
  ThreadAccess &access_;
  OpenSums open_;
};

}  // namespace samite::codegen
