// Captures a C++ function as a kernel of the IR, or as a pipeline.
#pragma once

#include "samite/ir/func.h"
#include "samite/lang/parameters.h"

#include <string>
#include <utility>
#include <vector>

namespace samite::lang {

// Runs `function` once, as a trace, and returns the captured kernel. `block_threads` is the number of threads of a tile
// kernel's block.
ir::Kernel run_capture(std::string name, std::vector<ir::Parameter> parameters,
                       FunctionRef<void(std::uint32_t serial)> function, SourceLocation where, int block_threads);

// The same for a pipeline, whose function defines Funcs (lang/func.h).
ir::CapturedPipeline run_pipeline_capture(std::string name, std::vector<ir::Parameter> parameters,
                                          FunctionRef<void(std::uint32_t serial)> function, SourceLocation where);

template <class... Ps, class F>
ir::Kernel capture(std::string name, const std::vector<std::string> &names, const F &function, SourceLocation where,
                   int block_threads = 0) {
  auto parameters = named({described<Ps>()...}, names, name, where);
  return run_capture(
      std::move(name), std::move(parameters),
      [&](std::uint32_t serial) { call_with_parameters<Ps...>(serial, function, where); }, where, block_threads);
}

template <class... Ps, class F>
ir::CapturedPipeline capture_pipeline(std::string name, const std::vector<std::string> &names, const F &function,
                                      SourceLocation where) {
  auto parameters = named({described<Ps>()...}, names, name, where);
  return run_pipeline_capture(
      std::move(name), std::move(parameters),
      [&](std::uint32_t serial) { call_with_parameters<Ps...>(serial, function, where); }, where);
}

}  // namespace samite::lang
