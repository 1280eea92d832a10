// Kernels that are made when they are first asked for, one for each key. Any thread may ask; a kernel stays where it is
// as long as the object lives.
#pragma once

#include "samite/base/hash.h"
#include "samite/base/source_location.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
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

// What an operation was made with, and its kernels.
template <class Options, class Key, class Kernel>
struct OneOperation {
  template <class Make>
  OneOperation(std::string name, Options options, SourceLocation where, Make make)
      : name(std::move(name)), options(options), where(where), kernels(std::move(make)) {}

  std::string name;
  Options options;
  SourceLocation where;
  Kernels<Key, Kernel> kernels;
};

// What an operation on matrices, or on as many of each in three dimensions, was made with, and its kernels for each.
template <class Options, class Key, class OfMatrices, class OfBatches>
struct Operation {
  template <class MakeOfMatrices, class MakeOfBatches>
  Operation(std::string name, Options options, SourceLocation where, Hash128 identity, MakeOfMatrices of_matrices,
            MakeOfBatches of_batches)
      : name(std::move(name)),
        options(options),
        where(where),
        identity(identity),
        matrices(std::move(of_matrices)),
        batches(std::move(of_batches)) {}

  std::string name;
  Options options;
  SourceLocation where;
  Hash128 identity;  // among operations whose plans are kept
  Kernels<Key, OfMatrices> matrices;
  Kernels<Key, OfBatches> batches;
};

}  // namespace samite::ops::detail
