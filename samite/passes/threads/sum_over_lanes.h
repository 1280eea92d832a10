// Defers additions that all lanes make to one element in each iteration of a loop, to a different element in each
// iteration: an all-pairs loop adds its reaction to the other body like that. Lanes are the lanes of a vector or the
// threads of a warp. Without the pass each iteration would sum over its lanes; with it, the lane sums of many
// iterations are computed together.
//
//   for %5: i32 in 0 .. %4 step 1 {
//     …
//     accumulate atomic over_lanes @z[%5] += %9
//   }
//
// All lanes must run the loop in step, and the element must move with its index. Only for arrays that the kernel adds
// to atomically and touches in no other way, so that the moment of an addition cannot be observed. A loop that can be
// interchanged (passes/threads/interchange.h) no longer has this form.
//
// Runs last on the CPU, where accesses are not checked one by one. On a GPU passes/threads/warp_loops.h uses it.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/analysis/uniformity.h"

#include <set>
#include <vector>

namespace samite::passes {

// Marks them, in a lowered kernel for the CPU. A pure function.
ir::Kernel sum_over_lanes(ir::Kernel lowered);

// The search for them, in the kernel that it is constructed with.
class LaneSums {
 public:
  LaneSums(const ir::Kernel &lowered, const Uniformity &lanes);

  // By their positions in the body of a loop that all lanes run in step.
  std::vector<std::size_t> of(const ir::For &loop) const;

 private:
  bool moves_with(const ir::For &loop, const ir::Accumulate &accumulate) const;

  const Uniformity &lanes_;
  const IndexForms forms_;
  const std::vector<bool> only_added_to_;
};

// The sums that a CPU loop keeps while it runs, and adds to their elements after it: a thread loop, or a serial one
// around thread loops. Each is an addition to an element that is the same for the whole loop, of an array that the
// kernel only adds to; the first addition to each element, in order.
struct KeptSum {
  const ir::Accumulate *first;
  SourceLocation where;
};
std::vector<KeptSum> sums_kept_by(const ir::For &loop, const Uniformity &lanes, const std::vector<bool> &only_added_to);

// Identifies the element of an addition.
std::vector<std::uint64_t> element_of(const ir::Accumulate &accumulate);

// The loop with the additions at these positions marked.
ir::For with_sums_over_lanes(ir::For loop, const std::vector<std::size_t> &places);

}  // namespace samite::passes
