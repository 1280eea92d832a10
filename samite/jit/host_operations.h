// What becomes of the host's operations on buffers (runtime/host_operation.h) while this thread captures a graph,
// computes tangents or records a tape.
#pragma once

namespace samite::jit {

// From now on threads in such a mode are asked. Called where a mode begins; calling it again is harmless.
void handle_host_operations() noexcept;

}  // namespace samite::jit
