// The library's access to tapes, which users do not have.
#pragma once

#include "samite/jit/operation.h"
#include "samite/jit/tape.h"

namespace samite::jit {

struct TapeAccess {
  // The tape that this thread records, or null.
  static Tape *recording();
  // Whether the tape runs adjoints that operations bring, rather than examining their launches for gradients that are
  // not finite.
  static bool takes_given_adjoints(const Tape &tape) { return !tape.options_.check_finite; }

  // Records a forward launch, which `run` runs; a host operation, which this runs; an operation with an adjoint of its
  // own, whose launches `run` makes; a function. If one throws, it is not on the tape.
  static void append(Tape &tape, const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                     const LaunchOptions &options, std::span<const Argument> arguments,
                     const std::function<void()> &run);
  static void append(Tape &tape, const HostOperation &operation);
  static void append(Tape &tape, const Operation &operation, SourceLocation where,
                     const std::function<void(bool derived)> &run);
  static void append(Tape &tape, const TapeFunction &function, SourceLocation where);

  // The arrays that track gradients and that the tape read before it wrote to them; its gradients end there.
  static std::vector<AnyBuffer> tracked_inputs(const Tape &tape);
};

}  // namespace samite::jit
