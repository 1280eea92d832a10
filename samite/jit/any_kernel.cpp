#include "samite/jit/any_kernel.h"

#include "samite/base/error.h"
#include "samite/jit/arguments.h"
#include "samite/jit/definition.h"

namespace samite {
namespace {

std::string type_text(const ir::Parameter &parameter) {
  std::string element(cpp_name(parameter.type));
  if (!parameter.is_array()) return element;
  return std::string(parameter.distinct ? "Distinct<" : "Array<") + (parameter.read_only ? "const " : "") + element +
         ", " + std::to_string(parameter.rank) + ">";
}

std::string types_text(const std::vector<ir::Parameter> &parameters) {
  std::string text;
  for (const ir::Parameter &parameter : parameters) text += (text.empty() ? "" : ", ") + type_text(parameter);
  return "(" + text + ")";
}

std::vector<jit::Argument> checked(const jit::KernelDefinition &definition, std::span<const KernelArgument> given) {
  const std::vector<ir::Parameter> &parameters = definition.parameters();
  if (given.size() != parameters.size())
    throw UserError(definition.where(), "kernel '" + definition.name() + "' has " + std::to_string(parameters.size()) +
                                            " parameters " + types_text(parameters) + "; " +
                                            std::to_string(given.size()) + " arguments are given");
  std::vector<jit::Argument> arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const KernelArgument &one = given[i];
    if (!one.buffer()) {
      arguments.push_back({nullptr, jit::scalar_bits(definition, i, one.number())});
    } else if (parameters[i].is_array()) {
      arguments.push_back({one.buffer(), 0});
    } else {
      throw UserError(definition.where(), "kernel '" + definition.name() + "': " + jit::describe(parameters, i) +
                                              " expects a scalar of type " + type_text(parameters[i]) + "; " +
                                              one.buffer()->to_string() + " is given");
    }
  }
  return arguments;
}

std::vector<jit::OwnedArgument> owned(const std::vector<jit::Argument> &arguments) {
  std::vector<jit::OwnedArgument> owned;
  for (const jit::Argument &one : arguments)
    owned.push_back(one.buffer ? jit::OwnedArgument{*one.buffer, 0} : jit::OwnedArgument{{}, one.scalar});
  return owned;
}

}  // namespace

void AnyKernel::launch_with(const LaunchExtents &extents, const LaunchOptions &options,
                            std::span<const KernelArgument> arguments) const {
  const auto &definition = definition_.share(extents.where());
  jit::launch_once(definition, extents, options,
                   at_call("launched", extents.where(), [&] { return checked(*definition, arguments); }));
}

Launch AnyKernel::record_with(const LaunchExtents &extents, const LaunchOptions &options,
                              std::span<const KernelArgument> arguments) const {
  const auto &definition = definition_.share(extents.where());
  return jit::record(definition, extents, options,
                     owned(at_call("recorded", extents.where(), [&] { return checked(*definition, arguments); })));
}

LaunchWithAdjoint AnyKernel::record_with_adjoint_with(const LaunchExtents &extents, const LaunchOptions &options,
                                                      std::span<const KernelArgument> arguments) const {
  const auto &definition = definition_.share(extents.where());
  return jit::record_with_adjoint(
      definition, extents, options,
      owned(at_call("recorded", extents.where(), [&] { return checked(*definition, arguments); })));
}

void AnyKernel::check_parameters(const std::vector<ir::Parameter> &asked, SourceLocation where) const {
  const std::vector<ir::Parameter> &own = definition_.share(where)->parameters();
  bool same = own.size() == asked.size();
  for (std::size_t i = 0; same && i < own.size(); ++i) {
    ir::Parameter other = asked[i];
    other.name = own[i].name;
    same = other == own[i];
  }
  if (!same)
    throw UserError(where,
                    "kernel '" + name() + "' has the parameters " + types_text(own) + ", not " + types_text(asked));
}

}  // namespace samite
