// A pipeline lowered for a GPU.
#pragma once

#include "samite/jit/definition.h"
#include "samite/jit/pipeline_definition.h"

namespace samite::test {

template <class P>
schedules::Program on_a_gpu(const P &pipeline) {
  return pipeline.definition()->lower({DeviceKind::cuda, 90}, "cuda");
}

}  // namespace samite::test
