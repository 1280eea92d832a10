// The report of a scheduled pipeline: each of its programs, with the host's steps, and reports of their kernels.
//
//   std::cout << report(pipeline);
//
// Values; reading them compiles nothing. Thread-safe.
#pragma once

#include "samite/jit/report.h"
#include "samite/runtime/device.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace samite {

template <class Signature>
class Pipeline;

struct ReportedProgram {
  std::string target;    // "cpu", "sm_90a"
  std::string schedule;  // "" if none was chosen
  std::string steps;     // the host's, one a line; a kernel is its name
  std::vector<KernelReport> kernels;

  std::string to_string() const;
};

struct PipelineReport {
  std::string pipeline;
  std::vector<ReportedProgram> programs;  // in the order of first use

  std::string to_string() const;
  std::string to_json() const;  // one object, indented
};

std::ostream &operator<<(std::ostream &stream, const PipelineReport &report);

namespace jit {
class PipelineDefinition;
PipelineReport report(const PipelineDefinition &definition);
// schedule/program.h, for a launch on the device; works without such a GPU.
std::string program_text(PipelineDefinition &definition, Device device, const std::string &schedule);
// The same as the schedule's loop nest (schedule/loop_nest.h).
std::string loop_nest_text(PipelineDefinition &definition, Device device, const std::string &schedule);
// Writes the HTML report (jit/pipeline_page.h) as one file. UserError if the file cannot be written.
void write_page(PipelineDefinition &definition, const std::string &file, Device device, const std::string &schedule);
}  // namespace jit

template <class Signature>
PipelineReport report(const Pipeline<Signature> &pipeline) {
  return jit::report(*pipeline.definition());
}

}  // namespace samite
