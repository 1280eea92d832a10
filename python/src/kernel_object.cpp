#include "kernel_object.h"

#include "launch_object.h"
#include "recorder.h"
#include "samite/jit/definition.h"
#include "samite/jit/launch_access.h"
#include "samite/runtime/cuda_stream.h"
#include "unlocked.h"

#include <nanobind/stl/string.h>

#include <algorithm>

namespace samite::python {
namespace {

constexpr std::size_t most_kept = 8;

// The legacy default stream, whose handle is null, cannot be captured.
bool is_captured(const std::optional<Stream> &stream) {
  return stream && stream->native() && stream->cuda()->capturing();
}

void *native(const std::optional<Stream> &stream) { return stream ? stream->native() : nullptr; }

}  // namespace

std::vector<jit::OwnedArgument> owned_arguments(const Signature &signature, const Bound &bound) {
  std::vector<jit::OwnedArgument> arguments;
  std::size_t array = 0;
  for (const Parameter &parameter : signature.parameters()) {
    if (parameter.is_array)
      arguments.push_back({borrowed(bound.arrays[array++].key, bound.stream), 0});
    else
      for (std::size_t i = 0; i < parameter.count; ++i) arguments.push_back({{}, bound.bits[parameter.first + i]});
  }
  return arguments;
}

AnyBuffer borrowed(const ArrayKey &key, const std::optional<Stream> &stream) {
  const auto rank = static_cast<std::size_t>(key.rank);
  return borrow({.device = key.device(),
                 .data = key.data,
                 .type = key.type,
                 .extents = Extents(std::span(key.extents.data(), rank), SourceLocation()),
                 .strides = key.strides,
                 .read_only = key.read_only,
                 .owner = {},
                 .stream = key.on_cuda ? stream : std::nullopt},
                SourceLocation());
}

KernelObject::KernelObject(std::string name, std::string documentation,
                           std::shared_ptr<jit::KernelDefinition> definition, const std::vector<std::size_t> &counts)
    : signature_(std::move(name), std::move(definition), counts), documentation_(std::move(documentation)) {}

bool KernelObject::Kept::is_for(const Bound &bound, bool debug_now) const {
  if (busy || extents != bound.extents || debug != debug_now || deterministic != bound.deterministic ||
      stream != native(bound.stream))
    return false;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (!(arrays[i] == bound.arrays[i].key)) return false;
  return true;
}

KernelObject::Kept *KernelObject::find(const Bound &bound, bool debug) {
  for (const auto &kept : kept_)
    if (kept->is_for(bound, debug)) return kept.get();
  return nullptr;
}

KernelObject::Kept *KernelObject::keep(Kept &&kept) {
  if (kept_.size() < most_kept) return kept_.emplace_back(std::make_unique<Kept>(std::move(kept))).get();
  for (std::size_t tried = 0; tried < most_kept; ++tried) {
    Kept &oldest = *kept_[next_];
    next_ = (next_ + 1) % most_kept;
    if (oldest.busy) continue;
    oldest = std::move(kept);
    return &oldest;
  }
  return nullptr;
}

void KernelObject::launch(Kept &kept) {
  struct Busy {
    explicit Busy(bool &flag) : flag(flag) { flag = true; }
    ~Busy() { flag = false; }
    bool &flag;
  };
  const Busy busy(kept.busy);
  const Unlocked unlocked;
  kept.launch->launch(SourceLocation());
}

void KernelObject::call(PyObject *positional, PyObject *named) {
  at_python_line([&] {
    Bound bound = signature_.bind(positional, named);
    if (Recorder *recorder = Recorder::current())
      return recorder->call(signature_, std::move(bound), signature_.objects(positional, named));
    const bool debug = bound.debug ? *bound.debug : debug_mode();
    const bool captured = is_captured(bound.stream);
    if (Kept *kept = captured ? nullptr : find(bound, debug)) {
      for (std::size_t i = 0; i < bound.bits.size(); ++i)
        if (bound.bits[i] != kept->bits[i]) {
          jit::LaunchAccess::set_bits(*kept->launch, i, bound.bits[i]);
          kept->bits[i] = bound.bits[i];
        }
      return launch(*kept);
    }
    signature_.check(bound, signature_.objects(positional, named));
    Kept made{{}, bound.bits, bound.extents, native(bound.stream), debug, bound.deterministic, false, nullptr};
    for (const ArrayView &view : bound.arrays) made.arrays.push_back(view.key);
    LaunchOptions options = bound.options();
    options.debug = debug;
    std::vector<jit::OwnedArgument> arguments = owned_arguments(signature_, bound);
    {
      const Unlocked unlocked;
      made.launch = std::make_unique<Launch>(signature_.definition(), bound.extents, options, std::move(arguments));
    }
    if (captured) return launch(*captured_.emplace_back(std::make_unique<Kept>(std::move(made))));
    if (Kept *kept = keep(std::move(made))) return launch(*kept);
    launch(made);  // all kept launches are busy
  });
}

std::unique_ptr<LaunchObject> KernelObject::record(PyObject *positional, PyObject *named) {
  return at_python_line([&] {
    Bound bound = signature_.bind(positional, named);
    const std::vector<PyObject *> given = signature_.objects(positional, named);
    signature_.check(bound, given);
    return std::make_unique<LaunchObject>(signature_, std::move(bound), given);
  });
}

std::unique_ptr<KernelObject> KernelObject::derivative(const nb::args &names, const char *kind, Derive derive) const {
  return at_python_line([&] {
    std::uint64_t active = 0;
    const auto can_have_one = [&](const Parameter &parameter) {
      const ir::Parameter &one = signature_.definition()->parameters()[parameter.first];
      return parameter.is_array && is_floating(one.type) && !is_float8(one.type);
    };
    for (const nb::handle name : names) {
      const auto same = [&](const Parameter &each) {
        return PyUnicode_Check(name.ptr()) && PyUnicode_Compare(each.key.ptr(), name.ptr()) == 0;
      };
      const auto found = std::ranges::find_if(signature_.parameters(), same);
      if (found == signature_.parameters().end() || !can_have_one(*found))
        throw UserError(signature_.function() + "." + kind + "() expects names of floating arrays of " +
                        signature_.text() + "; " + nb::cast<std::string>(nb::repr(name)) + " is given");
      active |= std::uint64_t{1} << found->first;
    }
    if (names.size() == 0)  // NOLINT(readability-container-size-empty): it has no empty()
      for (const Parameter &parameter : signature_.parameters())
        if (can_have_one(parameter)) active |= std::uint64_t{1} << parameter.first;
    std::shared_ptr<jit::KernelDefinition> derived;
    {
      const Unlocked unlocked;
      derived = (signature_.definition().get()->*derive)(active);
    }
    std::vector<std::size_t> counts = signature_.counts();
    counts.resize(counts.size() + derived->parameters().size() - signature_.definition()->parameters().size(), 1);
    return std::make_unique<KernelObject>(signature_.function() + "." + kind, std::string(), derived, counts);
  });
}

std::unique_ptr<KernelObject> KernelObject::adjoint(const nb::args &names) const {
  return derivative(names, "adjoint", &jit::KernelDefinition::adjoint_kernel);
}

std::unique_ptr<KernelObject> KernelObject::tangent(const nb::args &names) const {
  return derivative(names, "tangent", &jit::KernelDefinition::tangent_kernel);
}

}  // namespace samite::python
