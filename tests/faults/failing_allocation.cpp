#include "tests/faults/failing_allocation.h"

#include "tests/driver/fake/fake_driver.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace samite::test {
namespace {

constinit std::atomic<bool> counting{false};
constinit std::atomic<std::uint64_t> counted{0}, failing{0};
constinit std::atomic<std::int64_t> live{0};

void *allocate(std::size_t bytes, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed) && !driver::fake::in_a_call() &&
      counted.fetch_add(1, std::memory_order_relaxed) + 1 == failing.load(std::memory_order_relaxed))
    return nullptr;
  if (bytes == 0) bytes = 1;
  live.fetch_add(1, std::memory_order_relaxed);
  return alignment == 0 ? std::malloc(bytes)
                        : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void *allocate_or_throw(std::size_t bytes, std::size_t alignment = 0) {
  if (void *memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

void release(void *memory) noexcept {
  if (memory == nullptr) return;
  live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

std::int64_t live_allocations() { return live; }

FailingAllocation::FailingAllocation(std::uint64_t number) {
  counted = 0;
  failing = number;
  counting = true;
}

FailingAllocation::~FailingAllocation() { counting = false; }

std::uint64_t FailingAllocation::count() const { return counted; }

}  // namespace samite::test

using samite::test::allocate;
using samite::test::allocate_or_throw;
using samite::test::release;

void *operator new(std::size_t bytes) { return allocate_or_throw(bytes); }
void *operator new[](std::size_t bytes) { return allocate_or_throw(bytes); }
void *operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void *operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes, 0); }
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept { return allocate(bytes, 0); }
void *operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void *operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t &) noexcept {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void *memory) noexcept { release(memory); }
void operator delete[](void *memory) noexcept { release(memory); }
void operator delete(void *memory, std::size_t) noexcept { release(memory); }
void operator delete[](void *memory, std::size_t) noexcept { release(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void *memory, const std::nothrow_t &) noexcept { release(memory); }
void operator delete[](void *memory, const std::nothrow_t &) noexcept { release(memory); }
void operator delete(void *memory, std::align_val_t, const std::nothrow_t &) noexcept { release(memory); }
void operator delete[](void *memory, std::align_val_t, const std::nothrow_t &) noexcept { release(memory); }
