// Allocations that fail: this program has an operator new of its own.
//
// Allocations of the fake driver inside a call never fail, because a driver would not throw.
#pragma once

#include <cstdint>

namespace samite::test {

// During its lifetime, the allocation of this number, counted from 1, in any thread, throws std::bad_alloc. With the
// number 0 allocations are counted and none fails. One exists at a time.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t number);
  FailingAllocation(const FailingAllocation &) = delete;
  FailingAllocation &operator=(const FailingAllocation &) = delete;
  ~FailingAllocation();

  // Allocations so far.
  std::uint64_t count() const;
};

// The number of live allocations: in the whole process, except for the C library's own.
std::int64_t live_allocations();

}  // namespace samite::test
