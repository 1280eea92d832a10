// Kernels that are made on first use, one for each key. Thread-safe; kernels do not move while the object lives.
#pragma once

#include "samite/base/hash.h"
#include "samite/base/source_location.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace samite::ops::detail {

// Arrays of a kernel as bits, as in jit::KernelDefinition::expect_apart.
constexpr std::uint64_t all_arrays = ~std::uint64_t{0};
constexpr std::uint64_t first_arrays(int count) { return (std::uint64_t{1} << count) - 1; }

template <class Kernel>
void expect_apart(const Kernel &kernel, std::uint64_t read_elsewhere) {
  if constexpr (requires { kernel.definition()->expect_apart(read_elsewhere); })
    kernel.definition()->expect_apart(read_elsewhere);
  else if constexpr (requires { kernel->expect_apart(read_elsewhere); })
    kernel->expect_apart(read_elsewhere);
}

template <class Key, class Kernel>
class Kernels {
 public:
  // `read_elsewhere`: arrays that blocks read at other places than they write. Neither these, nor arrays with differing
  // views, may share elements with an array that a kernel writes.
  explicit Kernels(std::function<Kernel(const Key &)> make, std::uint64_t read_elsewhere = all_arrays)
      : make_(std::move(make)), read_elsewhere_(read_elsewhere) {}

  const Kernel &at(const Key &key) {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<Made> &made : made_)
      if (made->key == key) return made->kernel;
    made_.push_back(std::make_unique<Made>(Made{key, make_(key)}));
    const Kernel &kernel = made_.back()->kernel;
    expect_apart(kernel, read_elsewhere_);
    return kernel;
  }
  std::vector<Kernel> all() {
    const std::lock_guard lock(mutex_);
    std::vector<Kernel> kernels;
    for (const std::unique_ptr<Made> &made : made_) kernels.push_back(made->kernel);
    return kernels;
  }

 private:
  struct Made {
    Key key;
    Kernel kernel;
  };

  std::function<Kernel(const Key &)> make_;
  std::uint64_t read_elsewhere_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Made>> made_;  // few, so that a search of all is faster than a tree, also to compile
};

// The first argument of a call, with the line of that call.
template <class Buffer>
struct Called {
  Called(const Buffer &buffer, SourceLocation where = std::source_location::current()) : buffer(buffer), where(where) {}

  const Buffer &buffer;
  SourceLocation where;
};

// An operation's options, and its kernels.
template <class Options, class Key, class Kernel>
struct OneOperation {
  template <class Make>
  OneOperation(std::string name, Options options, std::uint64_t read_elsewhere, Make make)
      : name(std::move(name)), options(options), kernels(std::move(make), read_elsewhere) {}

  std::string name;
  Options options;
  Kernels<Key, Kernel> kernels;
};

// The options of an operation on matrices, or on batches of them in three dimensions, and its kernels for both.
template <class Options, class Key, class OfMatrices, class OfBatches>
struct Operation {
  template <class MakeOfMatrices, class MakeOfBatches>
  Operation(std::string name, Options options, std::uint64_t read_elsewhere, Hash128 identity,
            MakeOfMatrices of_matrices, MakeOfBatches of_batches)
      : name(std::move(name)),
        options(options),
        identity(identity),
        matrices(std::move(of_matrices), read_elsewhere),
        batches(std::move(of_batches), read_elsewhere) {}

  std::string name;
  Options options;
  Hash128 identity;  // among operations with stored plans
  Kernels<Key, OfMatrices> matrices;
  Kernels<Key, OfBatches> batches;
};

}  // namespace samite::ops::detail
