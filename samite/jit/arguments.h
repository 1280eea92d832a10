// The arguments of a launch: checked against the kernel's parameters, and laid out for its code.
#pragma once

#include "samite/jit/definition.h"
#include "samite/runtime/any_buffer.h"

#include <span>

namespace samite::jit {

// One argument as the caller gave it: a buffer, or the bits of a scalar of the parameter's type.
struct Argument {
  const AnyBuffer *buffer = nullptr;
  std::uint64_t scalar = 0;
  // Where the elements are read, if not in `buffer`: a copy from before they were overwritten. Its gradient is the
  // buffer's all the same.
  const AnyBuffer *values = nullptr;

  const AnyBuffer &elements() const { return values ? *values : *buffer; }
};

// What arguments are given to: what messages call it, and what is known of its parameters. A view, of a kernel or a
// pipeline.
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

// What messages call a parameter: "argument 1 ('now')".
std::string describe(const std::vector<ir::Parameter> &parameters, std::size_t index);

// Throws UserError, with the callee's name, the argument, what is expected and what is given, where
//   - `extents` has not the kernel's launch rank, or an extent beyond what the kernel's index type counts;
//   - a buffer is empty, of another type or rank than its parameter, or on another device than the rest;
//   - an extent is beyond 2147483647 where the kernel indexes with Int, or asks for the extent;
//   - the kernel writes to a broadcast view, or to borrowed memory that is read-only;
//   - an array that the kernel has declared distinct shares memory with another one;
//   - an array that is written shares elements with another one, where KernelDefinition::expect_apart says so;
//   - tangent: no argument tracks a gradient;
//   - adjoint: no argument tracks a gradient, or an array whose values the adjoint reads shares memory with another
//     that the kernel writes, or has been overwritten by the forward launch itself, without a copy from before.
void check_extents(const KernelDefinition &definition, const Extents &extents);
void check_buffer(const Callee &callee, std::size_t index, const AnyBuffer &buffer);
void check_devices(const Callee &callee, std::span<const Argument> arguments);
void check_distinct(const Callee &callee, std::span<const Argument> arguments);
// The callee's written arrays against all others: `elsewhere` as KernelDefinition::expect_apart has it.
void check_apart(const Callee &callee, std::span<const Argument> arguments, std::uint64_t elsewhere);
// Of a kernel's launch: all that is said of buffers above.
void check_arguments(const KernelDefinition &definition, std::span<const Argument> arguments);
// Returns the adjoint, derived for the key's active parameters.
const KernelDefinition::Derived &checked_adjoint(KernelDefinition &definition, const VariantKey &key,
                                                 std::span<const Argument> arguments);
void check_tangent(const KernelDefinition &definition, const VariantKey &key);

// Writes the arguments where `variant.layout` puts them; `block` has layout.bytes bytes.
void fill_argument(const Variant &variant, std::size_t index, const Argument &argument, std::byte *block);
void fill_arguments(const Variant &variant, std::span<const Argument> arguments, std::byte *block);

// The device that the launch runs on: that of the buffers, else of the stream, else the CPU.
Device device_of(std::span<const Argument> arguments, const LaunchOptions &options);
// Memory of the first buffer, which knows its device: a look-up by number would take longer. Null where no buffer is on
// CUDA.
const CudaMemory *cuda_memory_of(std::span<const Argument> arguments);
// The stream that it runs in: that of the options, else the device's standard one.
Stream stream_of(std::span<const Argument> arguments, const LaunchOptions &options);

}  // namespace samite::jit
