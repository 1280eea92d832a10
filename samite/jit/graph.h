// Work that is captured once and replayed by one call.
//
//   Graph step = capture(stream, [&] {
//     forward.launch();
//     adjoint.launch();
//     update.launch();
//   });
//   for (int i = 0; i < 1000; ++i) step.launch();
//   step.set(2, update_with_another_rate);        // edits one launch, in place
//
// A part of it may depend on a value that a kernel has written, without involving the host:
//
//   Graph solve = capture(stream, [&] {
//     begin.launch();                             // sets going(0) to 1
//     capture_while(going, [&] {                  // repeats while going(0) is not 0
//       sweep.launch();
//       test.launch();                            // sets going(0) to whether the error is still too large
//     });
//   });
//
// A graph holds the launches of its capture, and the host's operations on buffers of its device: fill, copy_from, set,
// clone, zero_gradient and the seeds of Tape::backward. They are replayed in program order, on the CPU and on CUDA
// alike. Host values are those of the capture; a buffer made during a capture is allocated once, then. A graph that is
// launched during the capture of another one becomes a part of it, in its state at that time. On CUDA the graph also
// holds work that other libraries put into the stream; a graph that has conditions as well cannot become a part of
// another.
//
// Operations that wait for the stream, read a buffer that the graph writes, or copy from or to another device or pinned
// memory cannot be captured: UserError, or DeviceError with the driver's message.
//
// A graph keeps its buffers alive. It cannot be recorded on a tape, which keeps values between launches; it may contain
// adjoint launches. One thread uses a graph at a time.
#pragma once

#include "samite/base/function_ref.h"
#include "samite/jit/launch.h"

#include <iosfwd>
#include <memory>
#include <string>

namespace samite {

class Graph {
 public:
  // The number of its launches, which are numbered from 0 in the order of their capture, including conditional ones.
  // Buffer operations of the host have no number, and neither have the launches of a nested graph.
  std::size_t size() const;
  Device device() const { return stream_.device(); }

  // Runs the whole graph. Another stream of the same device is then ordered with the captured one.
  void launch(SourceLocation where = std::source_location::current());
  void launch(const Stream &stream, SourceLocation where = std::source_location::current());

  // From the next launch of the graph on, `launch` replaces launch `number`: the same kernel and direction on the
  // captured stream, with other arguments or extents. UserError otherwise; the graph is then unchanged.
  void set(std::size_t number, const Launch &launch, SourceLocation where = std::source_location::current());
  // Whether launch `number` runs.
  void enable(std::size_t number, bool enabled, SourceLocation where = std::source_location::current());

  // "Graph of 3 launches on cuda:0", and a line for each launch and host operation, in order; conditional parts are
  // indented.
  std::string to_string() const;

  // For the library.
  struct Contents;
  Graph(const Stream &stream, std::shared_ptr<Contents> contents)
      : stream_(stream), contents_(std::move(contents), "Graph") {}

 private:
  const Launch &at(std::size_t number) const;
  void launch_on(const Stream &stream);

  Stream stream_;
  jit::Held<Contents> contents_;  // copies of a graph are one graph
};

std::ostream &operator<<(std::ostream &stream, const Graph &graph);

// Runs `work`, whose launches on `stream` are recorded and not run. Exceptions of `work` propagate, and discard the
// capture. UserError if this thread is already capturing, for a launch on another stream, and for operations that
// cannot be captured; DeviceError with the driver's message if the driver refuses it.
Graph capture(const Stream &stream, FunctionRef<void()> work, SourceLocation where = std::source_location::current());

// During a capture: the launches of `body` run once if the condition is not 0 when the graph reaches them, or repeat
// while it is not 0, tested before each repetition. They may be nested.
//
// `condition` is a buffer of one element, of bool or an integer type, on the device of the capture. On CUDA this needs
// a driver for CUDA 12.3, and a body holds kernels, fills, copies within the device, and further conditions; streams
// that joined the capture must have been waited for before.
//
// UserError outside of a capture, and for any other condition; DeviceError for an older driver.
void capture_if(const AnyBuffer &condition, FunctionRef<void()> body,
                SourceLocation where = std::source_location::current());
void capture_while(const AnyBuffer &condition, FunctionRef<void()> body,
                   SourceLocation where = std::source_location::current());

}  // namespace samite
