// How much of a thread's stack a capture may still use.
//
// A capture runs C++ functions, so that one that calls itself without end would overflow the stack. Each statement that
// the capture records asks here first, so that the capture can end with a message instead.
#pragma once

#include <cstdint>

namespace samite::lang {

class StackRoom {
 public:
  // Measures from the caller's frame on, on the calling thread.
  StackRoom();

  // Whether the caller's frame is beyond the usable stack. Always false if the thread runs on a stack that the system
  // does not know, such as a coroutine's.
  bool used_up() const noexcept { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < lowest_; }

 private:
  std::uintptr_t lowest_ = 0;
};

}  // namespace samite::lang
