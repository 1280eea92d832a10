// One slot for each key ever asked for: its lock makes threads that want the same thing wait for one of them to make
// it, while those that want other things go on.
//
// A slot lives as long as the table, so that nobody waits on a lock that is gone. Thread-safe; `value` is read and
// written under the slot's lock.
#pragma once

#include "samite/base/hash.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace samite {

template <class Value>
class Slots {
 public:
  struct Slot {
    std::mutex mutex;
    Value value;
  };

  std::shared_ptr<Slot> at(const Hash128 &key) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Slot> &slot = slots_[key];
    if (!slot) slot = std::make_shared<Slot>();
    return slot;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<Hash128, std::shared_ptr<Slot>> slots_;
};

}  // namespace samite
