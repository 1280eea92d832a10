// The arguments of a launch: checked against the kernel's parameters, and laid out for its code.
#pragma once

#include "samite/jit/argument.h"
#include "samite/jit/definition.h"

#include <span>

namespace samite::jit {

// The target of arguments: its name in messages, and its parameters. A view of a kernel or a pipeline.
struct Callee {
  Callee(const KernelDefinition &definition)
      : Callee("kernel", definition.name(), definition.parameters(), definition.written(), definition.where()) {}
  Callee(const char *kind, const std::string &name, const std::vector<ir::Parameter> &parameters, std::uint64_t written,
         SourceLocation where)
      : kind(kind), name(name), parameters(parameters), written(written), where(where) {}

  const char *kind;  // "kernel"
  const std::string &name;
  const std::vector<ir::Parameter> &parameters;
  std::uint64_t written;  // arrays, as bits
  SourceLocation where;
};

// A parameter's name in messages: "argument 1 ('now')".
std::string describe(const std::vector<ir::Parameter> &parameters, std::size_t index);

//   Throws UserError, with the callee's name, the argument, what is expected and what is given, if
//     - the rank of `extents` differs from the kernel's launch rank, or an extent overflows the kernel's index type;
//     - a buffer is empty, of another type or rank than its parameter, or on another device than the rest;
//     - an extent is beyond 2147483647 and the kernel indexes with Int, or reads the extent;
//     - the kernel writes to a broadcast view, or to borrowed memory that is read-only;
//     - an array that the kernel declares distinct shares memory with another one;
//     - a written array shares elements with another one, and KernelDefinition::expect_apart forbids it;
//     - tangent: no argument tracks a gradient;
//     - adjoint: no argument tracks a gradient, or an array whose values the adjoint reads shares memory with another
//       that the kernel writes, or has been overwritten by the forward launch itself, without a copy from before.
void check_extents(const KernelDefinition &definition, const Extents &extents);
void check_buffer(const Callee &callee, std::size_t index, const AnyBuffer &buffer);
void check_devices(const Callee &callee, std::span<const Argument> arguments);
void check_distinct(const Callee &callee, std::span<const Argument> arguments);
// Compares the callee's written arrays with all others: `elsewhere` as in KernelDefinition::expect_apart.
void check_apart(const Callee &callee, std::span<const Argument> arguments, std::uint64_t elsewhere);
// For a kernel's launch: all checks of buffers above.
void check_arguments(const KernelDefinition &definition, std::span<const Argument> arguments);
// Returns the adjoint, derived for the key's active parameters.
const KernelDefinition::Derived &checked_adjoint(KernelDefinition &definition, const VariantKey &key,
                                                 std::span<const Argument> arguments);
void check_tangent(const KernelDefinition &definition, const VariantKey &key);

// Writes the arguments at the offsets of `variant.layout`; `block` has layout.bytes bytes.
void fill_argument(const Variant &variant, std::size_t index, const Argument &argument, std::byte *block);
void fill_arguments(const Variant &variant, std::span<const Argument> arguments, std::byte *block);

// The device of the launch: the buffers' device, else the stream's, else the CPU.
Device device_of(std::span<const Argument> arguments, const LaunchOptions &options);
// Memory of the first buffer, which knows its device: a look-up by number would take longer. Null if no buffer is on
// CUDA.
const CudaMemory *cuda_memory_of(std::span<const Argument> arguments);
// The stream of the launch: the one in the options, else the device's standard stream.
Stream stream_of(std::span<const Argument> arguments, const LaunchOptions &options);

}  // namespace samite::jit
