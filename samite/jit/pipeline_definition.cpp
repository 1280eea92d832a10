#include "samite/jit/pipeline_definition.h"

#include "samite/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace samite::jit {

PipelineDefinition::PipelineDefinition(std::string name, std::vector<ir::Parameter> parameters,
                                       std::vector<std::string> schedules, Lower lower, SourceLocation where)
    : name_(std::move(name)),
      parameters_(std::move(parameters)),
      schedules_(std::move(schedules)),
      lower_(std::move(lower)),
      where_(where) {
  if (parameters_.size() > 64)
    throw UserError(where_, fmt::format("pipeline '{}' has {} parameters; at most 64 are possible, so put several "
                                        "values into an array",
                                        name_, parameters_.size()));
}

std::string PipelineDefinition::schedule_for(DeviceKind device, const std::string &wanted) const {
  const auto has = [&](const std::string &schedule) {
    return std::find(schedules_.begin(), schedules_.end(), schedule) != schedules_.end();
  };
  if (wanted.empty()) {
    const std::string usual = device == DeviceKind::cuda ? "cuda" : "cpu";
    return has(usual) ? usual : "";
  }
  if (!has(wanted))
    throw UserError(where_,
                    fmt::format("pipeline '{}' has no schedule named '{}'; {}", name_, wanted,
                                schedules_.empty() ? "it has none: leave PipelineOptions::schedule out"
                                                   : fmt::format("its schedules are {}", fmt::join(schedules_, ", "))));
  return wanted;
}

std::shared_ptr<const ScheduledProgram> PipelineDefinition::program(const Target &target, const std::string &schedule) {
  return programs_
      .get({target, schedule},
           [&] { return Made{target, schedule, std::make_shared<const ScheduledProgram>(lower_(target, schedule))}; })
      .program;
}

}  // namespace samite::jit
