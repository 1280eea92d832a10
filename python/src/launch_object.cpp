#include "launch_object.h"

#include "unlocked.h"

#include <algorithm>

namespace samite::python {
namespace {

Launch recorded(const Signature &signature, const Bound &bound) {
  std::vector<jit::OwnedArgument> arguments = owned_arguments(signature, bound);
  const Unlocked unlocked;
  return Launch(signature.definition(), bound.extents, bound.options(), std::move(arguments));
}

}  // namespace

LaunchObject::LaunchObject(const Signature &signature, Bound bound, PyObject *positional, PyObject *named)
    : signature_(signature), stream_(bound.stream), bits_(bound.bits), launch_(recorded(signature, bound)) {
  objects_.push_back(nb::borrow(positional));
  for (std::size_t array = 0; const Parameter &parameter : signature_.parameters()) {
    nb::object object;
    const auto place = static_cast<Py_ssize_t>(&parameter - signature_.parameters().data());
    if (place < PyTuple_Size(positional))
      object = nb::borrow(PyTuple_GetItem(positional, place));
    else if (named)
      object = nb::borrow(PyDict_GetItem(named, parameter.key.ptr()));
    objects_.push_back(parameter.is_array ? std::move(object) : nb::object());
    loans_.push_back(parameter.is_array ? std::move(bound.arrays[array++].loan) : Loan());
  }
  objects_.erase(objects_.begin());
}

void LaunchObject::launch() {
  at_python_line([&] {
    const Unlocked unlocked;
    launch_.launch(SourceLocation());
  });
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
      if (PyUnicode_CompareWithASCIIString(name.ptr(), "extents") == 0) {
        const Extents extents = signature_.read_extents(value.ptr());
        const Unlocked unlocked;
        launch_.set_dim({extents, SourceLocation()});
        continue;
      }
      const Parameter &changed = parameter(name.ptr());
      const auto place = static_cast<std::size_t>(&changed - signature_.parameters().data());
      if (!changed.is_array) {
        signature_.read_scalars(changed, value.ptr(), bits_.data());
        for (std::size_t i = 0; i < changed.count; ++i) launch_.set_bits(changed.first + i, bits_[changed.first + i]);
        continue;
      }
      ArrayView view = signature_.read_array(changed, value.ptr(), stream_);
      signature_.check_array(changed, view.key, value.ptr());
      const AnyBuffer buffer = borrowed(view.key, stream_);
      {
        const Unlocked unlocked;
        launch_.set(changed.first, buffer, SourceLocation());
      }
      objects_[place] = nb::borrow(value);
      loans_[place] = std::move(view.loan);
    }
  });
}

}  // namespace samite::python
