#include "samite/jit/pipeline_report.h"

#include "samite/jit/pipeline_definition.h"
#include "samite/jit/pipeline_launch.h"
#include "samite/jit/target.h"
#include "samite/runtime/cuda_device.h"
#include "samite/schedule/schedule_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace samite {

std::string ReportedProgram::to_string() const {
  std::string text = target + (schedule.empty() ? ", no schedule" : ", schedule '" + schedule + "'") + ":\n" + steps;
  for (const KernelReport &kernel : kernels) text += kernel.to_string() + "\n";
  return text;
}

std::string PipelineReport::to_string() const {
  if (programs.empty()) return "pipeline '" + pipeline + "': nothing lowered";
  std::string text = "pipeline '" + pipeline + "'";
  for (const ReportedProgram &program : programs) text += "\n" + program.to_string();
  text.pop_back();
  return text;
}

std::string PipelineReport::to_json() const {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const ReportedProgram &program : programs) {
    Json kernels = Json::array();
    for (const KernelReport &kernel : program.kernels) kernels.push_back(Json::parse(kernel.to_json()));
    all.push_back(
        {{"target", program.target}, {"schedule", program.schedule}, {"steps", program.steps}, {"kernels", kernels}});
  }
  return Json{{"pipeline", pipeline}, {"programs", all}}.dump(2);
}

std::ostream &operator<<(std::ostream &stream, const PipelineReport &report) { return stream << report.to_string(); }

PipelineReport jit::report(const PipelineDefinition &definition) {
  PipelineReport report{.pipeline = definition.name(), .programs = {}};
  for (const PipelineDefinition::Made &made : definition.programs()) {
    ReportedProgram program;
    program.target = Target::of(made.target.compute_capability).name();
    program.schedule = made.schedule;
    program.steps = schedules::to_string(made.program->program(), {.kernels = false});
    for (const auto &kernel : made.program->kernels()) program.kernels.push_back(jit::report(*kernel));
    report.programs.push_back(std::move(program));
  }
  return report;
}

namespace {

template <class Text>
std::string text_of_program(jit::PipelineDefinition &definition, Device device, const std::string &schedule,
                            const Text &text) {
  const std::string name = definition.schedule_for(device.kind(), schedule);
  // Without a GPU, shows the program that one would run.
  if (device.kind() == DeviceKind::cuda && device.index() >= CudaDevice::count())
    return text(definition.lower({device.kind(), 0}, name));
  return text(definition.program(jit::target_of(device), name)->program());
}

}  // namespace

std::string jit::program_text(PipelineDefinition &definition, Device device, const std::string &schedule) {
  return text_of_program(definition, device, schedule,
                         [](const schedules::Program &program) { return schedules::to_string(program); });
}

std::string jit::loop_nest_text(PipelineDefinition &definition, Device device, const std::string &schedule) {
  return text_of_program(definition, device, schedule,
                         [](const schedules::Program &program) { return to_string(program.nest); });
}

std::string jit::adjoint_schedule_text(PipelineDefinition &definition) {
  return schedules::schedule_text(*definition.whole_adjoint()->captured(), "cpu");
}

std::string jit::adjoint_loop_nest_text(PipelineDefinition &definition, Device device) {
  return loop_nest_text(*definition.whole_adjoint(), device, "");
}

void jit::give_adjoint_schedule(PipelineDefinition &definition, const std::string &text) {
  const std::string before = definition.adjoint_schedule();
  definition.schedule_adjoint(text);
  try {
    if (!text.empty()) definition.whole_adjoint()->lower({}, "cpu");
  } catch (...) {
    definition.schedule_adjoint(before);
    throw;
  }
}

}  // namespace samite
