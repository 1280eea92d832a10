#include "samite/lang/capture.h"

#include "samite/base/error.h"
#include "samite/base/trace.h"
#include "samite/lang/trace.h"

#include <algorithm>
#include <cctype>

namespace samite::lang {

bool is_identifier(const std::string &name) {
  auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  return !name.empty() && letter(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) { return letter(c) || std::isdigit(c); });
}

void append(std::vector<ir::Parameter> &parameters, const std::vector<ir::Parameter> &further) {
  parameters.insert(parameters.end(), further.begin(), further.end());
}

std::vector<ir::Parameter> named(const std::vector<std::vector<ir::Parameter>> &groups,
                                 const std::vector<std::string> &names, const std::string &kernel,
                                 SourceLocation where) {
  if (!is_identifier(kernel))
    throw UserError(where, "the kernel name '" + kernel + "' is not an identifier (letters, digits and _)");
  if (!names.empty() && names.size() != groups.size())
    throw UserError(where, "kernel '" + kernel + "' has " + std::to_string(groups.size()) + " parameters, but " +
                               std::to_string(names.size()) + " names are given; name all of them or none");
  std::vector<ir::Parameter> parameters;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string name = names.empty() ? "p" + std::to_string(i) : names[i];
    for (std::size_t k = 0; k < groups[i].size(); ++k) {
      parameters.push_back(groups[i][k]);
      parameters.back().name = groups[i].size() == 1 ? name : name + "_" + std::to_string(k);
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string &name = parameters[i].name;
    if (!is_identifier(name))
      throw UserError(where, "kernel '" + kernel + "': the parameter name '" + name + "' is not an identifier");
    for (std::size_t j = 0; j < i; ++j)
      if (parameters[j].name == name)
        throw UserError(where, "kernel '" + kernel + "': two parameters are named '" + name + "'");
  }
  return parameters;
}

ir::Kernel run_capture(std::string name, std::vector<ir::Parameter> parameters,
                       FunctionRef<void(std::uint32_t)> function, SourceLocation where, int block_threads) {
  const TraceSpan traced("capture", "capture " + name);
  Trace trace(0, std::move(parameters), where, block_threads);
  function(trace.serial());
  return trace.finish(std::move(name));
}

}  // namespace samite::lang
