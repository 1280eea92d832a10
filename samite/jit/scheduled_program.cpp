#include "samite/jit/scheduled_program.h"

#include "samite/base/error.h"

#include <algorithm>

namespace samite::jit {
namespace {

// One function for each kind of step.
template <class... Fs>
struct Cases : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Cases(Fs...) -> Cases<Fs...>;

Extents extents_of(const std::vector<ir::Value> &extents, const HostValues &values, SourceLocation where) {
  std::array<std::int64_t, maximum_rank> counts{};
  internal_check(extents.size() <= counts.size(), "a step of a program has too many extents");
  for (std::size_t d = 0; d < extents.size(); ++d) counts[d] = values.integer(extents[d]);
  return Extents(std::span(counts).first(extents.size()), where);
}

class NoLaunches : public ScheduledProgram::Visitor {
 public:
  void allocate(const schedules::Temporary &, const Extents &) override {}
  void launch(std::size_t, const schedules::KernelLaunch &, const Extents &, const HostValues &) override {}
};

}  // namespace

ScheduledProgram::ScheduledProgram(schedules::Program program) : program_(std::move(program)) { add(program_.steps); }

void ScheduledProgram::read(const ir::Value &value) {
  if (value.kind() == ir::Value::Kind::Parameter) read_by_host_ |= std::uint64_t{1} << value.parameter_index();
}

void ScheduledProgram::add(const schedules::Steps &steps) {
  const auto read_all = [&](const std::vector<ir::Value> &values) {
    for (const ir::Value &value : values) read(value);
  };
  for (const schedules::Step &step : steps)
    std::visit(Cases{[&](const ir::Let &let) { read_all(let.value.operands); },
                     [&](const schedules::Temporary &temporary) { read_all(temporary.extents); },
                     [&](const schedules::KernelLaunch &launch) {
                       internal_check(launch.arguments.size() == launch.kernel.parameters.size(),
                                      "a kernel of a program has another number of arguments");
                       numbers_.emplace(&launch, kernels_.size());
                       const auto definition =
                           std::make_shared<KernelDefinition>(KernelDefinition::OfSchedule{launch.kernel});
                       for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
                         if (const auto *own = std::get_if<schedules::ParameterArgument>(&launch.arguments[i]))
                           written_ |= (definition->written() >> i & 1) << own->parameter;
                         if (const auto *own = std::get_if<schedules::HostArgument>(&launch.arguments[i]))
                           read(own->value);
                       }
                       read_all(launch.extents);
                       kernels_.push_back(definition);
                     },
                     [&](const schedules::HostLoop &loop) {
                       read(loop.begin);
                       read(loop.end);
                       add(loop.body);
                     },
                     [&](const schedules::HostBranch &branch) {
                       read(branch.condition);
                       add(branch.then_steps);
                       add(branch.else_steps);
                     },
                     [&](const schedules::Requirement &requirement) {
                       read(requirement.condition);
                       read_all(requirement.message.values);
                     }},
               step.kind);
}

std::optional<std::int64_t> ScheduledProgram::origin(const schedules::KernelLaunch &launch,
                                                     std::span<const Argument> arguments,
                                                     const OutsideOfArray::Index &index) const {
  // The gradients of an adjoint follow the arguments.
  if (index.array >= launch.arguments.size()) return std::nullopt;
  const auto *own = std::get_if<schedules::ParameterArgument>(&launch.arguments[index.array]);
  const auto found = own ? program_.origins.find(own->parameter) : program_.origins.end();
  if (found == program_.origins.end() || index.dimension >= found->second.size()) return std::nullopt;
  HostValues values(program_, arguments);
  NoLaunches computed;
  run(program_.steps, values, computed);
  return values.integer(found->second[index.dimension]);
}

void ScheduledProgram::rethrow(const OutsideOfArray &error, const schedules::KernelLaunch &launch,
                               std::span<const Argument> arguments) const {
  if (const auto first = origin(launch, arguments, error.index())) throw error.counted_from(*first);
  throw;
}

void ScheduledProgram::run(std::span<const Argument> arguments, Visitor &visitor) const {
  HostValues values(program_, arguments);
  run(program_.steps, values, visitor);
}

void ScheduledProgram::run(const schedules::Steps &steps, HostValues &values, Visitor &visitor) const {
  for (const schedules::Step &step : steps)
    std::visit(Cases{[&](const ir::Let &let) { values.define(let); },
                     [&](const schedules::Temporary &temporary) {
                       visitor.allocate(temporary, extents_of(temporary.extents, values, temporary.where));
                     },
                     [&](const schedules::KernelLaunch &launch) {
                       for (const ir::Value &extent : launch.extents)
                         if (values.integer(extent) <= 0) return;
                       visitor.launch(numbers_.at(&launch), launch,
                                      extents_of(launch.extents, values, launch.kernel.where), values);
                     },
                     [&](const schedules::HostLoop &loop) {
                       const std::int64_t end = values.integer(loop.end);
                       for (std::int64_t i = values.integer(loop.begin); i < end; ++i) {
                         values.define(loop.index, ir::Value::constant(loop.begin.type(), i));
                         run(loop.body, values, visitor);
                       }
                     },
                     [&](const schedules::HostBranch &branch) {
                       run(values.of(branch.condition).bits() != 0 ? branch.then_steps : branch.else_steps, values,
                           visitor);
                     },
                     [&](const schedules::Requirement &requirement) {
                       if (values.of(requirement.condition).bits() == 0)
                         throw UserError(requirement.where,
                                         "pipeline '" + program_.name + "': " + values.text(requirement.message));
                     }},
               step.kind);
}

}  // namespace samite::jit
