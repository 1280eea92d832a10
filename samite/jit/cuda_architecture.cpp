#include "samite/jit/cuda_architecture.h"

namespace samite::jit {

std::string cuda_architecture(int compute_capability) {
  const bool has_own_features = compute_capability == 90 || (compute_capability >= 100 && compute_capability < 110);
  return "sm_" + std::to_string(compute_capability) + (has_own_features ? "a" : "");
}

}  // namespace samite::jit
