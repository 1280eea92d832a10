// Launches one after another, and the adjoints of all of them in reverse.
//
// Each launch writes to buffers that no other launch of the chain writes to or has read before, so that going back
// means launching the recorded adjoints in reverse order: no step looks anything up, allocates or copies.
#pragma once

#include <samite/samite.h>

#include <string>
#include <utility>
#include <vector>

namespace examples {

class Chain {
 public:
  template <class... Ps, class... As>
  void add(const samite::Kernel<void(Ps...)> &kernel, const samite::Extents &extents, const As &...arguments) {
    auto [forward, adjoint] = kernel.record_with_adjoint(extents, arguments...);
    forward_.push_back(std::move(forward));
    adjoint_.push_back(std::move(adjoint));
  }

  void run() {
    for (samite::Launch &launch : forward_) launch.launch();
  }
  void run_adjoint() {
    for (auto launch = adjoint_.rbegin(); launch != adjoint_.rend(); ++launch) launch->launch();
  }

  std::size_t size() const { return forward_.size(); }
  const samite::Launch &forward(std::size_t i) const { return forward_[i]; }
  const samite::Launch &adjoint(std::size_t i) const { return adjoint_[i]; }

 private:
  std::vector<samite::Launch> forward_, adjoint_;
};

}  // namespace examples
