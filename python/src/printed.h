// Lines that kernels print, on their way to Python's sys.stdout.
//
// A launch runs without Python's lock and must not wait for it, because a thread that holds it may wait for the launch.
// So the lines are kept until the launching call holds the lock again.
#pragma once

namespace samite::python {

// Makes this module receive the lines that kernels print.
void redirect_printed();

// Writes the kept lines to sys.stdout; the caller holds Python's lock. Throws errors of sys.stdout; the lines are then
// lost.
void write_printed();

// The same while an exception propagates: errors of sys.stdout go to sys.unraisablehook.
void write_printed_quietly() noexcept;

}  // namespace samite::python
