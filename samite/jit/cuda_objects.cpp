#include "samite/jit/cuda_objects.h"

#include "samite/codegen/prelude.h"

namespace samite::jit {
std::string cuda_architecture(int compute_capability) {
  const bool has_own_features = compute_capability == 90 || (compute_capability >= 100 && compute_capability < 110);
  return "sm_" + std::to_string(compute_capability) + (has_own_features ? "a" : "");
}

std::vector<CudaSource> cuda_objects(const std::vector<codegen::EmittedObject> &objects, bool debug_info) {
  std::vector<CudaSource> sources;
  for (const codegen::EmittedObject &object : objects)
    sources.push_back({object.name, object.text, debug_info, codegen::cuda_prelude(object.text)});
  return sources;
}

}  // namespace samite::jit
