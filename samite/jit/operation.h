// An operation that brings its own adjoint, for tapes: any number of launches that together compute arrays from others.
//
//   perform({.name = "softmax", .arrays = {{x, "x"}, {.buffer = y, .name = "y", .written = true, .needed = true}},
//            .adjoint = …}, [&] { … launches … }, where);
//
// A tape records it as one entry and runs the given adjoint, not the derived adjoints of its launches. The derived ones
// are used if the given one would not hold: if arrays share elements with each other, if one is broadcast, or if the
// tape looks for gradients that are not finite.
#pragma once

#include "samite/jit/launch.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace samite::jit {

// One launch of such an adjoint: a kernel in its forward direction.
struct AdjointLaunch {
  std::shared_ptr<KernelDefinition> kernel;
  Extents extents;
  std::vector<OwnedArgument> arguments;
};

struct Operation {
  struct Array {
    AnyBuffer buffer;
    std::string name;
    bool written = false;  // all elements are overwritten; otherwise the array is only read
    bool needed = false;   // the adjoint reads its values: those before the operation, or the results in it
  };

  std::string name;
  std::vector<Array> arrays;
  std::optional<Stream> stream = {};  // of the adjoint's launches
  // The launches of the adjoint, in order, made at the first backward(). They read the gradients of written arrays,
  // which the tape then sets to zero, and add to the gradients of arrays that are read; an array that tracks no
  // gradient has none. `values` are the arrays, in order; needed ones may be copies that the tape has kept.
  std::function<std::vector<AdjointLaunch>(std::span<const AnyBuffer> values)> adjoint = {};
  // Instead of `adjoint`: a function of the host that does the same at each backward() (jit/tape_function.h).
  std::function<void(std::span<const AnyBuffer> values)> backward = {};
  bool differentiable_backward = false;  // another tape may record `backward`
};

// Calls `run`, which launches; its argument says whether its launches are to have derived adjoints. UserError and
// DeviceError as for a launch.
void perform(const Operation &operation, const std::function<void(bool derived)> &run, SourceLocation where);

}  // namespace samite::jit
