#include "samite/schedule/lower.h"

#include "samite/base/error.h"
#include "samite/schedule/compute_with.h"
#include "samite/schedule/definitions.h"
#include "samite/schedule/functions_of_schedule.h"
#include "samite/schedule/inline_calls.h"
#include "samite/schedule/lowering.h"
#include "samite/schedule/requirements.h"
#include "samite/schedule/share_code.h"

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

void roll(DefinitionSchedule &definition) {
  for (Loop &loop : definition.loops)
    if (loop.type == LoopType::unrolled) loop.type = LoopType::serial;
  for (DefinitionSchedule &special : definition.specializations) roll(special);
}

void roll(std::vector<FunctionSchedule> &schedules) {
  for (FunctionSchedule &schedule : schedules) {
    if (schedule.space == MemorySpace::registers) schedule.space.reset();
    for (DefinitionSchedule &definition : schedule.definitions) roll(definition);
  }
}

// The arrays that functions fill, and the required regions of all functions.
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
      storage.begin.push_back(begin_of_output(lowering, f, static_cast<std::size_t>(d)));
      storage.order.push_back(d);
    }
    storage.folds.resize(static_cast<std::size_t>(of.rank()));
    lowering.storages.insert_or_assign(f, storage);
  }
  follow_from_outputs(lowering, boxes);
  return boxes;
}

void compute_at_root(Lowering &lowering) {
  const Boxes boxes = needed_at_root(lowering);
  require_room(lowering, boxes);
  const auto here = [&](std::uint32_t f) {
    return boxes.contains(f) &&
           (lowering.schedules[f].compute.level == Place::Level::root || lowering.function(f).output);
  };
  for (const std::uint32_t f : lowering.algorithm.order) {
    if (!here(f) || has_values(lowering, f)) continue;
    std::vector<Computed> together;
    std::vector<std::string> names;
    for (const std::uint32_t one : sharing_loops(lowering.algorithm, lowering.schedules, f)) {
      if (!here(one)) continue;
      const Box box = lowering.function(one).output ? box_of_output(lowering, one) : *boxes.at(one);
      lowering.write.where = lowering.function(one).where;
      Region region = floored(lowering, one, region_of(lowering, one, box));
      if (!lowering.storages.contains(one)) allocate_temporary(lowering, one, region);
      together.push_back({one, std::move(region)});
      names.push_back(lowering.function(one).name);
    }
    const int line = lowering.nest.open_heading({fmt::format("produce {}", fmt::join(names, " and ")), names[0]});
    compute(lowering, together);
    lowering.nest.close(line);
    for (const Computed &one : together) {
      const Function &of = lowering.function(one.function);
      // Until the end of the pipeline.
      if (!of.output) lowering.nest.open_heading({"consume " + of.name, of.name});
      lowering.storages.at(one.function).computed = true;
    }
  }
}

}  // namespace

Program lower(const CapturedPipeline &captured, const Choice &choice) {
  Algorithm algorithm = algorithm_of(captured);
  std::vector<FunctionSchedule> schedules = schedule_of(captured, choice, algorithm);
  if (choice.rolled) roll(schedules);
  algorithm = with_inlined_calls(std::move(algorithm), schedules);
  put_sharing_together(algorithm, schedules);

  Lowering lowering(choice.gpu, std::move(algorithm), std::move(schedules));
  lowering.choice = choice;
  Program &program = lowering.host.program;
  program.name = lowering.algorithm.name;
  program.parameters = lowering.algorithm.parameters;
  program.where = lowering.algorithm.where;
  const int pipeline = lowering.nest.open("pipeline " + lowering.algorithm.name);
  lowering.ranges.reductions = find_reductions(lowering);
  lowering.ranges.origins = find_origins(lowering);
  for (const auto &[array, indices] : lowering.ranges.origins)
    for (const passes::Affine &index : indices) program.origins[array].push_back(lowering.integers.value_of(index));
  compute_at_root(lowering);
  lowering.host.flush();
  program.local_count = lowering.write.next_local;
  lowering.nest.close(pipeline);
  program.nest = lowering.nest.lines();
  if (!choice.gpu) share_code(program);
  return std::move(program);
}

}  // namespace samite::schedules
