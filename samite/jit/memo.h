// Values that are made once for each key, on first use.
//
// Thread-safe: if two threads request the same key, one makes the value and the other waits; different keys are made
// concurrently. If making throws, nothing is kept, and the next call tries again. References stay valid as long as the
// memo.
//
// Existing values are found without a lock, since this is on the path of every launch: the keys are a list that only
// grows at its end.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace samite::jit {

template <class Key, class Value>
class Memo {
 public:
  template <class Make>
  const Value &get(const Key &key, const Make &make) {
    Slot *slot = find(key);
    if (!slot) slot = &add(key);
    if (slot->made.load(std::memory_order_acquire)) return *slot->value;
    const std::lock_guard making(slot->making);
    if (!slot->made.load(std::memory_order_relaxed)) {
      slot->value = make();
      slot->made.store(true, std::memory_order_release);
    }
    return *slot->value;
  }

  // Copies of all values so far, in the order of their first requests.
  std::vector<Value> made() const {
    std::vector<Value> values;
    for (const Slot *slot = first_.load(std::memory_order_acquire); slot;
         slot = slot->next.load(std::memory_order_acquire))
      if (slot->made.load(std::memory_order_acquire)) values.push_back(*slot->value);
    return values;
  }

 private:
  struct Slot {
    explicit Slot(const Key &key) : key(key) {}

    const Key key;
    std::mutex making;
    std::optional<Value> value;  // written once, before `made`
    std::atomic<bool> made{false};
    std::atomic<Slot *> next{nullptr};
  };

  Slot *find(const Key &key) const {
    Slot *slot = first_.load(std::memory_order_acquire);
    while (slot && !(slot->key == key)) slot = slot->next.load(std::memory_order_acquire);
    return slot;
  }

  Slot &add(const Key &key) {
    const std::lock_guard lock(adding_);
    if (Slot *added_meanwhile = find(key)) return *added_meanwhile;
    slots_.push_back(std::make_unique<Slot>(key));
    Slot *const slot = slots_.back().get();
    std::atomic<Slot *> &end = slots_.size() == 1 ? first_ : slots_[slots_.size() - 2]->next;
    end.store(slot, std::memory_order_release);
    return *slot;
  }

  std::atomic<Slot *> first_{nullptr};
  std::mutex adding_;
  std::vector<std::unique_ptr<Slot>> slots_;  // owners of the list's slots; used by writers only
};

}  // namespace samite::jit
