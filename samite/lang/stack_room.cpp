#include "samite/lang/stack_room.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>

namespace samite::lang {
namespace {

struct Stack {
  std::uintptr_t lowest = 0, size = 0;
};

// Asked once for each thread, since the system reads a file to tell the main thread's.
Stack stack_of_thread() {
  thread_local const Stack stack = [] {
    Stack found;
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return found;
    void *lowest = nullptr;
    std::size_t size = 0;
    if (::pthread_attr_getstack(&attributes, &lowest, &size) == 0)
      found = {reinterpret_cast<std::uintptr_t>(lowest), size};
    ::pthread_attr_destroy(&attributes);
    return found;
  }();
  return stack;
}

// Of a stack without a limit, so that a recursion without end stops before the memory does.
constexpr std::uintptr_t most_bytes = std::uintptr_t{64} << 20;
// For what is called after the last check, and for ending the capture with an error.
constexpr std::uintptr_t reserved_bytes = std::uintptr_t{256} << 10;

}  // namespace

StackRoom::StackRoom() {
  const Stack stack = stack_of_thread();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here <= stack.lowest || here - stack.lowest > stack.size) return;
  const std::uintptr_t room = here - stack.lowest;
  lowest_ = std::max(stack.lowest + std::min(reserved_bytes, room / 4), here - std::min(room, most_bytes));
}

}  // namespace samite::lang
