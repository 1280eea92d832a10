// Programs of CUDA schedules without a GPU: the text of each kernel as CUDA gets it, run on the host by
// tests/codegen/cuda_on_host.h, one launch after another.
#pragma once

#include "samite/jit/pipeline_definition.h"
#include "samite/jit/scheduled.h"
#include "tests/codegen/block_schedule.h"

#include <functional>
#include <vector>

namespace samite::test {

// Of compute capability 9.0. `schedule`: as PipelineOptions has it.
std::shared_ptr<const jit::ScheduledProgram> cuda_program(jit::PipelineDefinition &definition,
                                                          const std::string &schedule = "");

// A block's shared memory has no room for what a kernel keeps there, and no launch would be taken.
struct NoRoomInBlock {};

// `axes`: the grid has an axis for each dimension, where there are two or three. `few`: each does the work of several,
// one after another, as where threads have memory of the launch's.
struct HostBlocks {
  enum class Grid : std::uint8_t { flat, axes, few } grid = Grid::axes;
  ThreadOrder order = {};
};

// The arguments' buffers are on the CPU. Throws std::runtime_error where a kernel reports a failure, and NoRoomInBlock.
void run_on_host(const jit::ScheduledProgram &program, const std::vector<jit::Argument> &arguments,
                 const HostBlocks &blocks = {});

// Of a pipeline that fills its first argument, an array of f32: what that is under the default schedule on the CPU,
// under the one for CUDA there, and under the same on the host as on CUDA.
struct Filled {
  std::vector<float> by_default, on_cpu, as_on_cuda;
};
Filled filled_by(const std::shared_ptr<jit::PipelineDefinition> &definition,
                 const std::vector<jit::Argument> &arguments);

// What the kernels are as text, as run_on_host compiles it, in the order of the program.
std::vector<codegen::EmittedSource> emitted_for_cuda(const jit::ScheduledProgram &program);

}  // namespace samite::test
