// The modes in which a thread's launches do more than run, such as recording on a tape. All modes are bits of one word,
// because every launch checks them: a plain launch reads it once.
#pragma once

namespace samite {

enum class ThreadMode : unsigned { captures_kernel = 1, captures_graph = 2, computes_tangents = 4, records_tape = 8 };

namespace internal {
// constinit, so that reading it does not call a function that initialises it.
extern __attribute__((visibility("hidden"))) constinit thread_local unsigned thread_modes;
}  // namespace internal

// These affect the calling thread. Modes of different kinds may overlap in any order; the caller makes sure that two
// modes of the same kind do not overlap.
inline void begin(ThreadMode mode) noexcept { internal::thread_modes |= static_cast<unsigned>(mode); }
inline void end(ThreadMode mode) noexcept { internal::thread_modes &= ~static_cast<unsigned>(mode); }
inline bool is_in(ThreadMode mode) noexcept { return (internal::thread_modes & static_cast<unsigned>(mode)) != 0; }
inline bool is_in_any_mode() noexcept { return internal::thread_modes != 0; }
// The same for other libraries, which do not see the word.
bool calling_thread_is_in_any_mode() noexcept;

}  // namespace samite
