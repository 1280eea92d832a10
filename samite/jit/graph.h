// Work that is put down once and replayed by one call.
//
//   Graph step = capture(stream, [&] {
//     forward.launch();
//     adjoint.launch();
//     update.launch();
//   });
//   for (int i = 0; i < 1000; ++i) step.launch();
//   step.set(2, update_with_another_rate);        // edits one launch, in place
//
// A part of it may depend on a value that a kernel has written, without the host looking at it:
//
//   Graph solve = capture(stream, [&] {
//     begin.launch();                             // sets going(0) to 1
//     capture_while(going, [&] {                  // again and again, as long as going(0) is not 0
//       sweep.launch();
//       test.launch();                            // sets going(0) to whether the error is still too large
//     });
//   });
//
// A graph holds the launches that are made while it is captured, and what the host does with buffers of its device:
// fill, copy_from, set, clone, zero_gradient and the seeds of Tape::backward. All of it is replayed in that order, on
// the CPU and on CUDA alike. Values that the host gives are those of the capture; a buffer that is made in a capture is
// allocated there, once. A graph that is launched in the capture of another becomes a part of it, as it is then. On
// CUDA the graph also holds what other libraries put into the stream; one that has conditions as well cannot become a
// part of another.
//
// What waits for the stream cannot be captured, nor what reads a buffer that the graph writes, nor copies from or to
// another device or pinned memory: UserError, or DeviceError with the driver's words.
//
// A graph keeps the buffers that it uses alive. It cannot be put on a tape, which keeps values between launches;
// adjoint launches may well be in it. One thread uses a graph at a time.
#pragma once

#include "samite/jit/launch.h"

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

namespace samite {

class Graph {
 public:
  // How many launches it has, which are numbered from 0 in the order in which they were captured, those that depend on
  // a condition included. What the host does with buffers has no number, and nor have the launches of a graph in it.
  std::size_t size() const;
  Device device() const { return stream_.device(); }

  // Runs all of it. Another stream, of the same device, is then in order with the one that it was captured from, too.
  void launch(SourceLocation where = std::source_location::current());
  void launch(const Stream &stream, SourceLocation where = std::source_location::current());

  // From the next time on, `launch` takes the place of launch `number`: the same kernel and direction on the captured
  // stream, with other arguments or extents. UserError where it is none of that; the graph is then unchanged.
  void set(std::size_t number, const Launch &launch, SourceLocation where = std::source_location::current());
  // Whether launch `number` is run.
  void enable(std::size_t number, bool enabled, SourceLocation where = std::source_location::current());

  // "Graph of 3 launches on cuda:0", and a line for each and for each operation of the host, in order; what depends on
  // a condition is indented below it.
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

// Runs `work`, whose launches on `stream` are put down and not run. What `work` throws goes on, and nothing is left.
// UserError where this thread captures already, where a launch is on another stream, and for what cannot be captured;
// DeviceError with the driver's words where the driver refuses it.
Graph capture(const Stream &stream, const std::function<void()> &work,
              SourceLocation where = std::source_location::current());

// Inside of a capture: what `body` launches is run once where the condition is not 0 when the graph gets there, or
// again and again as long as it is not 0, asked anew after each time. They may be nested.
//
// `condition` is a buffer of one element, of bool or an integer type, on the device of the capture. On CUDA this needs
// a driver for CUDA 12.3, and a body holds kernels, fills, copies within the device, and further conditions; whatever
// joined the capture from other streams must have been waited for before.
//
// UserError outside of a capture, and for any other condition; DeviceError for an older driver.
void capture_if(const AnyBuffer &condition, const std::function<void()> &body,
                SourceLocation where = std::source_location::current());
void capture_while(const AnyBuffer &condition, const std::function<void()> &body,
                   SourceLocation where = std::source_location::current());

}  // namespace samite
