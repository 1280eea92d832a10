// Ranges for NVIDIA's profilers: if SAMITE_NVTX is set to anything but 0, Nsight Systems shows the host's spans of a
// trace (base/trace.h) above the device's work: captures, compiles, launches, copies, graphs and tapes, by name.
//
// libnvToolsExt is opened when the program starts, and never linked; without it a warning says so. A profiler that runs
// the program reads the ranges; without one they cost a call each. Thread-safe.
#pragma once

namespace samite {

// Whether ranges are wanted and the library is open. The answer does not change.
bool has_nvtx();

// Begins a range of this thread, and ends its innermost one. Only if has_nvtx().
void begin_nvtx_range(const char *name) noexcept;
void end_nvtx_range() noexcept;

// Whether spans are only ranges, and no trace records them.
bool only_nvtx() noexcept;

}  // namespace samite
