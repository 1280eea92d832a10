// Kernels that are made when they are first asked for, one for each key. Any thread may ask; a kernel stays where it is
// as long as the object lives.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace samite::ops::detail {

template <class Key, class Kernel>
class Kernels {
 public:
  explicit Kernels(std::function<Kernel(const Key &)> make) : make_(std::move(make)) {}

  const Kernel &at(const Key &key) {
    const std::lock_guard lock(mutex_);
    auto found = kernels_.find(key);
    if (found == kernels_.end()) found = kernels_.emplace(key, make_(key)).first;
    return found->second;
  }
  std::vector<Kernel> all() {
    const std::lock_guard lock(mutex_);
    std::vector<Kernel> kernels;
    for (const auto &[key, kernel] : kernels_) kernels.push_back(kernel);
    return kernels;
  }

 private:
  std::function<Kernel(const Key &)> make_;
  std::mutex mutex_;
  std::map<Key, Kernel> kernels_;
};

}  // namespace samite::ops::detail
