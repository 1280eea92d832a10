// Memory next to inaccessible pages.
#pragma once

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstddef>

namespace samite::test {

// Bytes between two inaccessible pages, directly before the first byte or after the last.
class Guarded {
 public:
  Guarded(std::size_t bytes, bool at_end) {
    constexpr std::size_t page = 4096;
    const std::size_t inside = (bytes + page - 1) / page * page;
    whole_ = inside + 2 * page;
    memory_ = static_cast<std::byte *>(mmap(nullptr, whole_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(memory_ + page, inside, PROT_READ | PROT_WRITE), 0);
    first_ = memory_ + page + (at_end ? inside - bytes : 0);
  }
  Guarded(const Guarded &) = delete;
  Guarded &operator=(const Guarded &) = delete;
  ~Guarded() { munmap(memory_, whole_); }
  std::byte *data() const { return first_; }

 private:
  std::byte *memory_, *first_;
  std::size_t whole_;
};

}  // namespace samite::test
