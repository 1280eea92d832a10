// Lines that kernels print, on their way to Python's sys.stdout.
//
// A launch runs without Python's lock, and may not wait for it: a thread that has it may wait for the launch. So the
// lines are kept until the call that launched has the lock again.
#pragma once

namespace samite::python {

// Makes this module the destination of what kernels print.
void redirect_printed();

// Writes the kept lines to sys.stdout; Python's lock is held. Throws what sys.stdout raises; the lines are then gone.
void write_printed();

// The same where an exception is on its way already: what sys.stdout raises goes to sys.unraisablehook.
void write_printed_quietly() noexcept;

}  // namespace samite::python
