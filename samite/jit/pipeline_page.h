// The page of a scheduled pipeline, gathered: Pipeline::report_html.
//
// Kernels that were compiled for the device are shown as they are. Others are compiled now, as for arrays without gaps
// that share no memory; where the compiler is missing, their text is there, and the reason.
#pragma once

#include "samite/jit/page/page.h"
#include "samite/jit/pipeline_definition.h"

#include <string>

namespace samite::jit {

// Of what a launch on the device would run; there need be no such GPU, and is then one of compute capability 9.0.
Page page_of(PipelineDefinition &definition, Device device, const std::string &schedule);

// Writes it as one HTML file. UserError where that cannot be written.
void write_page(PipelineDefinition &definition, const std::string &file, Device device, const std::string &schedule);

}  // namespace samite::jit
