// The memory of a block, byte by byte, with the identity of each element: an element is lost when its bytes are written
// as another tile's element, or when its tile is allocated again.
#pragma once

#include "tests/passes/tile_operations.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace samite::test {

class BlockMemory {
 public:
  // The identity under which an element is written and read.
  struct Name {
    std::uint32_t array, allocation, element;
    friend bool operator==(const Name &, const Name &) = default;
  };

  // Appends bytes to the memory; returns their start.
  std::int64_t grow(std::int64_t bytes) {
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + static_cast<std::size_t>(bytes));
    last_writes_.resize(bytes_.size() / line + 1);
    return static_cast<std::int64_t>(begin);
  }

  void write(std::int64_t at, std::size_t size, Name name, const tiles::Element &element) {
    last_writes_.at(static_cast<std::size_t>(at) / line) = ++writes_;
    for (std::size_t i = 0; i < size; ++i) byte(at, i).name = name;
    byte(at, 0).element = element;
  }
  // Marks bytes as unwritten, until something is written again.
  void poison(std::int64_t at, std::size_t size) { write(at, size, nobody, {}); }

  // Null if that element is missing, or incomplete.
  const tiles::Element *read(std::int64_t at, std::size_t size, Name name) const {
    for (std::size_t i = 0; i < size; ++i)
      if (byte(at, i).name != name) return nullptr;
    return &byte(at, 0).element;
  }

  // The number of writes so far, and this number at the last write to these bytes, or next to them.
  std::uint64_t writes() const { return writes_; }
  std::uint64_t last_write(std::int64_t begin, std::int64_t end) const {
    std::uint64_t last = 0;
    for (auto at = static_cast<std::size_t>(begin) / line; at <= static_cast<std::size_t>(end) / line; ++at)
      last = std::max(last, last_writes_.at(at));
    return last;
  }

 private:
  static constexpr Name nobody{~0u, 0, 0};
  static constexpr std::size_t line = 128;  // bytes
  struct Byte {
    Name name = nobody;
    tiles::Element element{};  // that begins here
  };

  Byte &byte(std::int64_t at, std::size_t i) { return bytes_.at(static_cast<std::size_t>(at) + i); }
  const Byte &byte(std::int64_t at, std::size_t i) const { return bytes_.at(static_cast<std::size_t>(at) + i); }

  std::vector<Byte> bytes_;
  std::vector<std::uint64_t> last_writes_;  // of each line
  std::uint64_t writes_ = 0;
};

}  // namespace samite::test
