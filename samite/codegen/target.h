// What the emitter must know of a target. One emitter serves all targets: it walks a lowered kernel, and asks the
// target where they differ.
//
// On a target with explicit lanes (the CPU) the instances of a thread loop are the lanes of vectors. Values that differ
// between lanes are vectors, and where lanes go different ways there are masks. On any other target (CUDA) a thread
// runs each instance, every value is a scalar, and control flow is native; uniformity does not matter there.
#pragma once

#include "samite/codegen/source_writer.h"
#include "samite/ir/kernel.h"

#include <functional>

namespace samite::codegen {

// A loop over independent instances: the innermost one, or, without explicit lanes, any loop over a dimension of the
// launch.
struct ThreadLoop {
  std::string index, type;     // the index's name and scalar type
  std::string begin, end;      // expressions
  std::string mask;            // with explicit lanes: what the body calls the lanes that are inside the loop's bounds
  int number = 0;              // distinguishes the kernel's thread loops
  std::size_t statements = 0;  // in the body
  // With explicit lanes: so many vectors of instances at a time. The body calls their lanes by the mask's name, with
  // _0, _1 and so on after it.
  int jam = 1;
  bool repeated =
      false;  // with explicit lanes: the loop is over a strip, and has fewer iterations than its type counts
  int dimension = 0, launch_rank = 1;  // without explicit lanes: which dimension of the launch, of how many
  int march = 1;                       // without: a thread runs so many of its iterations one after another
  std::int64_t step = 1;               // and how many neighbours a thread runs at a time, of which `index` is the first
};

class Target {
 public:
  virtual ~Target() = default;

  virtual bool explicit_lanes() const = 0;

  // Write what comes before and after the body of the kernel: the signature of the entry, and its arguments as locals.
  // In the body `p3.data`, `p3.extent[1]`, `p3.stride[0]` belong to an array parameter, `p4` is a scalar parameter,
  // `begin` and `end` are the box of the launch, `failure` is where failures are written down, and `workspace` is
  // memory for local arrays.
  virtual void open_kernel(SourceWriter &out, const ir::Kernel &kernel, const std::string &entry) const = 0;
  virtual void close_kernel(SourceWriter &out) const = 0;

  // Writes a thread loop around what `body` writes. Without explicit lanes it writes the loops around that, too.
  virtual void thread_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const = 0;
};

// Defines the struct `Arguments`, which lies in memory as codegen/argument_layout.h says, on every target.
void define_arguments(SourceWriter &out, const ir::Kernel &kernel);

}  // namespace samite::codegen
