#include "samite/jit/cuda_objects.h"

#include "samite/codegen/prelude.h"

#include <map>
#include <mutex>

namespace samite::jit {
namespace {

std::string_view prelude_of(const std::string &header) {
  static std::mutex mutex;
  static std::map<std::string, std::string> preludes;
  const std::lock_guard lock(mutex);
  const auto [known, added] = preludes.try_emplace(header);
  if (added) known->second = codegen::cuda_object_prelude(header);
  return known->second;
}

}  // namespace

std::string cuda_architecture(int compute_capability) {
  const bool has_own_features = compute_capability == 90 || (compute_capability >= 100 && compute_capability < 110);
  return "sm_" + std::to_string(compute_capability) + (has_own_features ? "a" : "");
}

std::vector<CudaSource> cuda_objects(const std::vector<codegen::EmittedObject> &objects, bool debug_info) {
  std::vector<CudaSource> sources;
  for (const codegen::EmittedObject &object : objects)
    sources.push_back({object.name, object.text, debug_info, prelude_of(object.header)});
  return sources;
}

}  // namespace samite::jit
