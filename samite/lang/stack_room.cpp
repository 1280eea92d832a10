#include "samite/lang/stack_room.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>

namespace samite::lang {
namespace {

struct Stack {
  std::uintptr_t lowest = 0, size = 0;
  bool has(std::uintptr_t address) const { return address > lowest && address - lowest <= size; }
};

std::uintptr_t frame_address() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

// The process's initial stack. The program's name is at its upper end, and the kernel keeps at least 128 MiB below it
// free for it to grow, up to its limit. The system would report it too, but reads all of /proc/self/maps for that,
// which takes a tenth of the time from a kernel's construction to its first launch. Empty on other stacks, also if they
// are the first thread's, as after a fork.
std::optional<Stack> first_stack() {
  constexpr rlim_t kept_free = rlim_t{128} << 20;
  rlimit limit{};
  const std::uintptr_t top = ::getauxval(AT_EXECFN);
  if (top == 0 || ::getpid() != ::gettid() || ::getrlimit(RLIMIT_STACK, &limit) != 0) return std::nullopt;
  const std::uintptr_t size = std::min({limit.rlim_cur, kept_free, rlim_t{top}});
  const Stack stack{top - size, size};
  return stack.has(frame_address()) ? std::optional(stack) : std::nullopt;
}

// Asked once for each thread.
Stack stack_of_thread() {
  thread_local const Stack stack = [] {
    if (const auto first = first_stack()) return *first;
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

// Limit for a stack without one, so that infinite recursion stops before memory runs out.
constexpr std::uintptr_t most_bytes = std::uintptr_t{64} << 20;
// Reserved for calls after the last check, and for ending the capture with an error.
constexpr std::uintptr_t reserved_bytes = std::uintptr_t{256} << 10;

}  // namespace

StackRoom::StackRoom() {
  const Stack stack = stack_of_thread();
  const std::uintptr_t here = frame_address();
  if (!stack.has(here)) return;
  const std::uintptr_t room = here - stack.lowest;
  lowest_ = std::max(stack.lowest + std::min(reserved_bytes, room / 4), here - std::min(room, most_bytes));
}

}  // namespace samite::lang
