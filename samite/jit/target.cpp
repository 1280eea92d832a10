#include "samite/jit/target.h"

#include "samite/codegen/prelude.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::jit {
namespace {

// bench/results/ has the measurements of hardware.
constexpr int run_on[] = {90};

constexpr Target gpus[] = {Target::of(80),  Target::of(86),  Target::of(89), Target::of(90),
                           Target::of(100), Target::of(103), Target::of(120)};

// Only the feature sets "a" of these have instructions for warp groups and for tensor memory.
bool has_own_features(int capability) { return capability == 90 || (capability >= 100 && capability < 110); }

}  // namespace

const passes::Architecture &Target::architecture() const {
  return is_cpu() ? passes::cpu_architecture() : passes::gpu_architecture(capability_);
}

std::string Target::name() const {
  if (is_cpu()) return "cpu";
  return fmt::format("sm_{}{}", capability_, has_own_features(capability_) ? "a" : "");
}

CompiledCuda Target::compile(const CudaSource &source) const {
  return compile_cuda(source, codegen::cuda_prelude(source.text), name());
}

bool Target::has_been_run() const { return is_cpu() || std::ranges::find(run_on, capability_) != std::end(run_on); }

std::span<const Target> known_gpus() { return gpus; }

}  // namespace samite::jit
