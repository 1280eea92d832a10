// Allocations that fail: this program has an operator new of its own.
//
// What the fake driver allocates inside of a call never fails, as a driver would not throw.
#pragma once

#include <cstdint>

namespace samite::test {

// While it lives, the allocation of this number, counted from 1, in whatever thread, throws std::bad_alloc. With the
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

// How many allocations live: in the whole process, but for those that the C library makes for itself.
std::int64_t live_allocations();

}  // namespace samite::test
