// Facts about the peers as a whole.
#pragma once

extern "C" {
const char *peer_compiler();  // "clang 22.1.0"
int peer_threads();
// From now on OpenMP threads of this process sleep between parallel regions instead of spinning.
void let_peer_threads_sleep();
}
