#include "samite/jit/pipeline_definition.h"

#include "samite/autodiff/pipeline_adjoint.h"
#include "samite/autodiff/pipeline_schedule.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/jit/vector_lanes.h"
#include "samite/schedule/lower.h"
#include "samite/schedule/schedule_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace samite::jit {
namespace {

std::vector<ir::Parameter> own_parameters(const ir::CapturedPipeline &captured) {
  const auto &all = captured.algorithm.parameters;
  return {all.begin(), all.begin() + captured.parameters};
}

std::vector<std::string> schedule_names(const ir::CapturedPipeline &captured) {
  std::vector<std::string> names;
  for (const ir::CapturedSchedule &schedule : captured.schedules) names.push_back(schedule.name);
  return names;
}

std::uint64_t arrays_read_by(const ir::CapturedPipeline &captured) {
  std::uint64_t read = 0;
  ir::for_each_statement(captured.algorithm.body, [&](const ir::Stmt &stmt) {
    const auto *let = stmt.as<ir::Let>();
    if (let && let->value.op == ir::Op::Load && let->value.array < captured.algorithm.parameters.size())
      read |= std::uint64_t{1} << let->value.array;
  });
  return read;
}

std::uint64_t arrays_read_elsewhere(const ir::CapturedPipeline &captured) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  if (captured.funcs.size() != 1 || !captured.origins.empty()) return all;
  for (const ir::CapturedSchedule &schedule : captured.schedules)
    for (const ir::Directive &directive : schedule.directives)
      if (directive.tail == ir::Tail::shift_inwards) return all;  // computes some elements twice
  std::vector<ir::Value> computed;
  std::size_t stores = 0;
  ir::for_each_statement(captured.algorithm.body, [&](const ir::Stmt &stmt) {
    if (const auto *store = stmt.as<ir::Store>()) computed = store->indices, ++stores;
  });
  if (stores != captured.funcs[0].types.size()) return all;  // it has updates
  std::uint64_t elsewhere = 0;
  ir::for_each_statement(captured.algorithm.body, [&](const ir::Stmt &stmt) {
    const auto *let = stmt.as<ir::Let>();
    if (let && let->value.op == ir::Op::Load && let->value.operands != computed)
      elsewhere |= std::uint64_t{1} << std::min<std::uint32_t>(let->value.array, 63);
  });
  return elsewhere;
}

// The unmodified schedule is lowered in any case, so that debug mode also reports its errors.
schedules::Program lowered(const ir::CapturedPipeline &captured, const PipelineDefinition::Target &target,
                           const std::string &schedule) {
  schedules::Choice choice{.gpu = target.device == DeviceKind::cuda,
                           .name = schedule,
                           .checks_promises = target.checks_promises,
                           .partitioned = !target.rolled};
  schedules::Program as_written = schedules::lower(captured, choice);
  if (!target.rolled) return as_written;
  choice.rolled = true;
  try {
    return schedules::lower(captured, choice);
  } catch (const UserError &) {
    return as_written;  // it needs the loops' indices to be constants
  }
}

}  // namespace

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

PipelineDefinition::PipelineDefinition(ir::CapturedPipeline captured)
    : PipelineDefinition(std::make_shared<const ir::CapturedPipeline>(std::move(captured))) {}

PipelineDefinition::~PipelineDefinition() = default;

PipelineDefinition::PipelineDefinition(std::shared_ptr<const ir::CapturedPipeline> captured)
    : PipelineDefinition(
          captured->algorithm.name, own_parameters(*captured), schedule_names(*captured),
          [captured](const Target &target, const std::string &schedule) {
            return lowered(*captured, target, schedule);
          },
          captured->algorithm.where) {
  read_elsewhere_ = arrays_read_elsewhere(*captured), arrays_read_ = arrays_read_by(*captured);
  captured_ = std::move(captured);
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

std::shared_ptr<PipelineDefinition> PipelineDefinition::adjoint(std::uint64_t active) {
  if (!captured_) throw UserError(where_, fmt::format("pipeline '{}' has no algorithm to be differentiated", name_));
  const std::string schedule = adjoint_schedule();
  return adjoints_.get({active, schedule}, [&] {
    std::vector<bool> flags(parameters_.size());
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = (active >> i & 1) != 0;
    ir::CapturedPipeline made = autodiff::derive_pipeline_adjoint(*captured_, flags).pipeline;
    const auto derived = [&] { return autodiff::with_derived_schedule(made, *captured_, cpu_vector_lanes()); };
    if (schedule.empty()) return std::make_shared<PipelineDefinition>(derived());
    try {
      return std::make_shared<PipelineDefinition>(schedules::with_schedule_text(made, schedule));
    } catch (const UserError &) {
      if (active == floating_arrays()) throw;
      return std::make_shared<PipelineDefinition>(derived());  // it does not have all Funcs
    }
  });
}

std::string PipelineDefinition::adjoint_schedule() const {
  const std::lock_guard lock(adjoint_schedule_in_use_);
  return adjoint_schedule_;
}

void PipelineDefinition::schedule_adjoint(std::string text) {
  const std::lock_guard lock(adjoint_schedule_in_use_);
  adjoint_schedule_ = std::move(text);
}

std::uint64_t PipelineDefinition::floating_arrays() const {
  std::uint64_t arrays = 0;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].is_array() && is_floating(parameters_[i].type)) arrays |= std::uint64_t{1} << i;
  return arrays;
}

std::shared_ptr<const ScheduledProgram> PipelineDefinition::program(const Target &target, const std::string &schedule) {
  return programs_
      .get({target, schedule},
           [&] { return Made{target, schedule, std::make_shared<const ScheduledProgram>(lower_(target, schedule))}; })
      .program;
}

}  // namespace samite::jit
