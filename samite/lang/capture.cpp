#include "samite/lang/capture.h"

#include "samite/base/error.h"
#include "samite/lang/trace.h"

#include <algorithm>
#include <cctype>

namespace samite::lang {
namespace {

bool is_identifier(const std::string &name) {
  auto letter = [](unsigned char c) { return std::isalpha(c) || c == '_'; };
  return !name.empty() && letter(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) { return letter(c) || std::isdigit(c); });
}

}  // namespace

std::vector<ir::Parameter> named(std::vector<ir::Parameter> parameters, const std::vector<std::string> &names,
                                 const std::string &kernel, SourceLocation where) {
  if (!is_identifier(kernel))
    throw UserError(where, "the kernel name '" + kernel + "' is not an identifier (letters, digits and _)");
  if (!names.empty() && names.size() != parameters.size())
    throw UserError(where, "kernel '" + kernel + "' has " + std::to_string(parameters.size()) + " parameters, but " +
                               std::to_string(names.size()) + " names are given; name all of them or none");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].name = names.empty() ? "p" + std::to_string(i) : names[i];
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
                       const std::function<void(std::uint32_t)> &function, SourceLocation where) {
  Trace trace(0, std::move(parameters), where);
  function(trace.serial());
  return trace.finish(std::move(name));
}

}  // namespace samite::lang
