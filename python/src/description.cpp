#include "description.h"

#include <nanobind/stl/string.h>

namespace samite::python {

nb::object parameters_of(const Signature &signature) {
  const nb::object make = nb::module_::import_("samite._samite").attr("Parameter");
  nb::list all;
  for (const Parameter &parameter : signature.parameters()) {
    const ir::Parameter &one = signature.described()[parameter.first];
    all.append(make(parameter.name, python_name(one.type), one.rank, parameter.is_written, parameter.count,
                    parameter.is_read));
  }
  return nb::tuple(all);
}

Device device_named(const std::string &name, const std::string &what) {
  std::string known;
  for (const Device &each : Device::list()) {
    if (each.to_string() == name) return each;
    known += (known.empty() ? "'" : ", '") + each.to_string() + "'";
  }
  throw UserError(what + "(): device expects one of " + known + "; '" + name + "' is given");
}

nb::object reduced_from(const nb::object &origin, const std::string &name) {
  if (origin.is_none()) throw_type_error("cannot pickle '" + name + "': it is in no module that could be imported");
  const auto parts = nb::cast<nb::tuple>(origin);
  nb::list arguments;
  for (std::size_t i = 1; i < parts.size(); ++i) arguments.append(parts[i]);
  return nb::make_tuple(nb::module_::import_("samite._restore").attr(parts[0]), nb::tuple(arguments));
}

}  // namespace samite::python
