#include "samite/shipped/forms.h"

#include "samite/base/error.h"
#include "samite/toolchain/archives.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <set>

namespace samite::shipped {
namespace {

using Forms = std::shared_ptr<const std::vector<LaunchForm>>;

// The arrays of a set, by name.
std::string arrays_in(const LaunchForm &form, std::uint64_t bits) {
  std::string text;
  for (std::size_t i = 0; i < form.own_parameters(); ++i)
    if ((bits >> i & 1) != 0) text += (text.empty() ? "" : ", ") + form.parameters[i].name;
  return text;
}

bool same_parameters(const LaunchForm &a, const LaunchForm &b) {
  const std::size_t count = a.own_parameters();
  if (a.rank != b.rank || count != b.own_parameters()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const FormParameter &one = a.parameters[i], &other = b.parameters[i];
    if (one.name != other.name || one.type != other.type || one.rank != other.rank ||
        one.last_extent != other.last_extent)
      return false;
  }
  return true;
}

Forms read_forms(const std::string &kernel) {
  std::vector<LaunchForm> forms;
  for (const ArchivedLaunch &launch : archived_launches()) {
    if (launch.kernel != kernel) continue;
    auto form = form_from(launch.text);
    if (!form || form->kernel != kernel)
      throw UserError("the kernel archive " + launch.archive->name() + " is damaged: the launch form of kernel '" +
                      kernel + "' cannot be read; make the archive again");
    if (!forms.empty() && !same_parameters(forms.front(), *form))
      throw UserError("the open kernel archives have two kernels named '" + kernel +
                      "', with different parameters: give each a name of its own");
    forms.push_back(std::move(*form));
  }
  return std::make_shared<const std::vector<LaunchForm>>(std::move(forms));
}

}  // namespace

Forms launch_forms_of(const std::string &kernel) {
  static std::mutex mutex;
  static std::map<std::string, Forms> known;
  static std::uint64_t generation = 0;
  const std::lock_guard lock(mutex);
  if (const std::uint64_t now = archives_generation(); now != generation) {
    known.clear();
    generation = now;
  }
  Forms &forms = known[kernel];
  if (!forms) forms = read_forms(kernel);
  return forms;
}

std::string describe(const LaunchForm &form) {
  std::string text = form.direction;
  const auto add = [&](std::uint64_t bits, const char *what) {
    if (bits != 0) text += "; " + arrays_in(form, bits) + what;
  };
  if (form.active != 0) text += " of " + arrays_in(form, form.active);
  text += " for " + form.target;
  add(form.facts.unit_stride, " contiguous");
  add(form.facts.unaliased, " apart");
  add(form.facts.rows.aligned, " aligned");
  add(form.facts.rows.whole, " in rows of a multiple of 16 bytes");
  add(form.facts.rows.tensor_maps, " with tensor maps");
  add(form.facts.wide_index, " of 2^31 elements or more");
  if (!form.covers.empty()) text += "; the launch covers the arrays";
  if (form.facts.may_alias) text += "; gradients may overlap";
  return text;
}

void refuse_unknown(const std::string &kernel) {
  std::set<std::string> there;
  for (const ArchivedLaunch &launch : archived_launches()) there.insert(launch.kernel);
  std::string names;
  for (const std::string &name : there) names += (names.empty() ? "" : ", ") + name;
  throw UserError("no open kernel archive can launch kernel '" + kernel + "'; there " +
                  (there.empty() ? std::string("is none that can be launched") : "are " + names) +
                  ". To add it, let the program of samite_add_kernels() launch it, or record a run with "
                  "SAMITE_AOT_RECORD=<archive>");
}

void refuse_form(const std::vector<LaunchForm> &forms, const std::string &direction, std::uint64_t active,
                 const std::string &target) {
  const LaunchForm &any = forms.front();
  const LaunchForm *nearest = &any;
  const auto distance = [&](const LaunchForm &form) {
    constexpr int of_direction = 64;
    return (form.direction == direction ? 0 : of_direction) + std::popcount(form.active ^ active);
  };
  std::string list;
  for (const LaunchForm &form : forms) {
    if (distance(form) < distance(*nearest)) nearest = &form;
    list += "\n  " + describe(form);
  }
  throw UserError(fmt::format(
      "kernel '{}' ({}{} for {}): no variant in the open kernel archives serves this launch. The nearest is {}; there "
      "are{}\nTo add it, let the program of samite_add_kernels(… TARGETS … {}) make this launch",
      any.kernel, direction, active != 0 ? " of " + arrays_in(any, active) : "", target, describe(*nearest), list,
      target));
}

}  // namespace samite::shipped
