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
// As text of C++ (schedule/schedule_text.h).
std::string adjoint_schedule_text(PipelineDefinition &definition);
std::string adjoint_loop_nest_text(PipelineDefinition &definition, Device device);
// UserError if the text is no schedule of the adjoint, or cannot be lowered; then nothing has changed.
void give_adjoint_schedule(PipelineDefinition &definition, const std::string &text);
// Writes the HTML report (jit/pipeline_page.h) as one file. UserError if the file cannot be written.
void write_page(PipelineDefinition &definition, const std::string &file, Device device, const std::string &schedule);
}  // namespace jit

template <class Signature>
PipelineReport report(const Pipeline<Signature> &pipeline) {
  return jit::report(*pipeline.definition());
}

// The schedule for the CPU of the pipeline's adjoint, for gradients of all arrays of floating type. It is derived from
// the pipeline's own one (autodiff/pipeline_schedule.h), unless another one was given. One statement of C++ a line:
//
//   rows_gradient.store_at(in_gradient_sum, y_strip).compute_at(in_gradient_sum, y_row).vectorize(x);
//
// Empty if it is the default schedule. UserError if the pipeline has no adjoint.
template <class Signature>
std::string adjoint_schedule(const Pipeline<Signature> &pipeline) {
  return jit::adjoint_schedule_text(*pipeline.definition());
}

// Gives the adjoint this schedule for the CPU from here on; the derived one again if the text is empty. Launches that
// are recorded keep theirs. UserError, with the line of the text, for what is no directive, for a Func that the adjoint
// does not have, and for a schedule that cannot be lowered.
template <class Signature>
void schedule_adjoint(const Pipeline<Signature> &pipeline, const std::string &text) {
  jit::give_adjoint_schedule(*pipeline.definition(), text);
}

// The loop nest of the adjoint, for gradients of all arrays of floating type.
template <class Signature>
std::string adjoint_loop_nest(const Pipeline<Signature> &pipeline, Device device = Device::cpu()) {
  return jit::adjoint_loop_nest_text(*pipeline.definition(), device);
}

}  // namespace samite
