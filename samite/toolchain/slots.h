// One slot for each requested key: its lock makes threads that need the same value wait for one of them to make it,
// while threads that need others continue.
//
// A slot lives as long as the table, so that no thread waits on a destroyed lock. Thread-safe; `value` is accessed
// under the slot's lock.
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
