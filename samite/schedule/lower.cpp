#include "samite/schedule/lower.h"

#include "samite/base/error.h"
#include "samite/schedule/definitions.h"
#include "samite/schedule/functions_of_schedule.h"
#include "samite/schedule/inline_calls.h"
#include "samite/schedule/lowering.h"
#include "samite/schedule/requirements.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace samite::schedules {

using namespace ir;

namespace {

std::vector<FunctionSchedule> schedule_of(const CapturedPipeline &captured, const Choice &choice,
                                          Algorithm &algorithm) {
  const CapturedSchedule::For target = choice.gpu ? CapturedSchedule::For::cuda : CapturedSchedule::For::cpu;
  std::vector<std::string> names;
  for (const CapturedSchedule &schedule : captured.schedules) {
    names.push_back(schedule.name);
    if (choice.name.empty() ? schedule.target == target : schedule.name == choice.name)
      return scheduled(algorithm, define_functions_of_schedule(algorithm, captured, schedule), choice.gpu);
  }
  if (choice.name.empty()) return default_schedule(algorithm, choice.gpu);
  throw UserError(algorithm.where,
                  fmt::format("pipeline '{}' has no schedule '{}'; it has: {}", algorithm.name, choice.name,
                              names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
}

// The arrays that functions fill, and what is needed of all functions.
Boxes needed_at_root(Lowering &lowering) {
  Boxes boxes;
  for (std::uint32_t f = 0; f < lowering.algorithm.functions.size(); ++f) {
    const Function &of = lowering.function(f);
    if (!of.output) continue;
    require_output(lowering, f);
    boxes[f] = box_of_output(lowering, f);
    Storage storage;
    for (std::uint32_t v = 0; v < of.types.size(); ++v) storage.arrays.push_back(*of.output + v);
    for (int d = 0; d < of.rank(); ++d) {
      storage.begin.emplace_back(0);
      storage.order.push_back(d);
    }
    storage.folds.resize(static_cast<std::size_t>(of.rank()));
    lowering.storages.insert_or_assign(f, storage);
  }
  follow(lowering, boxes);
  return boxes;
}

void compute_at_root(Lowering &lowering) {
  const Boxes boxes = needed_at_root(lowering);
  require_room(lowering, boxes);
  for (const std::uint32_t f : lowering.algorithm.order) {
    const auto needed = boxes.find(f);
    const bool output = lowering.function(f).output.has_value();
    if (needed == boxes.end() || (lowering.schedules[f].compute.level != Place::Level::root && !output)) continue;
    const Box box = output ? box_of_output(lowering, f) : *needed->second;
    lowering.write.where = lowering.function(f).where;
    const Region region = floored(lowering, f, region_of(lowering, f, box));
    if (!lowering.storages.contains(f)) allocate_temporary(lowering, f, region);
    const int line = lowering.nest.open_heading("produce " + lowering.function(f).name);
    compute(lowering, f, region);
    lowering.nest.close(line);
    lowering.storages.at(f).computed = true;
  }
}

}  // namespace

Program lower(const CapturedPipeline &captured, const Choice &choice) {
  Algorithm algorithm = algorithm_of(captured);
  std::vector<FunctionSchedule> schedules = schedule_of(captured, choice, algorithm);
  algorithm = with_inlined_calls(std::move(algorithm), schedules);

  Lowering lowering(choice.gpu, std::move(algorithm), std::move(schedules));
  Program &program = lowering.host.program;
  program.name = lowering.algorithm.name;
  program.parameters = lowering.algorithm.parameters;
  program.where = lowering.algorithm.where;
  const int pipeline = lowering.nest.open("pipeline " + lowering.algorithm.name);
  lowering.reductions = find_reductions(lowering);
  compute_at_root(lowering);
  lowering.host.flush();
  program.local_count = lowering.write.next_local;
  lowering.nest.close(pipeline);
  program.loop_nest = lowering.nest.text();
  return std::move(program);
}

}  // namespace samite::schedules
