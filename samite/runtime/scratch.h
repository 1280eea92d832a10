// Temporary memory of a launch.
//
// Taken from a pool of the process and returned to it, so that a launch in a loop does not request pages from the
// system each time. The pool keeps at most 256 MiB of unused memory; the rest is returned to the system. CPU memory,
// aligned to 64 bytes, uninitialised. Thread-safe.
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
