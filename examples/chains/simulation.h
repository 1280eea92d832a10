// All chains over all time steps as one chain of recorded launches, and their distance from the target at the end.
#pragma once

#include "chain_kernels.h"
#include "shared/chain.h"

#include <vector>

namespace chains {

template <class T>
class Simulation {
 public:
  // Throws and targets begin as zeros.
  Simulation(Device device, const Model &model)
      : device_(device),
        rods_{model.links, model.chains},
        throws_(device, {6, model.chains}, Gradient::tracked),
        target_(device, {3, model.links, model.chains}),
        total_(device, {1}, Gradient::tracked) {
    const auto advance = step<T>(model);
    states_.push_back(state());
    chain.add(begin<T>(model), rods_, states_.back(), throws_);
    for (int i = 0; i < model.steps; ++i) {
      states_.push_back(state());
      chain.add(advance, rods_, states_[states_.size() - 1], states_[states_.size() - 2]);
    }
    chain.add(chains::miss<T>(), rods_, total_, states_.back(), target_);
    total_.gradient().fill(1);  // d(miss) / d(miss); the adjoint of a sum only reads it
  }

  // Σ |p - target|² at the end, in m².
  double miss() {
    total_.fill(0);
    chain.run();
    return total_.at(0);
  }

  // Adds the miss's derivatives to the gradient of the throws, for the states of the last miss().
  void add_gradient() { chain.run_adjoint(); }

  Buffer<T> &throws() { return throws_; }
  Buffer<T> &target() { return target_; }
  // Before step `i`; (quantity, link, chain).
  const Buffer<T> &state(int i) const { return states_[static_cast<std::size_t>(i)]; }

  examples::Chain chain;

 private:
  Buffer<T> state() const { return {device_, {state_size, rods_[0], rods_[1]}, Gradient::tracked}; }

  Device device_;
  Extents rods_;
  Buffer<T> throws_, target_;
  std::vector<Buffer<T>> states_;
  Buffer<double> total_;
};

}  // namespace chains
