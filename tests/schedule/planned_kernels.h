// The kernels of a scheduled pipeline as planned for a GPU, and their threads' accesses that lack a barrier.
#pragma once

#include "samite/ir/print.h"
#include "samite/jit/steps.h"
#include "samite/passes/analysis/unsynchronised.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/schedule/program.h"

#include <string>
#include <variant>
#include <vector>

namespace samite::test {

inline passes::FactsOfArrays facts_of_pipeline(const ir::Kernel &kernel) {
  return {kernel.parameters.size(), {.unit_stride = true, .unaliased = true}};
}

inline void add_planned(const schedules::Steps &steps, std::vector<ir::Kernel> &kernels) {
  for (const schedules::Step &step : steps) {
    if (const auto *launch = std::get_if<schedules::KernelLaunch>(&step.kind))
      kernels.push_back(jit::plan(passes::lower_threads(launch->kernel),
                                  {passes::gpu_architecture(90), facts_of_pipeline(launch->kernel)}));
    if (const auto *loop = std::get_if<schedules::HostLoop>(&step.kind)) add_planned(loop->body, kernels);
    if (const auto *branch = std::get_if<schedules::HostBranch>(&step.kind)) {
      add_planned(branch->then_steps, kernels);
      add_planned(branch->else_steps, kernels);
    }
  }
}
inline std::vector<ir::Kernel> planned_kernels(const schedules::Program &program) {
  std::vector<ir::Kernel> kernels;
  add_planned(program.steps, kernels);
  return kernels;
}

inline std::vector<std::string> missing_barriers(const ir::Kernel &planned) {
  return passes::unsynchronised(planned, passes::shares_memory(facts_of_pipeline(planned))).missing;
}
// Those of all kernels of a program, with the text of each kernel that has some.
inline std::string missing_barriers(const schedules::Program &program) {
  std::string missing;
  for (const ir::Kernel &planned : planned_kernels(program))
    for (const std::string &found : missing_barriers(planned)) missing += found + "\n" + to_string(planned);
  return missing;
}

}  // namespace samite::test
