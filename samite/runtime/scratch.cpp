#include "samite/runtime/scratch.h"

#include "samite/base/error.h"

#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace samite {

// Blocks have powers of two as sizes, so that they can be reused for requests of similar size.
struct ScratchPool {
  static constexpr std::size_t limit = std::size_t{256} << 20;
  struct Idle {
    Scratch::Memory memory;
    std::size_t bytes;
  };

  ScratchPool() { idle.reserve(1024); }

  static ScratchPool &instance() {
    static ScratchPool pool;
    return pool;
  }

  Scratch::Memory take(std::size_t bytes) {
    {
      std::lock_guard lock(mutex);
      for (auto block = idle.rbegin(); block != idle.rend(); ++block) {
        if (block->bytes != bytes) continue;
        Scratch::Memory memory = std::move(block->memory);
        idle_bytes -= bytes;
        idle.erase(std::next(block).base());
        return memory;
      }
    }
    auto *memory = static_cast<std::byte *>(std::aligned_alloc(64, bytes));
    if (!memory)
      throw DeviceError("allocating " + std::to_string(bytes) + " bytes of scratch memory on cpu", "out of memory");
    return Scratch::Memory(memory);
  }

  void give_back(Scratch::Memory memory, std::size_t bytes) noexcept {
    std::lock_guard lock(mutex);
    // Within the capacity, so that returning memory never allocates.
    if (idle_bytes + bytes > limit || idle.size() == idle.capacity()) return;
    idle.push_back({std::move(memory), bytes});
    idle_bytes += bytes;
  }

  std::mutex mutex;
  std::vector<Idle> idle;
  std::size_t idle_bytes = 0;
};

void Scratch::Free::operator()(std::byte *memory) const noexcept { std::free(memory); }

Scratch::Scratch(std::size_t bytes) : bytes_(std::bit_ceil(bytes < 64 ? 64 : bytes)) {
  memory_ = ScratchPool::instance().take(bytes_);
}

Scratch::~Scratch() {
  if (memory_) ScratchPool::instance().give_back(std::move(memory_), bytes_);
}

}  // namespace samite
