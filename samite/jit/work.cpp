#include "samite/jit/work.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/jit/arguments.h"
#include "samite/jit/definition.h"

#include <random>

namespace samite::jit {

Contents::Contents(const std::vector<Buffer<double>> &arrays) : arrays_(arrays) {
  for (const Buffer<double> &array : arrays_) values_.push_back(array.to_vector());
}

void Contents::restore() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) arrays_[i].copy_from(values_[i]);
}

namespace {

DifferentiableArguments find_differentiable(const KernelDefinition &definition, std::span<const Argument> arguments) {
  DifferentiableArguments found;
  std::uint64_t read = 0;
  ir::for_each_statement(definition.forward().body, [&](const ir::Stmt &stmt) {
    if (auto array = ir::array_read(stmt)) read |= std::uint64_t{1} << *array;
  });
  bool some_read = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const AnyBuffer *buffer = arguments[i].buffer;
    if (!buffer || !buffer->tracks_gradient()) continue;
    if (buffer->type() != ScalarType::Float64)
      throw UserError(definition.where(), "kernel '" + definition.name() +
                                              "': " + describe(definition.parameters(), i) +
                                              " expects a buffer of f64, for differences of fewer digits say little; " +
                                              buffer->to_string() + " is given");
    found.inputs.emplace_back(*buffer);
    found.names.push_back(definition.parameters()[i].name);
    if (definition.written() >> i & 1) found.outputs.emplace_back(*buffer);
    some_read = some_read || (read >> i & 1) != 0;
  }
  if (!some_read)
    throw UserError(definition.where(),
                    "kernel '" + definition.name() +
                        "': none of the arrays that it reads tracks a gradient, so there is nothing "
                        "to differentiate; construct them with Gradient::tracked");
  return found;
}

}  // namespace

DifferentiableArguments differentiable_arguments(const KernelDefinition &definition,
                                                 std::span<const Argument> arguments, SourceLocation where) {
  return at_call("checked", where, [&] { return find_differentiable(definition, arguments); });
}

void require_tracked(const char *tool, const std::vector<Buffer<double>> &arrays, const char *what) {
  if (arrays.empty())
    throw UserError(std::string(tool) + ": at least one " + what +
                    " that tracks gradients is expected, and none is given; construct it with Gradient::tracked");
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (!arrays[i].valid() || !arrays[i].tracks_gradient())
      throw UserError(std::string(tool) + ": " + what + " " + std::to_string(i) +
                      " tracks no gradient; construct it with Gradient::tracked");
}

std::vector<std::vector<double>> gradients(FunctionRef<void()> work, std::vector<Buffer<double>> &inputs,
                                           std::vector<Buffer<double>> &outputs,
                                           const std::vector<std::vector<double>> &cotangents) {
  for (auto *arrays : {&inputs, &outputs})
    for (Buffer<double> &array : *arrays) array.zero_gradient();
  Tape tape;
  tape.record(work);
  tape.zero_gradients();
  std::vector<Tape::Cotangent> seeds;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    seeds.push_back({outputs[i], Buffer<double>(outputs[i].device(), outputs[i].extents(), cotangents[i])});
  tape.backward(seeds);
  std::vector<std::vector<double>> result;
  for (Buffer<double> &input : inputs) result.push_back(input.gradient().to_vector());
  return result;
}

std::vector<std::vector<double>> random_values(const std::vector<Buffer<double>> &arrays, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<std::vector<double>> values;
  for (const Buffer<double> &array : arrays) {
    values.emplace_back(static_cast<std::size_t>(array.count()));
    for (double &value : values.back()) value = distribution(generator);
  }
  return values;
}

std::vector<std::int64_t> index_of(std::int64_t element, const Extents &extents) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(extents.rank()));
  for (int d = extents.rank() - 1; d >= 0; --d) {
    index[static_cast<std::size_t>(d)] = element % extents[d];
    element /= extents[d];
  }
  return index;
}

}  // namespace samite::jit
