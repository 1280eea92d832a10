// Collects the HTML report of a scheduled pipeline, which Pipeline::report_html writes (jit/pipeline_report.h).
//
// Kernels that were compiled for the device are shown as compiled. Others are compiled now, as for contiguous arrays
// that share no memory; without a compiler, the report has their text, and the reason.
#pragma once

#include "samite/jit/page/page.h"
#include "samite/jit/pipeline_definition.h"

#include <string>

namespace samite::jit {

// The report of a launch on the device; without such a GPU, for compute capability 9.0.
Page page_of(PipelineDefinition &definition, Device device, const std::string &schedule);

}  // namespace samite::jit
