// Launches of a pipeline in another direction: forward launches of the pipeline that is its derivative.
#pragma once

#include "samite/jit/pipeline_launch.h"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace samite::jit {

struct DerivedPipeline {
  std::shared_ptr<PipelineDefinition> definition;
  PipelineOptions options;
  std::vector<OwnedArgument> arguments;  // those of the pipeline, and the gradients of arrays that track theirs
};

// UserError if the arguments do not fit the pipeline, if none of them tracks its gradient, if the derivative is
// impossible, and for tangents, which pipelines do not have.
DerivedPipeline derived_pipeline(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                                 std::span<const Argument> arguments);

// Whether this thread records a tape, and one of the arguments tracks its gradient.
bool belongs_on_tape(std::span<const Argument> arguments);

// Puts a launch on the tape that this thread records: `run` launches the pipeline, which fills the arrays `written`, as
// bits; Tape::backward launches its adjoint.
void launch_on_tape(const std::shared_ptr<PipelineDefinition> &definition, const PipelineOptions &options,
                    std::span<const Argument> arguments, std::uint64_t written, const std::function<void()> &run,
                    SourceLocation where);

}  // namespace samite::jit
