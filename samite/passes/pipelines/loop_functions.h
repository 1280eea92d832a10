// Loops of the CPU that become functions of their own, in kernels of many loops.
//
// The time of LLVM's register allocator and of its loop passes grows faster than a function's length: 300 nests of
// loops in one function take twice the time of 300 functions. A call costs a few nanoseconds, so only nests of at least
// two loops qualify. A function gets the values that it reads by value, and each local array that it writes as a
// parameter that shares memory with no other, so that loops are vectorized without address checks. Loops that differ
// only in names share one function (codegen/loop_texts.h).
#pragma once

#include "samite/ir/kernel.h"

#include <map>
#include <set>

namespace samite::passes {

bool has_many_loops(const ir::Kernel &kernel);

class LoopFunctions {
 public:
  // Chooses the outermost loops that qualify; `kernel` must outlive this.
  explicit LoopFunctions(const ir::Kernel &kernel);

  // The local arrays that the loop writes, if it is a function of its own; otherwise null.
  const std::set<ir::LocalArrayId> *written_by(const ir::For &loop) const;

 private:
  void find(const ir::Block &block);

  std::set<ir::LocalArrayId> in_workspace_;
  std::map<const ir::For *, std::set<ir::LocalArrayId>> found_;
};

}  // namespace samite::passes
