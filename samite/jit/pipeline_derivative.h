// Launches of a pipeline in another direction: forward launches of the pipeline that is its derivative.
#pragma once

#include "samite/jit/pipeline_launch.h"

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

}  // namespace samite::jit
