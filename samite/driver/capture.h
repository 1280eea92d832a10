// Captures work on a stream as a graph instead of running it.
#pragma once

#include "samite/driver/graph.h"

#include <functional>
#include <optional>
#include <vector>

namespace samite::driver {

// A running capture, until end(). If it is destroyed before, the captured work is dropped.
class Capture {
 public:
  // Captures into a new graph. DriverError if the stream cannot be captured.
  explicit Capture(const Stream &stream);
  // Captures into `graph`, such as the body of a conditional node, after `after`. Needs a driver for CUDA 12.3:
  // DeviceError.
  Capture(const Stream &stream, const Graph &graph, std::span<const GraphNode> after);
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;
  ~Capture();

  // Puts a copy of `child`, in its current state, into the stream. The driver refuses one that has conditional nodes.
  void add(const Graph &child);

  struct Captured {
    Graph graph;
    std::vector<GraphNode> last;  // the nodes for which the stream's next work would have waited
  };
  // DriverError if something could not be captured, or a stream that joined was not waited for.
  Captured end();

 private:
  void begin();
  void drop() noexcept;
  void keep_in(const Graph &graph);
  Result end_in_driver(CUgraph &raw) noexcept;

  Stream stream_;
  std::optional<Graph> into_;                          // given by the caller
  std::vector<std::shared_ptr<const void>> children_;  // objects that their kernels need
  std::uint64_t id_ = 0;
  bool ended_ = false;
};

// Runs `work`, and returns a graph of the work that it enqueues on `stream`, and on streams that wait for an event of
// it. No work is run. The graph keeps alive the kernels that were launched through Samite; memory remains the caller's
// responsibility.
//
// Operations that cannot be captured, such as waiting for the stream, fail with the driver's error and end the capture.
// If `work` throws, the capture ends and the exception propagates. DriverError if the stream cannot be captured (the
// legacy default stream cannot), or if a stream that joined was not waited for in the end.
//
// The capture is local to this thread: calls of other threads are not affected.
Graph capture(const Stream &stream, const std::function<void()> &work);

// The same, added to `graph` after `after`. Needs a driver for CUDA 12.3.
void capture_into(Graph &graph, const Stream &stream, const std::function<void()> &work,
                  std::span<const GraphNode> after = {});

// A thread that captures a stream may not allocate: the driver would fail the call, and the capture with it. While this
// object lives, the thread declares that its calls have nothing to do with the captured stream.
class AllowedInCaptures {
 public:
  explicit AllowedInCaptures(const Context &context);
  AllowedInCaptures(const AllowedInCaptures &) = delete;
  AllowedInCaptures &operator=(const AllowedInCaptures &) = delete;
  ~AllowedInCaptures();

 private:
  Context context_;
  CaptureMode mode_ = CaptureMode::relaxed;
};

// The nodes that the next work of `stream` would wait for, valid as long as the capture's graph lives. None if the
// stream captures nothing.
std::vector<GraphNode> last_nodes(const Stream &stream);

// The node that `stream` has captured last, a kernel or other work, valid as long as the capture's graph lives. None if
// the stream captures nothing, or if its next work would wait for no node or for several.
std::optional<GraphNode> last_captured(const Stream &stream);

}  // namespace samite::driver
