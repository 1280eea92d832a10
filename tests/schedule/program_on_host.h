// Programs of CUDA schedules without a GPU: the text of each kernel as CUDA gets it, run on the host by
// tests/codegen/cuda_on_host.h, one launch after another.
#pragma once

#include "samite/jit/pipeline_definition.h"
#include "samite/jit/scheduled.h"
#include "tests/codegen/block_schedule.h"

#include <functional>
#include <vector>

namespace samite::test {

// For compute capability 9.0. `schedule`: as in PipelineOptions.
std::shared_ptr<const jit::ScheduledProgram> cuda_program(jit::PipelineDefinition &definition,
                                                          const std::string &schedule = "");

// A block's shared memory has no room for a kernel's data, and no launch would be accepted.
struct NoRoomInBlock {};

// `axes`: the grid has an axis for each dimension, if there are two or three. `few`: each block does the work of
// several, one after another, as for threads with memory from the launch.
struct HostBlocks {
  enum class Grid : std::uint8_t { flat, axes, few } grid = Grid::axes;
  ThreadOrder order = {};
};

// The arguments' buffers are on the CPU. Throws std::runtime_error if a kernel reports a failure, and NoRoomInBlock.
void run_on_host(const jit::ScheduledProgram &program, const std::vector<jit::Argument> &arguments,
                 const HostBlocks &blocks = {});

// For a pipeline that fills its first argument, an array of f32: its values under the default schedule on the CPU,
// under the one for CUDA there, and under the same on the host as on CUDA.
struct Filled {
  std::vector<float> by_default, on_cpu, as_on_cuda;
};
Filled filled_by(const std::shared_ptr<jit::PipelineDefinition> &definition,
                 const std::vector<jit::Argument> &arguments);

// The text of the kernels, in the order of the program. No two blocks have to share the registers of a multiprocessor:
// a launch drops that if a kernel then spills.
std::vector<codegen::EmittedSource> emitted_for_cuda(const jit::ScheduledProgram &program);

}  // namespace samite::test
