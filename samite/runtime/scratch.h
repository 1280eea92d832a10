// Memory that a launch needs for its own length only.
//
// Taken from a pool of the process and given back to it, so that a launch in a loop does not ask the system for pages
// each time. The pool keeps at most 256 MiB that nobody uses; what is more goes back to the system. CPU memory, aligned
// to 64 bytes, contents undefined. Thread-safe.
#pragma once

#include <cstddef>
#include <memory>

namespace samite {

class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(Scratch &&other) noexcept = default;
  Scratch &operator=(Scratch &&) = delete;

  std::byte *data() const noexcept { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte *memory) const noexcept;
  };
  friend struct ScratchPool;
  using Memory = std::unique_ptr<std::byte, Free>;

  Memory memory_;
  std::size_t bytes_;
};

}  // namespace samite
