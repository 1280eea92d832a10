#include "samite/jit/tape_function.h"

#include "samite/base/error.h"
#include "samite/base/hash.h"
#include "samite/base/thread_mode.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/options.h"
#include "samite/jit/tangent_launches.h"
#include "samite/jit/tape.h"
#include "samite/jit/tape_access.h"
#include "samite/runtime/shared_elements.h"
#include "samite/runtime/transfer.h"

#include <cmath>

namespace samite {
namespace {

constexpr std::size_t most_arrays = 64;  // an entry of a tape has a bit for each

std::string described(const AnyBuffer &buffer) {
  if (!buffer.valid()) return "an empty buffer";
  return buffer.name().empty() ? buffer.to_string() : "'" + buffer.name() + "'";
}

void check_arrays(const std::string &name, const std::vector<jit::Operation::Array> &arrays, SourceLocation where) {
  const auto refuse = [&](const std::string &what) { throw UserError(where, "'" + name + "' on a tape: " + what); };
  if (arrays.size() > most_arrays)
    refuse("at most " + std::to_string(most_arrays) + " arrays are expected, " + std::to_string(arrays.size()) +
           " are given");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const AnyBuffer &buffer = arrays[i].buffer;
    if (!buffer.valid()) refuse(arrays[i].name + " is an empty buffer");
    if (arrays[i].written && buffer.is_broadcast())
      refuse(arrays[i].name + ", " + described(buffer) + ", is a broadcast view, which is read-only");
    for (std::size_t j = 0; j < i; ++j)
      if ((arrays[i].written || arrays[j].written) && share_elements(buffer, arrays[j].buffer))
        refuse(arrays[i].name + " and " + arrays[j].name + " share elements of " + described(buffer) +
               "; write results to an array of their own");
  }
}

// The contents of a storage, as the host sees them.
Hash128 contents(const Storage &storage) {
  const Extents bytes{static_cast<std::int64_t>(storage.bytes())};
  std::string copy(storage.bytes(), '\0');
  copy_array(bytes, 1, {reinterpret_cast<std::byte *>(copy.data()), row_major_strides(bytes), nullptr},
             {storage.data(), row_major_strides(bytes), &storage});
  return Hasher().add(copy).result();
}

template <class T>
bool is_finite(const AnyBuffer &buffer) {
  for (const T value : Buffer<T>(buffer).to_vector())
    if (!std::isfinite(static_cast<double>(value))) return false;
  return true;
}

bool is_finite(const AnyBuffer &buffer) {
  switch (buffer.type()) {
    case ScalarType::Float16: return is_finite<half>(buffer);
    case ScalarType::BFloat16: return is_finite<bfloat16>(buffer);
    case ScalarType::Float32: return is_finite<float>(buffer);
    default: return is_finite<double>(buffer);
  }
}

AnyBuffer gradient_of(const AnyBuffer &buffer) { return buffer.tracks_gradient() ? buffer.gradient() : AnyBuffer(); }

}  // namespace

std::vector<AnyBuffer> jit::TapeAccess::tracked_inputs(const Tape &tape) {
  std::vector<AnyBuffer> inputs;
  std::set<const Storage *> seen;  // as an input, or written
  for (const Tape::Entry &entry : tape.entries_) {
    std::vector<const Storage *> written;
    for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
      const AnyBuffer &buffer = entry.arguments[i].buffer;
      if (!buffer.valid() || !buffer.tracks_gradient()) continue;
      if (entry.writes(i))
        written.push_back(buffer.storage().get());
      else if (seen.insert(buffer.storage().get()).second)
        inputs.push_back(buffer);
    }
    seen.insert(written.begin(), written.end());
  }
  return inputs;
}

void Tape::run_watched(const std::string &name, const std::set<const Storage *> &written, SourceLocation where,
                       const std::function<void()> &run) const {
  struct Watched {
    std::shared_ptr<Storage> storage;
    std::uint64_t version;
    Hash128 contents;
  };
  const bool reads_contents = debug_mode() && !jit::GraphCapture::current();
  std::vector<Watched> watched;
  for (const auto &[storage, known] : known_)
    if (!written.contains(storage))
      watched.push_back({known.storage, storage->version(), reads_contents ? contents(*storage) : Hash128()});
  run();
  for (const Watched &one : watched) {
    if (one.storage->version() == one.version && (!reads_contents || contents(*one.storage) == one.contents)) continue;
    const std::string &array = one.storage->name();
    throw UserError(where, "'" + name + "' on a tape wrote to " +
                               (array.empty() ? "an array of " + std::to_string(one.storage->bytes()) + " bytes on " +
                                                    one.storage->device().to_string()
                                              : "'" + array + "'") +
                               ", which the tape uses and which is not among its outputs; declare it there, or write "
                               "to memory of the function's own");
  }
}

void Tape::append(const TapeFunction &function, SourceLocation where) {
  jit::Operation operation{.name = function.options.name, .arrays = {}};
  const std::size_t outputs = function.outputs.size();
  for (std::size_t i = 0; i < outputs; ++i)
    operation.arrays.push_back({.buffer = function.outputs[i],
                                .name = "output " + std::to_string(i),
                                .written = true,
                                .needed = function.options.reads_outputs});
  for (std::size_t i = 0; i < function.inputs.size(); ++i)
    operation.arrays.push_back(
        {.buffer = function.inputs[i], .name = "input " + std::to_string(i), .needed = function.options.reads_inputs});
  check_arrays(operation.name, operation.arrays, where);
  operation.differentiable_backward = function.options.differentiable_backward;
  operation.backward = [outputs, arrays = operation.arrays,
                        backward = function.backward](std::span<const AnyBuffer> values) {
    FunctionGradients of;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      (i < outputs ? of.outputs : of.inputs).push_back(gradient_of(arrays[i].buffer));
      (i < outputs ? of.output_values : of.input_values).push_back(values[i]);
    }
    backward(of);
  };
  std::set<const Storage *> written;
  for (const AnyBuffer &output : function.outputs) written.insert(output.storage().get());
  append(operation, where, [&](bool) {
    run_watched(operation.name, written, where, function.forward);
    for (const AnyBuffer &output : function.outputs) output.mark_written();
  });
}

void Tape::run_backward(const Entry &entry) const {
  const jit::Operation &operation = entry.given->operation;
  if (jit::TapeAccess::recording() && !operation.differentiable_backward)
    throw UserError(entry.where, "the gradient of '" + operation.name +
                                     "' is recorded by another tape, but its backward may compute on the host, which "
                                     "that tape would not see; if it only launches kernels and copies arrays, set "
                                     "FunctionOptions::differentiable_backward");
  std::vector<AnyBuffer> values;
  std::set<const Storage *> written;
  for (const jit::OwnedArgument &argument : entry.arguments) {
    values.push_back(argument.values.valid() ? argument.values : argument.buffer);
    if (const Storage *gradient = argument.buffer.storage()->gradient_pointer()) written.insert(gradient);
  }
  if (jit::GraphCapture *capture = jit::GraphCapture::current(); capture && capture->stream().cuda() == nullptr) {
    std::vector<AnyBuffer> gradients;
    for (std::size_t i = 0; i < entry.arguments.size(); ++i)
      if (const AnyBuffer &buffer = entry.arguments[i].buffer; buffer.tracks_gradient() && !entry.writes(i))
        gradients.push_back(buffer.gradient());
    return capture->add_call("backward of " + operation.name, gradients,
                             [backward = operation.backward, values, gradients] {
                               backward(values);
                               for (const AnyBuffer &gradient : gradients) gradient.mark_written();
                             });
  }
  run_watched("backward of " + operation.name, written, entry.where, [&] { operation.backward(values); });
  for (std::size_t i = 0; i < entry.arguments.size(); ++i) {
    const AnyBuffer &buffer = entry.arguments[i].buffer;
    if (entry.writes(i) || !buffer.tracks_gradient()) continue;
    // Its launches mark the arrays that they write; a library may have written to the address. Another tape saw only
    // the launches.
    if (!jit::TapeAccess::recording()) buffer.gradient().mark_written();
    if (options_.check_finite && !is_finite(buffer.gradient()))
      throw UserError(entry.where, "backward: the gradient of " + operation.arrays[i].name + ", " + described(buffer) +
                                       ", is infinite or NaN after the backward of '" + operation.name + "'");
  }
}

void run_on_tape(const TapeFunction &function, SourceLocation where) {
  if (!function.forward || !function.backward)
    throw UserError(where, "'" + function.options.name + "' on a tape needs both a forward and a backward function");
  if (jit::TangentLaunches::current())
    throw UserError(where, "'" + function.options.name +
                               "' brings a gradient and no tangent, which a Hessian-vector product needs");
  Tape *tape = jit::TapeAccess::recording();
  if (!tape || jit::GraphCapture::current()) return function.forward();
  jit::TapeAccess::append(*tape, function, where);
}

void Tape::record_function(const std::vector<AnyBuffer> &outputs, const std::vector<AnyBuffer> &inputs,
                           const std::function<void()> &forward,
                           const std::function<void(const FunctionGradients &)> &backward,
                           const FunctionOptions &options, SourceLocation where) {
  const TapeFunction function{outputs, inputs, forward, backward, options};
  if (outputs.empty())
    throw UserError(where, "'" + options.name + "' on a tape has no outputs: declare the arrays that it writes");
  const Tape *recording = jit::TapeAccess::recording();
  if (recording && recording != this)
    throw UserError(where, "this thread records another tape, which would not see '" + options.name +
                               "'; call that tape's record_function");
  if (recording) return run_on_tape(function, where);
  record([&] { run_on_tape(function, where); }, where);
}

}  // namespace samite
