#include "fork.h"

#include "samite/base/error.h"

#include <pthread.h>

#include <atomic>

namespace samite::python {
namespace {

std::atomic<bool> used{false}, forked_after_use{false};

}  // namespace

void watch_forks() {
  pthread_atfork(nullptr, nullptr, [] { forked_after_use.store(used.load()); });
}

void refuse_after_fork() {
  if (forked_after_use.load(std::memory_order_relaxed))
    throw UserError(
        "this process was forked from one that had run kernels of Samite, whose threads it has not: start processes "
        "with multiprocessing.get_context('spawn'), or fork before the first call of a kernel");
  used.store(true, std::memory_order_relaxed);
}

}  // namespace samite::python
