#include "launch_object.h"

#include "samite/jit/definition.h"
#include "samite/jit/launch_access.h"
#include "unlocked.h"

#include <algorithm>

namespace samite::python {
namespace {

std::variant<Launch, PipelineLaunch> recorded_launch(const Signature &signature, const Bound &bound) {
  std::vector<jit::OwnedArgument> arguments = owned_arguments(signature, bound);
  const Unlocked unlocked;
  if (signature.pipeline()) return PipelineLaunch(signature.pipeline(), bound.pipeline_options(), std::move(arguments));
  return Launch(signature.definition(), bound.extents, bound.options(), std::move(arguments));
}

}  // namespace

LaunchObject::LaunchObject(const Signature &signature, Bound bound, const std::vector<PyObject *> &given)
    : signature_(signature),
      stream_(bound.stream),
      debug_(bound.debug),
      deterministic_(bound.deterministic),
      schedule_(bound.schedule),
      bits_(bound.bits),
      launch_(recorded_launch(signature, bound)) {
  std::size_t array = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool is_array = signature_.parameters()[i].is_array;
    objects_.push_back(is_array ? nb::borrow(given[i]) : nb::object());
    loans_.push_back(is_array ? std::make_shared<Loan>(std::move(bound.arrays[array++].loan)) : nullptr);
  }
}

void LaunchObject::launch() {
  at_python_line([&] {
    if (Recorder *recorder = Recorder::current()) return recorder->call(*this);
    run(SourceLocation());
  });
}

void LaunchObject::run(SourceLocation where) {
  const Unlocked unlocked;
  std::visit([&](auto &launch) { launch.launch(where); }, launch_);
}

std::string LaunchObject::to_string() const {
  return std::visit([](const auto &launch) { return launch.to_string(); }, launch_);
}

Extents LaunchObject::extents() const {
  const auto *launch = std::get_if<Launch>(&launch_);
  return launch ? launch->extents() : Extents();
}

const Launch &LaunchObject::of_kernel() const {
  if (const auto *launch = std::get_if<Launch>(&launch_)) return *launch;
  throw UserError(to_string() + " is given, which is several launches: give the launch of a kernel");
}

void LaunchObject::call_again(Recorder &recorder) const {
  Bound bound;
  std::vector<PyObject *> given;
  for (std::size_t i = 0; i < objects_.size(); ++i) {
    const Parameter &parameter = signature_.parameters()[i];
    given.push_back(objects_[i].ptr());
    if (parameter.is_array) bound.arrays.push_back(signature_.read_array(parameter, given.back(), stream_));
  }
  bound.bits = bits_;
  bound.extents = extents();
  bound.schedule = schedule_;
  bound.stream = stream_;
  bound.debug = debug_;
  bound.deterministic = deterministic_;
  recorder.call(signature_, std::move(bound), given);
}

const Parameter &LaunchObject::parameter(PyObject *name) const {
  const auto &all = signature_.parameters();
  const auto found =
      std::ranges::find_if(all, [&](const Parameter &each) { return PyUnicode_Compare(each.key.ptr(), name) == 0; });
  if (found == all.end())
    throw_type_error(signature_.text() + " has no argument '" + PyUnicode_AsUTF8AndSize(name, nullptr) + "'");
  return *found;
}

void LaunchObject::set(const nb::kwargs &named) {
  at_python_line([&] {
    for (const auto &[name, value] : named) {
      auto *kernel = std::get_if<Launch>(&launch_);
      if (kernel && PyUnicode_CompareWithASCIIString(name.ptr(), "extents") == 0) {
        const Extents extents = signature_.read_extents(value.ptr());
        const Unlocked unlocked;
        kernel->set_dim({extents, SourceLocation()});
        continue;
      }
      const Parameter &changed = parameter(name.ptr());
      const auto place = static_cast<std::size_t>(&changed - signature_.parameters().data());
      if (!changed.is_array) {
        signature_.read_scalars(changed, value.ptr(), bits_.data());
        for (std::size_t i = changed.first; i < changed.first + changed.count; ++i)
          std::visit([&](auto &launch) { jit::LaunchAccess::set_bits(launch, i, bits_[i]); }, launch_);
        continue;
      }
      ArrayView view = signature_.read_array(changed, value.ptr(), stream_);
      signature_.check_array(changed, view.key, value.ptr());
      const AnyBuffer buffer = borrowed(view.key, stream_);
      {
        const Unlocked unlocked;
        std::visit([&](auto &launch) { launch.set(changed.first, buffer, SourceLocation()); }, launch_);
      }
      objects_[place] = nb::borrow(value);
      loans_[place] = std::make_shared<Loan>(std::move(view.loan));
    }
  });
}

}  // namespace samite::python
