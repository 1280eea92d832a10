// Kernels of archives, for samite/aot.py: lists the kernels of an open archive and launches them. This needs neither
// the kernels' sources nor a compiler.
#pragma once

#include "python_errors.h"
#include "samite/jit/launch.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace samite::python {

// One way to launch a kernel of an archive. Its arguments are the kernel's own, then the gradients of `active` arrays,
// in order, if it is an adjoint.
struct ArchivedKernel {
  struct Parameter {
    std::string name;
    ScalarType type;
    int rank;  // 0: a number
    bool is_written, is_distinct;
  };
  std::string name, direction;
  int launch_rank = 1;
  std::vector<std::size_t> active;
  std::vector<Parameter> parameters;  // including the gradients

  // UserError if no open archive has the kernel, or the arguments do not fit.
  void launch(const Extents &extents, std::span<const jit::OwnedArgument> arguments,
              const std::optional<Stream> &stream) const;
};

void define_archive(nb::module_ &module);

}  // namespace samite::python
