#include "samite/codegen/emission.h"

#include "samite/ir/visit.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

Emission::Emission(const Kernel &kernel, const EmitOptions &options)
    : kernel(kernel),
      options(options),
      uses_workspace(passes::uses_workspace(kernel)),
      out(options.comments),
      used_(kernel.local_count, false),
      written_(kernel.parameters.size(), false),
      only_added_to_(passes::arrays_only_added_to(kernel)) {
  for_each_statement(kernel, [&](const Stmt &stmt) {
    for_each_operand(stmt, [&](const Value &value) {
      if (value.is_local()) used_[value.id()] = true;
    });
    if (auto array = array_written(stmt)) written_[*array] = true;
  });
}

std::size_t Emission::file(SourceLocation where) {
  auto found = std::ranges::find(source.files, where.file);
  if (found == source.files.end()) found = source.files.insert(found, where.file);
  return static_cast<std::size_t>(found - source.files.begin());
}

std::size_t Emission::site(SourceLocation where) {
  source.sites.push_back(where);
  return source.sites.size() - 1;
}

std::size_t Emission::message(MessageSite site) {
  source.messages.push_back(std::move(site));
  return source.messages.size() - 1;
}

std::string scalar_text(const Value &value) {
  switch (value.kind()) {
    case Value::Kind::Constant: return literal(value);
    case Value::Kind::Parameter: return fmt::format("p{}", value.parameter_index());
    case Value::Kind::Local: break;
  }
  return local_name(value.id());
}

void add_term(std::string &sum, const std::string &term) {
  if (!sum.empty()) sum += " + ";
  sum += term;
}

}  // namespace samite::codegen
