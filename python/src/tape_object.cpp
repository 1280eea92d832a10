#include "tape_object.h"

#include "launch_object.h"
#include "streams.h"
#include "unlocked.h"

#include <nanobind/stl/string.h>

namespace samite::python {
namespace {

std::optional<Stream> stream_of(PyObject *array) {
  if (!cuda_device_of(array)) return {};
  return stream_for(nullptr, std::span(&array, 1));
}

bool has_gradient(ScalarType type) { return is_floating(type) && !is_float8(type); }

}  // namespace

void TapeObject::require_free() const {
  if (busy_) throw UserError("another thread uses this tape: one uses it at a time");
}

template <class F>
void TapeObject::alone(const F &work) {
  require_free();
  struct Busy {
    explicit Busy(bool &flag) : flag(flag) { flag = true; }
    ~Busy() { flag = false; }
    bool &flag;
  };
  const Busy busy(busy_);
  const Unlocked unlocked;
  work();
}

Hash128 TapeObject::Array::hash_now() const {
  const AnyBuffer packed = buffer.is_contiguous() ? buffer : buffer.clone(Gradient::untracked, SourceLocation());
  const auto bytes = static_cast<std::size_t>(packed.count()) * size_of(packed.type());
  return hash_of({{static_cast<const char *>(packed.data()), bytes}});
}

void TapeObject::Array::find_write() {
  if (hash && !(hash_now() == *hash)) buffer.mark_written();
}

TapeObject::Array *TapeObject::find(const ArrayKey &key) {
  const auto [first, last] = arrays_.equal_range(key.data);
  for (auto each = first; each != last; ++each) {
    ArrayKey writable = key;
    writable.read_only = false;
    if (each->second.key == writable) return &each->second;
  }
  return nullptr;
}

void TapeObject::refuse_overlap(const AnyBuffer &buffer, const std::string &what) const {
  for (const auto &[data, other] : arrays_)
    if (buffer.overlaps(other.buffer))
      throw UserError(what + " shares memory with another array on the tape, " + describe(other.object.ptr()) +
                      ", and their gradients would be apart: give the same array, or a copy");
}

TapeObject::Array &TapeObject::add(ArrayView view, PyObject *object, const std::optional<Stream> &stream,
                                   const std::string &what, bool is_constant) {
  view.key.read_only = false;  // arrays that a kernel writes have been checked
  AnyBuffer buffer = borrowed(view.key, stream);
  refuse_overlap(buffer, what);
  if (!is_constant && has_gradient(view.key.type)) buffer.track_gradient(SourceLocation());
  const auto found =
      arrays_.emplace(view.key.data, Array{view.key, std::move(buffer), nb::borrow(object), std::move(view.loan)});
  return found->second;
}

void TapeObject::call(const Signature &signature, Bound bound, const std::vector<PyObject *> &given) {
  require_free();
  signature.check(bound, given);
  std::vector<jit::OwnedArgument> arguments;
  std::vector<Array *> used;  // their addresses stay valid
  std::size_t array = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Parameter &parameter = signature.parameters()[i];
    if (!parameter.is_array) {
      for (std::size_t k = 0; k < parameter.count; ++k) arguments.push_back({{}, bound.bits[parameter.first + k]});
      continue;
    }
    ArrayView &view = bound.arrays[array++];
    Array *known = find(view.key);
    if (!known) known = &add(std::move(view), given[i], bound.stream, parameter.what, false);
    arguments.push_back({known->buffer, 0});
    if (check_writes_ && !known->key.on_cuda) used.push_back(known);
  }
  const SourceLocation where = python_line();
  const auto launch = [&] {
    if (signature.pipeline())
      jit::launch_pipeline(signature.pipeline(), bound.pipeline_options(), jit::views(arguments), where);
    else
      jit::launch_once(signature.definition(), LaunchExtents(bound.extents, where), bound.options(),
                       jit::views(arguments));
  };
  alone([&] {
    for (Array *each : used) each->find_write();
    tape_.record(launch, where);
    for (Array *each : used) each->hash = each->hash_now();
  });
}

void TapeObject::call(LaunchObject &launch) { launch.call_again(*this); }

void TapeObject::constant(const nb::args &arrays) {
  require_free();
  for (const nb::handle object : arrays) {
    const std::string what = "Tape.constant(): an argument";
    const std::optional<Stream> stream = stream_of(object.ptr());
    ArrayView view = view_of(object.ptr(), what, stream);
    if (const Array *known = find(view.key)) {
      if (known->buffer.tracks_gradient())
        throw UserError(what + " is used by a launch on the tape already: name constants before");
      continue;
    }
    add(std::move(view), object.ptr(), stream, what, true);
  }
}

AnyBuffer TapeObject::known(PyObject *object, const std::string &what) {
  const ArrayView view = view_of(object, what, stream_of(object));
  Array *found = find(view.key);
  if (!found) throw UserError(what + ": " + describe(object) + " is given, which no launch on the tape uses");
  if (!found->buffer.tracks_gradient())
    throw UserError(what + ": " + describe(object) + " is given, which has no gradient");
  return found->buffer;
}

void TapeObject::backward(const nb::object &objective, const nb::object &cotangent) {
  const SourceLocation where = python_line();
  const auto find_writes = [&] {
    for (auto &[data, each] : arrays_) each.find_write();
  };
  if (!nb::isinstance<nb::list>(objective) && cotangent.is_none()) {
    const AnyBuffer buffer = known(objective.ptr(), "Tape.backward(): the objective");
    return alone([&] {
      find_writes();
      tape_.backward(buffer, where);
    });
  }
  std::vector<Tape::Cotangent> cotangents;
  std::vector<Loan> loans;
  const auto take = [&](PyObject *array, PyObject *value) {
    const std::string what = "Tape.backward(): a cotangent";
    const std::optional<Stream> stream = stream_of(value);
    ArrayView view = view_of(value, what, stream);
    cotangents.push_back({known(array, "Tape.backward(): the objective"), borrowed(view.key, stream)});
    loans.push_back(std::move(view.loan));
  };
  if (nb::isinstance<nb::list>(objective)) {
    if (!cotangent.is_none()) throw_type_error("Tape.backward() takes an array and its cotangent, or a list of pairs");
    for (const nb::handle pair : objective) {
      if (!nb::isinstance<nb::tuple>(pair) || nb::len(pair) != 2)
        throw_type_error("Tape.backward() expects pairs of an array and its cotangent in a list");
      take(nb::object(pair[0]).ptr(), nb::object(pair[1]).ptr());
    }
  } else {
    take(objective.ptr(), cotangent.ptr());
  }
  alone([&] {
    find_writes();
    tape_.backward(cotangents, where);
  });
}

void TapeObject::copy_gradient(const nb::object &array, const nb::object &to) {
  const AnyBuffer buffer = known(array.ptr(), "Tape.gradient(): argument 'array'");
  const std::string what = "Tape.gradient(): argument 'out'";
  const std::optional<Stream> stream = stream_of(to.ptr());
  const ArrayView view = view_of(to.ptr(), what, stream);
  AnyBuffer out = borrowed(view.key, stream);
  alone([&] { out.copy_from(buffer.gradient(SourceLocation()), SourceLocation()); });
}

void TapeObject::zero_gradients() {
  alone([&] { tape_.zero_gradients(SourceLocation()); });
}

void TapeObject::clear() {
  alone([&] { tape_.clear(); });
  arrays_.clear();
}

void define_tape(nb::module_ &module) {
  nb::class_<TapeObject>(module, "Tape")
      .def(nb::init<bool, bool, bool>(), nb::kw_only(), nb::arg("keep_values") = true, nb::arg("check_finite") = false,
           nb::arg("check_writes") = true)
      .def("__enter__",
           [](const nb::object &self) {
             at_python_line([&] { nb::cast<TapeObject &>(self).enter(self); });
             return self;
           })
      .def("__exit__", [](TapeObject &self, const nb::args &) { self.exit(); })
      .def(
          "constant", [](TapeObject &self, const nb::args &arrays) { at_python_line([&] { self.constant(arrays); }); },
          "Excludes arrays from gradients. Call it before the launches that use them.")
      .def(
          "backward",
          [](TapeObject &self, const nb::object &objective, const nb::object &cotangent) {
            at_python_line([&] { self.backward(objective, cotangent); });
          },
          nb::arg("objective"), nb::arg("cotangent") = nb::none(),
          "Runs the adjoints of all launches in reverse order, from an array of one element, from an array and its\n"
          "cotangent, or from a list of such pairs. Adds to the gradients of arrays that the tape only reads.")
      .def("copy_gradient", [](TapeObject &self, const nb::object &array,
                               const nb::object &to) { at_python_line([&] { self.copy_gradient(array, to); }); })
      .def(
          "zero_gradients", [](TapeObject &self) { at_python_line([&] { self.zero_gradients(); }); },
          "Sets the gradients of all arrays on the tape to zero.")
      .def(
          "clear", [](TapeObject &self) { at_python_line([&] { self.clear(); }); },
          "Removes all launches, arrays and gradients.")
      .def_prop_ro("kept_bytes", &TapeObject::kept_bytes, "The bytes in copies of overwritten arrays.")
      .def("__len__", &TapeObject::size)
      .def("__str__", &TapeObject::to_string);
}

}  // namespace samite::python
