// Handles the host's operations on buffers (runtime/host_operation.h) while this thread captures a graph, computes
// tangents or records a tape.
#pragma once

namespace samite::jit {

// Installs the handler for threads in such a mode. Called when a mode begins; further calls are harmless.
void handle_host_operations() noexcept;

}  // namespace samite::jit
