// What the emitter must know of a target. One emitter serves all: it walks a lowered kernel, and where targets differ
// it asks.
//
// On a target with explicit lanes (the CPU) the instances of a thread loop are the lanes of vectors: values that
// differ between them are vectors, and where they take different ways there are masks. On any other (CUDA) every
// instance is a thread of its own, every value a scalar, and control flow is native; uniformity does not matter there.
#pragma once

#include "samite/codegen/source_writer.h"
#include "samite/ir/kernel.h"

#include <functional>

namespace samite::codegen {

// A loop over independent instances: innermost, or without explicit lanes any loop over a dimension of the launch.
struct ThreadLoop {
  std::string index, type;     // the index's name and scalar type
  std::string begin, end;      // expressions
  std::string mask;            // with explicit lanes: what the body calls the lanes that are inside the loop's bounds
  int number = 0;              // distinguishes the kernel's thread loops
  std::size_t statements = 0;  // in the body
  int dimension = 0, launch_rank = 1;  // without explicit lanes: which dimension of the launch, of how many
  // Where a thread takes several neighbours at a time: how many, and what writes their body, of which `index` is the
  // first.
  int instances = 1;
  std::function<void()> several = {};
};

class Target {
 public:
  virtual ~Target() = default;

  virtual bool explicit_lanes() const = 0;

  // What comes before and after the body of the kernel: the entry's signature, and its arguments as locals. In
  // between, `p3.data`, `p3.extent[1]`, `p3.stride[0]` are an array parameter's, `p4` is a scalar parameter, `begin`
  // and `end` are the box of the launch, `failure` is where failures are written down, and `workspace` is memory for
  // local arrays.
  virtual void open_kernel(SourceWriter &out, const ir::Kernel &kernel, const std::string &entry) const = 0;
  virtual void close_kernel(SourceWriter &out) const = 0;

  // A thread loop around what `body` writes. Without explicit lanes the loops around it are asked for in the same way.
  virtual void thread_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const = 0;
};

// Defines the struct `Arguments`, which lies in memory as codegen/argument_layout.h says, on every target.
void define_arguments(SourceWriter &out, const ir::Kernel &kernel);

}  // namespace samite::codegen
