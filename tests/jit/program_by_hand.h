// Pipelines of hand-written programs, in the form of a schedule's lowering.
#pragma once

#include "samite/ir/parse.h"
#include "samite/jit/pipeline_definition.h"
#include "samite/jit/scheduled.h"

#include <string_view>

namespace samite::test {

inline ir::Operation operation(ir::Op op, ir::Type type, std::vector<ir::Value> operands) {
  return {op, type, std::move(operands)};
}
inline ir::Operation extent_of(std::uint32_t parameter, int dimension) {
  return {ir::Op::Extent, ScalarType::Int32, {}, parameter, dimension};
}
inline ir::Value local(ir::LocalId id, ScalarType type = ScalarType::Int32) { return ir::Value::local(type, id); }
inline ir::Value number(int value) { return ir::Value::constant(ScalarType::Int32, value); }

inline schedules::Step let(ir::LocalId id, ir::Operation value) { return {ir::Let{id, std::move(value)}}; }
inline schedules::Step temporary(std::uint32_t number, ScalarType type, std::vector<ir::Value> extents) {
  return {schedules::Temporary{number, "func" + std::to_string(number), type, std::move(extents), {}}};
}
inline schedules::Step launch(std::string_view kernel, std::vector<ir::Value> extents,
                              std::vector<schedules::KernelArgument> arguments) {
  return {schedules::KernelLaunch{ir::parse_kernel(kernel), std::move(extents), std::move(arguments)}};
}
inline schedules::Step loop(ir::LocalId index, ir::Value begin, ir::Value end, schedules::Steps body) {
  return {schedules::HostLoop{index, begin, end, std::move(body)}};
}
inline schedules::Step require(ir::Value condition, ir::Message message) {
  return {schedules::Requirement{condition, std::move(message), SourceLocation("blur.cpp", 12)}};
}
inline schedules::ParameterArgument given(std::uint32_t parameter) { return {parameter}; }
inline schedules::TemporaryArgument own(std::uint32_t number) { return {number}; }
inline schedules::HostArgument host(ir::Value value) { return {value}; }

struct ByHand {
  std::string name;
  std::vector<ir::Parameter> parameters;
  schedules::Steps steps;
  ir::LocalId locals = 16;
  std::uint32_t temporaries = 4;
  std::vector<std::string> schedules = {};

  schedules::Program program() const { return {name, parameters, {}, steps, locals, temporaries, {}, {}}; }

  template <class... Ps>
  Pipeline<void(Ps...)> pipeline() const {
    return Pipeline<void(Ps...)>(std::make_shared<jit::PipelineDefinition>(
        name, parameters, schedules,
        [program = program()](const jit::PipelineDefinition::Target &, const std::string &) { return program; },
        SourceLocation("blur.cpp", 3)));
  }
};

inline ir::Parameter floats(std::string name, int rank, bool read_only = false) {
  return {std::move(name), ScalarType::Float32, rank, read_only};
}

}  // namespace samite::test
