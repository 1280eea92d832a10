// Classifies how a value differs between lanes, where the instances of a thread loop are the lanes of a vector.
//
//   Uniform  the same in all active lanes: a scalar is enough
//   Linear   a 32-bit or 64-bit integer that grows by one from lane to lane: the first lane's value is enough
//   Varying  anything else
//
// Lanes run in step, and a lane that left a branch or a loop is masked off. So the answer is about the lanes that are
// active where the value is defined. The index of `for i in 0 .. n` is Uniform even if `n` differs between lanes: all
// lanes that still run have the same `i`. After such a loop they no longer do, so that the *results* of a loop that
// lanes leave at different times are Varying. A loop may count in steps of one from different begins to one end: each
// lane joins when the index reaches its begin (`starts_late`). The index is Uniform there too, so that lanes read a
// tape backwards together, but the values that such a loop carries are Varying.
//
// The index of a thread loop is Linear, unless its step is more than one. So is `thread_index` of the last dimension in
// a kernel that is not lowered yet. Loads with Uniform indices are Uniform, because instances that write what others
// read would race anyway. The result of an atomic operation is Varying, and so is a load from a local array, since each
// lane has its own; an array that is allocated outside of the thread loop is shared by all lanes. Carried values of
// loops are the fixed point that iteration from Uniform reaches.
//
// Linear holds modulo 2^bits: a lane may wrap around where its neighbour does not. That does no harm to sums, nor to
// accesses, where a lane that has wrapped is outside of the array. But the cast of such a value to a wider type is
// Varying, and so is the comparison of two such values. A value is `steady` if no lane wraps: the index of a thread
// loop plus a constant of at most 2^16, which every launch leaves room for (jit/arguments.cpp). Only signed integers
// and u64 can be Linear.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

enum class Shape : std::uint8_t { Uniform, Linear, Varying };

class Uniformity {
 public:
  Shape of(ir::LocalId local) const { return shapes_[local]; }
  Shape of(const ir::Value &value) const { return value.is_local() ? of(value.id()) : Shape::Uniform; }

  // For a Linear value: whether it also grows by one from lane to lane as an integer, without wrapping.
  bool steady(const ir::Value &value) const { return !value.is_local() || steady_[value.id()]; }

  // Whether lanes may diverge, so that masks are needed.
  bool divergent(const ir::If &branch) const { return of(branch.condition) == Shape::Varying; }
  bool divergent(const ir::While &loop) const { return of(loop.condition) == Shape::Varying; }
  bool divergent(const ir::For &loop) const;
  // Whether lanes join a loop at different times, each when the common index reaches its own first index.
  bool starts_late(const ir::For &loop) const;

 private:
  friend Uniformity uniformity(const ir::Kernel &kernel);

  std::vector<Shape> shapes_;
  std::vector<bool> steady_;
};

// For a kernel in structured or lowered form without nested thread loops (passes/threads/plain_thread_loops.h). Each
// pass computes it for its own input, since the previous pass may have changed the kernel; it takes about a microsecond
// for a hundred statements.
Uniformity uniformity(const ir::Kernel &kernel);

}  // namespace samite::passes
