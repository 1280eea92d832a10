#include "bench/peers/openmp.h"

#include <omp.h>

const char *peer_compiler() { return "clang " __clang_version__; }
int peer_threads() { return omp_get_max_threads(); }
void let_peer_threads_sleep() { kmp_set_blocktime(0); }
