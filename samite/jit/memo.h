// Values that are made once for each key, when first asked for.
//
// Thread-safe: two threads that ask for one key get one making, of which one waits for the other; different keys are
// made at the same time. Where making throws, nothing is kept, and the next call tries again. References stay valid as
// long as the memo.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace samite::jit {

template <class Key, class Value>
class Memo {
 public:
  template <class Make>
  const Value &get(const Key &key, const Make &make) {
    Slot &slot = slot_of(key);
    const std::lock_guard making(slot.making);
    if (!slot.value) {
      Value value = make();
      const std::lock_guard lock(mutex_);
      slot.value = std::move(value);
    }
    return *slot.value;
  }

  // Copies of what has been made so far, in the order in which it was first asked for.
  std::vector<Value> made() const {
    const std::lock_guard lock(mutex_);
    std::vector<Value> values;
    for (const auto &slot : slots_)
      if (slot->value) values.push_back(*slot->value);
    return values;
  }

 private:
  struct Slot {
    Key key;
    std::mutex making;
    std::optional<Value> value;
  };

  Slot &slot_of(const Key &key) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const auto &slot) { return slot->key == key; });
    if (found != slots_.end()) return **found;
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->key = key;
    return *slots_.back();
  }

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace samite::jit
