#include "samite/jit/at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <thread>

namespace samite::jit {

// Uses its own threads: a task may wait for another one's result, and a oneTBB thread could pick up the very task that
// waits for it.
void at_once(const std::vector<std::function<void()>> &tasks) {
  if (tasks.size() == 1) return tasks.front()();  // without asking the system for the number of processors
  std::vector<std::exception_ptr> thrown(tasks.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks.size(); i = next++) try {
        tasks[i]();
      } catch (...) {
        thrown[i] = std::current_exception();
      }
  };
  const std::size_t threads = std::min<std::size_t>(tasks.size(), std::max(1u, std::thread::hardware_concurrency()));
  {
    std::vector<std::future<void>> others;  // each waits in its destructor
    for (std::size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
    work();
  }
  for (const std::exception_ptr &exception : thrown)
    if (exception) std::rethrow_exception(exception);
}

}  // namespace samite::jit
