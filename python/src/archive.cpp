#include "archive.h"

#include "array_view.h"
#include "launch_object.h"
#include "samite/shipped/archived_launch.h"
#include "samite/shipped/forms.h"
#include "samite/toolchain/archives.h"
#include "signature.h"
#include "streams.h"
#include "unlocked.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <set>

namespace samite::python {
namespace {

bool has(std::uint64_t set, std::size_t index) { return (set >> index & 1) != 0; }

// The forward kernel if `active` is empty, else the adjoint for these arrays' gradients.
ArchivedKernel kernel_of(const std::string &name, const std::vector<std::size_t> &active) {
  const auto forms = shipped::launch_forms_of(name);
  if (forms->empty()) shipped::refuse_unknown(name);
  const shipped::LaunchForm &form = forms->front();
  ArchivedKernel kernel;
  kernel.name = name;
  kernel.direction = active.empty() ? "forward" : "adjoint";
  kernel.launch_rank = form.rank;
  kernel.active = active;
  for (std::size_t i = 0; i < form.own_parameters(); ++i) {
    const shipped::FormParameter &own = form.parameters[i];
    // An adjoint does not change the values.
    kernel.parameters.push_back(
        {own.name, own.type, own.rank, active.empty() && has(form.written, i), has(form.facts.distinct, i)});
  }
  for (const std::size_t array : active) {
    const ArchivedKernel::Parameter of = kernel.parameters.at(array);
    kernel.parameters.push_back({"gradient_of_" + of.name, of.type, of.rank, true, true});
  }
  return kernel;
}

// The sets of arrays for which the open archives have an adjoint.
std::vector<std::vector<std::size_t>> adjoints_of(const std::string &name) {
  std::set<std::uint64_t> sets;
  for (const shipped::LaunchForm &form : *shipped::launch_forms_of(name))
    if (form.direction == "adjoint") sets.insert(form.active);
  std::vector<std::vector<std::size_t>> all;
  for (const std::uint64_t set : sets) {
    std::vector<std::size_t> &arrays = all.emplace_back();
    for (std::size_t i = 0; i < 64; ++i)
      if (has(set, i)) arrays.push_back(i);
  }
  return all;
}

std::vector<std::string> kernels_in(const std::string &archive) {
  std::set<std::string> names;
  for (const ArchivedLaunch &launch : archived_launches())
    if (launch.archive->name() == archive) names.insert(launch.kernel);
  return {names.begin(), names.end()};
}

nb::list described(const ArchivedKernel &kernel) {
  const nb::object make = nb::module_::import_("samite._samite").attr("Parameter");
  nb::list all;
  for (const ArchivedKernel::Parameter &each : kernel.parameters)
    all.append(make(each.name, python_name(each.type), each.rank, each.is_written, 1, true));
  return all;
}

// `given` holds arrays as they are, and numbers as their bits.
void launch(const ArchivedKernel &kernel, const std::vector<std::int64_t> &extents, const nb::list &given,
            const nb::object &stream) {
  at_python_line([&] {
    std::vector<PyObject *> objects;
    for (const nb::handle each : given) objects.push_back(each.ptr());
    if (objects.size() != kernel.parameters.size()) throw InternalError("a launch of an archive lacks arguments");
    const auto what = [&](std::size_t i) { return kernel.name + "(): argument '" + kernel.parameters[i].name + "'"; };
    const auto view = [&](std::size_t i, const std::optional<Stream> &in) { return view_of(objects[i], what(i), in); };
    std::vector<std::optional<ArrayView>> views(objects.size());
    bool on_cuda = false;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (kernel.parameters[i].rank == 0) continue;
      views[i] = view(i, {});
      on_cuda |= views[i]->key.on_cuda;
    }
    const std::optional<Stream> chosen = on_cuda ? stream_for(stream.ptr(), objects) : std::nullopt;
    std::vector<jit::OwnedArgument> arguments(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const ArchivedKernel::Parameter &parameter = kernel.parameters[i];
      if (!views[i]) {
        arguments[i].scalar = nb::cast<std::uint64_t>(nb::handle(objects[i]));
        continue;
      }
      if (on_cuda) views[i] = view(i, chosen);  // the array's library orders its work before this launch
      if (views[i]->key.read_only && parameter.is_written)
        throw UserError(what(i) + " is written, and " + describe(objects[i]) + " is given, which is read-only");
      arguments[i].buffer = borrowed(views[i]->key, chosen);
    }
    const Extents over(std::span(extents.data(), extents.size()), SourceLocation());
    const Unlocked unlocked;
    kernel.launch(over, arguments, chosen);
  });
}

}  // namespace

void ArchivedKernel::launch(const Extents &extents, std::span<const jit::OwnedArgument> arguments,
                            const std::optional<Stream> &stream) const {
  const std::size_t own = parameters.size() - active.size();
  std::vector<shipped::LaunchArgument> taken(own);
  for (std::size_t i = 0; i < own; ++i) {
    taken[i].buffer = arguments[i].buffer;
    taken[i].scalar = arguments[i].scalar;
  }
  for (std::size_t i = 0; i < active.size(); ++i) taken[active[i]].gradient = arguments[own + i].buffer;
  shipped::launch(name, direction, extents, taken, stream);
}

void define_archive(nb::module_ &module) {
  module.def("open_archive", [](const std::string &path) {
    at_python_line([&] { samite::open_archive(path, SourceLocation()); });
    return at_python_line([&] { return kernels_in(path); });
  });
  module.def("archived_adjoints",
             [](const std::string &name) { return at_python_line([&] { return adjoints_of(name); }); });
  nb::class_<ArchivedKernel>(module, "ArchivedKernel")
      .def_prop_ro("name", [](const ArchivedKernel &self) { return self.name; })
      .def_prop_ro("launch_rank", [](const ArchivedKernel &self) { return self.launch_rank; })
      .def_prop_ro("parameters", &described)
      .def("launch", &launch, nb::arg("extents"), nb::arg("arguments"), nb::arg("stream").none());
  module.def("archived_kernel", [](const std::string &name, const std::vector<std::size_t> &active) {
    return at_python_line([&] { return kernel_of(name, active); });
  });
}

}  // namespace samite::python
