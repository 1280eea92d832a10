#include "signature.h"

#include "protocols.h"
#include "samite/base/floating_range.h"
#include "samite/ir/visit.h"
#include "streams.h"

#include <algorithm>
#include <cstring>

namespace samite::python {
namespace {

constexpr const char *option_names[] = {"extents", "stream", "debug", "deterministic", "schedule"};

bool is_option(std::string_view name) { return std::ranges::find(option_names, name) != std::end(option_names); }

std::string text_of(PyObject *object) {
  const char *text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, nullptr) : nullptr;
  if (text) return text;
  PyErr_Clear();
  return describe(object);
}

bool truth(PyObject *value, const char *option) {
  if (!PyBool_Check(value))
    throw_type_error(std::string(option) + " expects True or False; " + describe(value) + " is given");
  return value == Py_True;
}

std::string text_of_schedule(PyObject *value) {
  if (value == Py_None) return {};
  if (!PyUnicode_Check(value)) throw_type_error("schedule expects a name; " + describe(value) + " is given");
  return text_of(value);
}

// Whether torch would miss gradients if a kernel used the tensor.
bool needs_gradient(PyObject *tensor) {
  static PyObject *const name = PyUnicode_InternFromString("requires_grad");  // kept: each call needs it
  const nb::object requires_gradient = nb::steal(PyObject_GetAttr(tensor, name));
  PyErr_Clear();
  if (requires_gradient.ptr() != Py_True) return false;
  PyObject *modules = PySys_GetObject("modules");
  PyObject *torch = modules ? PyDict_GetItemString(modules, "torch") : nullptr;
  const nb::object enabled = torch ? nb::steal(PyObject_CallMethod(torch, "is_grad_enabled", nullptr)) : nb::object();
  PyErr_Clear();
  return enabled.ptr() == Py_True;
}

// Arrays whose elements a kernel loads or adds to, as bits. If it writes to them, too, they are in-place arguments.
std::uint64_t arrays_read(const ir::Kernel &kernel) {
  std::uint64_t arrays = 0;
  const auto note = [&](std::uint32_t array) {
    if (array < 64) arrays |= std::uint64_t{1} << array;  // a pipeline's algorithm has others after its own
  };
  ir::for_each_statement(kernel, [&](const ir::Stmt &stmt) {
    if (const auto array = ir::array_read(stmt)) note(*array);
    if (const auto *add = stmt.as<ir::Accumulate>()) note(add->array);
  });
  return arrays;
}

// Arrays that the Funcs of a pipeline fill, as bits.
std::uint64_t arrays_filled(const ir::CapturedPipeline &pipeline) {
  std::uint64_t arrays = 0;
  for (const ir::Func &func : pipeline.funcs)
    for (std::size_t value = 0; func.output && value < func.types.size(); ++value)
      arrays |= std::uint64_t{1} << (*func.output + value);
  return arrays;
}

}  // namespace

Signature::Signature(std::string function, std::shared_ptr<jit::KernelDefinition> definition,
                     const std::vector<std::size_t> &counts)
    : function_(std::move(function)), definition_(std::move(definition)) {
  name_parameters(counts, definition_->written(), arrays_read(definition_->forward()), definition_->where());
}

Signature::Signature(std::string function, std::shared_ptr<jit::PipelineDefinition> pipeline,
                     const std::vector<std::size_t> &counts)
    : function_(std::move(function)), pipeline_(std::move(pipeline)) {
  const ir::CapturedPipeline &captured = *pipeline_->captured();
  name_parameters(counts, arrays_filled(captured), arrays_read(captured.algorithm), pipeline_->where());
}

void Signature::name_parameters(const std::vector<std::size_t> &counts, std::uint64_t written, std::uint64_t read,
                                SourceLocation where) {
  std::size_t first = 0;
  for (const std::size_t count : counts) {
    const ir::Parameter &parameter = described()[first];
    std::string name = parameter.name;
    if (count > 1 && name.ends_with("_0")) name.resize(name.size() - 2);  // the scalars of n are n_0, n_1, …
    if (is_option(name) && (pipeline_ || name != "schedule"))
      throw UserError(where, function_ + "(): a parameter is named '" + name +
                                 "', which every call has for itself; name it otherwise");
    nb::object key = nb::steal(checked(PyUnicode_InternFromString(name.c_str())));
    const bool is_written = (written >> first & 1) != 0;
    std::string what = function_ + "(): argument '" + name + "'";
    const bool is_read = parameter.is_array() && (read >> first & 1) != 0;
    parameters_.push_back(
        {std::move(name), std::move(what), std::move(key), first, count, parameter.is_array(), is_written, is_read});
    if (parameter.is_array()) ++array_count_;
    first += count;
  }
}

std::vector<std::size_t> Signature::counts() const {
  std::vector<std::size_t> counts;
  for (const Parameter &parameter : parameters_) counts.push_back(parameter.count);
  return counts;
}

std::string Signature::text() const {
  std::string text = function_ + "(";
  for (const Parameter &parameter : parameters_) {
    if (&parameter != parameters_.data()) text += ", ";
    const ir::Parameter &one = described(parameter);
    text += parameter.name + ": " + python_name(one.type);
    if (parameter.is_array)
      for (int d = 0; d < one.rank; ++d) text += d == 0 ? "[:" : ", :";
    if (parameter.is_array) text += "]";
    if (parameter.count > 1) text += " × " + std::to_string(parameter.count);
  }
  return text + (pipeline_ ? ", *, schedule)" : ", *, extents)");
}

bool Signature::take_option(PyObject *name, PyObject *value, CallOptions &options) const {
  const std::string text = text_of(name);
  if (text == "extents" && definition_)
    options.extents = value;
  else if (text == "schedule" && pipeline_)
    options.schedule = text_of_schedule(value);
  else if (text == "stream")
    options.stream = value;
  else if (text == "debug")
    options.debug = value == Py_None ? std::nullopt : std::optional(truth(value, "debug"));
  else if (text == "deterministic")
    options.deterministic = truth(value, "deterministic");
  else
    return false;
  return true;
}

std::vector<PyObject *> Signature::assign(PyObject *positional, PyObject *named, CallOptions &options) const {
  std::vector<PyObject *> given(parameters_.size(), nullptr);
  const auto count = static_cast<std::size_t>(PyTuple_Size(positional));
  if (count > given.size())
    throw_type_error(text() + " takes " + std::to_string(given.size()) + " arguments; " + std::to_string(count) +
                     " are given");
  for (std::size_t i = 0; i < count; ++i) given[i] = PyTuple_GetItem(positional, static_cast<Py_ssize_t>(i));

  Py_ssize_t place = 0;
  PyObject *name, *value;
  while (named && PyDict_Next(named, &place, &name, &value)) {
    auto parameter = std::ranges::find_if(parameters_, [&](const Parameter &each) { return each.key.ptr() == name; });
    if (parameter == parameters_.end())
      parameter = std::ranges::find_if(
          parameters_, [&](const Parameter &each) { return PyUnicode_Compare(each.key.ptr(), name) == 0; });
    if (parameter != parameters_.end()) {
      PyObject *&slot = given[static_cast<std::size_t>(parameter - parameters_.begin())];
      if (slot) throw_type_error(parameter->what + " is given twice");
      slot = value;
    } else if (!take_option(name, value, options)) {
      throw_type_error(text() + " has no argument '" + text_of(name) + "'");
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!given[i]) throw_type_error(text() + ": argument '" + parameters_[i].name + "' is missing");
  return given;
}

ArrayView Signature::read_array(const Parameter &parameter, PyObject *object,
                                const std::optional<Stream> &stream) const {
  ArrayView view = view_of(object, parameter.what, stream);
  if (protocol_of(Py_TYPE(object)).is_torch && needs_gradient(object))
    throw UserError(parameter.what + " is a tensor that requires a gradient, which torch would not see through this " +
                    "call: call samite.torch.function(" + function_ +
                    "), or give tensor.detach(), or call it under torch.no_grad()");
  return view;
}

void Signature::read_scalars(const Parameter &parameter, PyObject *object, std::uint64_t *bits) const {
  const ir::Parameter &one = described(parameter);
  const auto read = [&](std::size_t index, PyObject *number) -> std::uint64_t {
    const auto refuse = [&](const std::string &why) {
      PyErr_Clear();
      throw UserError(parameter.what + " expects a number, as a " + python_name(described()[index].type) + "; " +
                      describe(number) + " is given" + why);
    };
    if (!PyFloat_Check(number) && !PyLong_Check(number) && protocol_of(Py_TYPE(number)).is_traced)
      throw UserError(parameter.what + traced_by_jax);
    const bool is_bool = PyBool_Check(number) != 0;
    if (one.type == ScalarType::Bool) {
      if (!is_bool) refuse(": give True or False");
      return number == Py_True ? 1 : 0;
    }
    if (is_bool) refuse("");
    if (is_floating(one.type)) {
      if (!PyFloat_Check(number) && protocol_of(Py_TYPE(number)).is_torch && needs_gradient(number))
        refuse(", which requires a gradient, and there is none for a number: make it an array of one element");
      const double value = PyFloat_AsDouble(number);
      if (value == -1 && PyErr_Occurred()) refuse("");
      if (one.type == ScalarType::Float32 && !is_too_large(one.type, value)) {
        const auto narrow = static_cast<float>(value);
        std::uint64_t word = 0;
        std::memcpy(&word, &narrow, sizeof narrow);
        return word;
      }
      return jit::scalar_bits(callee(), index, value);
    }
    const nb::object integer = nb::steal(PyNumber_Index(number));
    if (!integer.is_valid()) refuse(": round it to an integer");
    const long long value = PyLong_AsLongLong(integer.ptr());
    if (value != -1 || !PyErr_Occurred()) return jit::scalar_bits(callee(), index, std::int64_t{value});
    PyErr_Clear();
    const unsigned long long large = PyLong_AsUnsignedLongLong(integer.ptr());
    if (PyErr_Occurred()) refuse(", which has more than 64 bits");
    return jit::scalar_bits(callee(), index, std::uint64_t{large});
  };
  if (parameter.count == 1) {
    bits[parameter.first] = read(parameter.first, object);
    return;
  }
  const nb::object tuple = nb::steal(PySequence_Tuple(object));
  PyErr_Clear();
  if (!tuple.is_valid() || static_cast<std::size_t>(PyTuple_Size(tuple.ptr())) != parameter.count)
    throw UserError(parameter.what + " expects " + std::to_string(parameter.count) + " numbers, as a tuple; " +
                    describe(object) + " is given");
  for (std::size_t i = 0; i < parameter.count; ++i)
    bits[parameter.first + i] = read(parameter.first + i, PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(i)));
}

Extents Signature::read_extents(PyObject *object) const {
  std::array<std::int64_t, maximum_rank> extents{};
  const auto refuse = [&](const std::string &why) {
    PyErr_Clear();
    throw UserError(function_ + "(): extents expects " + std::to_string(definition_->launch_rank()) +
                    (definition_->launch_rank() == 1 ? " integer" : " integers, as a tuple") + "; " + why);
  };
  const auto one = [&](PyObject *number) {
    const nb::object integer = PyBool_Check(number) ? nb::object() : nb::steal(PyNumber_Index(number));
    if (!integer.is_valid()) refuse(describe(number) + " is given for one of them");
    const long long value = PyLong_AsLongLong(integer.ptr());
    if (PyErr_Occurred()) refuse("a number of more than 63 bits is given");
    if (value < 0) refuse(std::to_string(value) + " is given");
    return std::int64_t{value};
  };
  if (PyLong_Check(object)) {
    extents[0] = one(object);
    return Extents(std::span(extents.data(), 1), SourceLocation());
  }
  const nb::object tuple = PyTuple_Check(object) ? nb::borrow(object) : nb::steal(PySequence_Tuple(object));
  if (!tuple.is_valid()) refuse(describe(object) + " is given");
  const Py_ssize_t count = PyTuple_Size(tuple.ptr());
  if (count != definition_->launch_rank()) refuse(std::to_string(count) + " are given");
  for (Py_ssize_t d = 0; d < count; ++d) extents[static_cast<std::size_t>(d)] = one(PyTuple_GetItem(tuple.ptr(), d));
  return Extents(std::span(extents.data(), static_cast<std::size_t>(count)), SourceLocation());
}

// If the call names no extents, the extents of the first array that the kernel writes and that has the launch's rank.
Extents Signature::extents_of(const Bound &bound) const {
  std::size_t array = 0;
  for (const Parameter &parameter : parameters_) {
    if (!parameter.is_array) continue;
    const ArrayKey &key = bound.arrays[array++].key;
    const int rank = key.rank - (described(parameter).last_extent != 0 ? 1 : 0);  // a struct is one element
    if (parameter.is_written && rank == definition_->launch_rank() && !ir::is_tile_kernel(definition_->structured()))
      return Extents(std::span(key.extents.data(), static_cast<std::size_t>(rank)), SourceLocation());
  }
  throw UserError(function_ + "(): extents is missing, over which indices the kernel runs: " +
                  std::to_string(definition_->launch_rank()) + " of them, as extents=(…)");
}

Bound Signature::bind(PyObject *positional, PyObject *named) const {
  CallOptions options;
  const std::vector<PyObject *> given = assign(positional, named, options);
  Bound bound;
  bound.debug = options.debug;
  bound.deterministic = options.deterministic;
  bound.schedule = options.schedule;
  bound.bits.resize(described().size());
  bound.arrays.reserve(array_count_);
  // Arrays with DLPack need the stream when they are read, and other arrays may determine it, so those are read first.
  bool asks_for_stream = options.stream && options.stream != Py_None;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!parameters_[i].is_array) {
      read_scalars(parameters_[i], given[i], bound.bits.data());
      continue;
    }
    if (protocol_of(Py_TYPE(given[i])).protocol == Protocol::dlpack) {
      asks_for_stream = true;
      bound.arrays.push_back({});
      continue;
    }
    bound.arrays.push_back(read_array(parameters_[i], given[i], {}));
    asks_for_stream |= bound.arrays.back().key.on_cuda;
  }
  if (asks_for_stream) {
    bound.stream = stream_for(options.stream, given);
    std::size_t array = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (!parameters_[i].is_array) continue;
      if (protocol_of(Py_TYPE(given[i])).protocol == Protocol::dlpack)
        bound.arrays[array] = read_array(parameters_[i], given[i], bound.stream);
      ++array;
    }
  }
  if (definition_)
    bound.extents = options.extents && options.extents != Py_None ? read_extents(options.extents) : extents_of(bound);
  return bound;
}

void Signature::check_array(const Parameter &parameter, const ArrayKey &key, PyObject *object) const {
  const ir::Parameter &one = described(parameter);
  const bool fits = key.type == one.type && key.rank == one.rank &&
                    (one.last_extent == 0 || key.extents[static_cast<std::size_t>(one.rank - 1)] == one.last_extent);
  if (!fits)
    throw UserError(parameter.what + " expects an array of " + python_name(one.type) + " with " +
                    std::to_string(one.rank) + (one.rank == 1 ? " dimension" : " dimensions") +
                    (one.last_extent ? ", the last of them " + std::to_string(one.last_extent) : "") + "; " +
                    describe(object) + " is given");
  const auto address = reinterpret_cast<std::uintptr_t>(key.data);
  if (address % size_of(key.type) != 0)
    refuse_array(object, parameter.what,
                 "its elements are not aligned: their addresses are no multiples of " +
                     std::to_string(size_of(key.type)) + " bytes: copy it");
  if (parameter.is_written && key.read_only)
    throw UserError(parameter.what + " is written by the " + (pipeline_ ? "pipeline" : "kernel") + ", and " +
                    describe(object) + " is read-only" +
                    (protocol_of(Py_TYPE(object)).is_immutable ? ", as all arrays of JAX are" : "") +
                    ": give an array that may be written, such as a copy in NumPy");
}

std::vector<PyObject *> Signature::objects(PyObject *positional, PyObject *named) const {
  CallOptions options;
  return assign(positional, named, options);
}

void Signature::check(const Bound &bound, const std::vector<PyObject *> &given) const {
  const ArrayKey *first = nullptr;
  const Parameter *first_parameter = nullptr;
  std::size_t array = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!parameters_[i].is_array) continue;
    const ArrayKey &key = bound.arrays[array++].key;
    check_array(parameters_[i], key, given[i]);
    if (!first) first = &key, first_parameter = &parameters_[i];
    if (!(key.device() == first->device()))
      throw UserError(parameters_[i].what + " is on " + key.device().to_string() + ", but '" + first_parameter->name +
                      "' is on " + first->device().to_string() + "; a call runs on one device, so copy one of them");
  }
}

PipelineOptions Bound::pipeline_options() const {
  PipelineOptions options;
  options.stream = stream;
  options.schedule = schedule;
  options.debug = debug;
  options.deterministic = deterministic;
  return options;
}

LaunchOptions Bound::options() const {
  LaunchOptions options;
  options.stream = stream;
  options.debug = debug;
  options.deterministic = deterministic;
  return options;
}

}  // namespace samite::python
