// Ranks that are threads, for tests.
#pragma once

#include "samite/distributed/communicator.h"

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace samite::test {

// Runs `work` on each rank, and returns each rank's exception: "" for none.
inline std::vector<std::string> errors_of_ranks(int ranks, const std::function<void(const Communicator &)> &work,
                                                const CommunicatorOptions &options = {}) {
  std::vector<std::string> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (const Communicator &rank : Communicator::of_threads(ranks, options))
    threads.emplace_back([&errors, &work, rank] {
      try {
        work(rank);
      } catch (const std::exception &error) {
        errors[static_cast<std::size_t>(rank.rank())] = error.what();
        rank.abort("rank " + std::to_string(rank.rank()) + " has failed");
      }
    });
  for (std::thread &thread : threads) thread.join();
  return errors;
}

}  // namespace samite::test
