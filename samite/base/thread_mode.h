// What a thread is in the midst of that makes its launches more than launches. All of it is one word, because every
// launch asks: a plain launch reads it once.
#pragma once

namespace samite {

enum class ThreadMode : unsigned { captures_kernel = 1, captures_graph = 2, computes_tangents = 4, records_tape = 8 };

namespace internal {
// Initialised where it is stored, so that reading it calls no function that might have to do so first.
extern __attribute__((visibility("hidden"))) constinit thread_local unsigned thread_modes;
}  // namespace internal

// These affect the calling thread. Modes of different kinds may overlap in any order; the caller makes sure that two
// modes of the same kind do not overlap.
inline void begin(ThreadMode mode) noexcept { internal::thread_modes |= static_cast<unsigned>(mode); }
inline void end(ThreadMode mode) noexcept { internal::thread_modes &= ~static_cast<unsigned>(mode); }
inline bool is_in(ThreadMode mode) noexcept { return (internal::thread_modes & static_cast<unsigned>(mode)) != 0; }
inline bool is_in_any_mode() noexcept { return internal::thread_modes != 0; }

}  // namespace samite
