// A context's information when it meets a fault: its streams, and their latest launches.
//
// Every function may be called from any thread.
#pragma once

#include "samite/driver/error.h"
#include "samite/driver/launch_history.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace samite::driver {

class FaultLog {
 public:
  // The position of each stream at one moment.
  using Mark = std::vector<std::pair<std::shared_ptr<LaunchHistory>, std::uint64_t>>;

  // Launches recorded in `history` are named in a report until they have completed, even if its stream is gone.
  void watch(std::string stream_name, const std::shared_ptr<LaunchHistory> &history);

  Mark mark() const;
  // All launches before `mark` have completed without a fault.
  static void completed(const Mark &mark);

  // The message for a fault that `call` met. The first report names possible causes and is kept; later ones repeat it,
  // because the driver answers every call with the same code from then on.
  std::string report(const std::string &context, Result code, const std::string &description, const std::string &call);

  bool met() const;

 private:
  struct Watched {
    std::string name;
    std::shared_ptr<LaunchHistory> history;
    // Whether its stream is gone and all its launches have been reported.
    bool forgotten() const { return history.use_count() == 1 && history->pending().empty(); }
  };

  std::string launches() const;

  mutable std::mutex mutex_;
  std::vector<Watched> watched_;
  std::string first_;
};

}  // namespace samite::driver
