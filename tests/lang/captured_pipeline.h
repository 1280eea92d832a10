// For tests of the capture of pipelines: the captured statements, as text that does not depend on the order in which a
// compiler evaluates arguments.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/lang/exterior.h"
#include "samite/lang/func.h"
#include "samite/lang/inline_reduction.h"
#include "tests/lang/captured.h"

#include <map>
#include <optional>
#include <set>

namespace samite::test {

// For a lambda whose parameters have these names, or p0, p1, ….
template <class F>
ir::CapturedPipeline captured_pipeline(const F &function, const std::vector<std::string> &names = {}) {
  return CaptureOf<F>::run_pipeline(names, function);
}

// The definitions of a pipeline, one a line: "f[x] = add(load in[add(x, 1)], 2.0)". Statements in loops and branches
// are not followed: a local that is assigned is %n.
class DefinitionText {
 public:
  explicit DefinitionText(const ir::CapturedPipeline &pipeline) : pipeline_(pipeline) {
    for (const ir::Variable &variable : pipeline.variables) names_[variable.local] = variable.name;
    for (const ir::ReductionDomain &domain : pipeline.domains)
      for (const auto &range : domain.ranges) names_[range.variable.local] = range.variable.name;
    ir::for_each_statement(pipeline.algorithm.body, [&](const ir::Stmt &stmt) {
      if (auto *assign = stmt.as<ir::Assign>()) assigned_.insert(assign->local);
    });
    for (const ir::Stmt &stmt : pipeline.algorithm.body) {
      if (auto *let = stmt.as<ir::Let>(); let && !assigned_.contains(let->local)) lets_.emplace(let->local, let->value);
      if (auto *store = stmt.as<ir::Store>()) {
        if (!text_.empty()) text_ += "\n";
        text_ += element(store->array, store->indices) + " = " + of(store->value);
      }
    }
  }

  const std::string &text() const { return text_; }

  std::string of(const ir::Value &value) const {
    if (value.is_local()) {
      if (auto name = names_.find(value.id()); name != names_.end()) return name->second;
      if (auto let = lets_.find(value.id()); let != lets_.end()) return of(let->second);
    }
    std::string text = to_string(value, pipeline_.algorithm.parameters);
    return text[0] == '@' ? text.substr(1) : text;
  }

 private:
  std::string element(std::uint32_t array, std::span<const ir::Value> indices) const {
    return pipeline_.algorithm.parameters[array].name + "[" + list(indices) + "]";
  }
  std::string list(std::span<const ir::Value> values) const {
    std::string text;
    for (const ir::Value &value : values) text += (text.empty() ? "" : ", ") + of(value);
    return text;
  }
  std::string of(const ir::Operation &operation) const {
    const std::string name(ir::info(operation.op).name);
    switch (operation.op) {
      case ir::Op::Copy: return of(operation.operands[0]);
      case ir::Op::Load: return element(operation.array, operation.operands);
      case ir::Op::Cast: return std::string(ir::name(operation.type)) + "(" + of(operation.operands[0]) + ")";
      case ir::Op::Extent:
        return name + "(" + pipeline_.algorithm.parameters[operation.array].name + ", " +
               std::to_string(operation.attribute) + ")";
      default: return name + "(" + list(operation.operands) + ")";
    }
  }

  const ir::CapturedPipeline &pipeline_;
  std::map<ir::LocalId, std::string> names_;
  std::map<ir::LocalId, ir::Operation> lets_;
  std::set<ir::LocalId> assigned_;
  std::string text_;
};

inline std::string definitions(const ir::CapturedPipeline &pipeline) { return DefinitionText(pipeline).text(); }
template <class F>
std::string definitions(const F &function, const std::vector<std::string> &names = {}) {
  return definitions(captured_pipeline(function, names));
}

// The message when the pipeline of `function` is refused.
template <class F>
std::string refusal_of_pipeline(const F &function, const std::vector<std::string> &names = {}) {
  try {
    captured_pipeline(function, names);
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}

// "file.cpp:12" of a line in the test that is running.
inline std::string at_line(const char *file, unsigned line) {
  const std::string path = file;
  return path.substr(path.rfind('/') + 1) + ":" + std::to_string(line);
}

}  // namespace samite::test
