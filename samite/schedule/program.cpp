#include "samite/schedule/program.h"

#include "samite/ir/print.h"

#include <fmt/format.h>

namespace samite::schedules {
namespace {

std::string indented(const std::string &text, const std::string &by) {
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += by + text.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return lines;
}

class Printer {
 public:
  Printer(const Program &program, PrintOptions options) : program_(program), options_(options) {}

  std::string print() {
    std::string parameters;
    for (const ir::Parameter &parameter : program_.parameters) {
      parameters += fmt::format("{}@{}: ", parameters.empty() ? "" : ", ", parameter.name);
      parameters += parameter.is_array() ? fmt::format("array<{}{}, {}>", parameter.read_only ? "const " : "",
                                                       name(parameter.type), parameter.rank)
                                         : std::string(name(parameter.type));
    }
    text_ = fmt::format("pipeline @{}({}) {{\n", program_.name, parameters);
    print(program_.steps, "  ");
    return text_ + "}\n";
  }

 private:
  std::string value(const ir::Value &value) const { return ir::to_string(value, program_.parameters); }

  std::string values(const std::vector<ir::Value> &all) const {
    std::string list;
    for (const ir::Value &each : all) list += (list.empty() ? "" : ", ") + value(each);
    return list;
  }

  // Temporaries are named after Funcs, whose names may coincide.
  static std::string temporary(std::uint32_t number) { return fmt::format("${}", number); }

  std::string argument(const KernelArgument &argument) const {
    if (const auto *own = std::get_if<ParameterArgument>(&argument))
      return "@" + program_.parameters[own->parameter].name;
    if (const auto *own = std::get_if<TemporaryArgument>(&argument)) return temporary(own->number);
    return value(std::get<HostArgument>(argument).value);
  }

  void print(const Steps &steps, const std::string &indent) {
    for (const Step &step : steps) std::visit([&](const auto &kind) { print(kind, indent); }, step.kind);
  }

  void print(const ir::Let &let, const std::string &indent) {
    text_ += indent + ir::to_string(ir::Stmt(let, {}), program_.parameters) + "\n";
  }

  void print(const Temporary &own, const std::string &indent) {
    text_ += fmt::format("{}temporary {}: {}[{}]  // {}\n", indent, temporary(own.number), name(own.type),
                         values(own.extents), own.name);
  }

  void print(const KernelLaunch &launch, const std::string &indent) {
    std::string arguments;
    for (const KernelArgument &each : launch.arguments) arguments += (arguments.empty() ? "" : ", ") + argument(each);
    text_ += fmt::format("{}launch @{} over ({}) with ({})\n", indent, launch.kernel.name, values(launch.extents),
                         arguments);
    if (options_.kernels) text_ += indented(ir::to_string(launch.kernel), indent + "  ");
  }

  void print(const HostLoop &loop, const std::string &indent) {
    text_ += fmt::format("{}for %{}: {} in {} .. {} {{\n", indent, loop.index, name(loop.begin.type()),
                         value(loop.begin), value(loop.end));
    print(loop.body, indent + "  ");
    text_ += indent + "}\n";
  }

  void print(const HostBranch &branch, const std::string &indent) {
    text_ += fmt::format("{}if {} {{\n", indent, value(branch.condition));
    print(branch.then_steps, indent + "  ");
    text_ += indent + "} else {\n";
    print(branch.else_steps, indent + "  ");
    text_ += indent + "}\n";
  }

  void print(const Requirement &requirement, const std::string &indent) {
    text_ += fmt::format("{}require {}", indent, value(requirement.condition));
    for (std::size_t i = 0; i < requirement.message.texts.size(); ++i) {
      text_ += fmt::format(", \"{}\"", requirement.message.texts[i]);
      if (i < requirement.message.values.size()) text_ += ", " + value(requirement.message.values[i]);
    }
    text_ += "\n";
  }

  const Program &program_;
  PrintOptions options_;
  std::string text_;
};

}  // namespace

std::string to_string(const Program &program, PrintOptions options) { return Printer(program, options).print(); }

}  // namespace samite::schedules
