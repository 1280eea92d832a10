// Work on a stream, made into a graph instead of being run.
#pragma once

#include "samite/driver/graph.h"

#include <functional>
#include <optional>
#include <vector>

namespace samite::driver {

// A capture that has begun, until end(). One that is let go before is dropped, with what it has captured.
class Capture {
 public:
  // Into a graph of its own. DriverError where the stream cannot be captured.
  explicit Capture(const Stream &stream);
  // Into `graph`, such as the body of a conditional node, after `after`. Needs a driver for CUDA 12.3: DeviceError.
  Capture(const Stream &stream, const Graph &graph, std::span<const GraphNode> after);
  Capture(const Capture &) = delete;
  Capture &operator=(const Capture &) = delete;
  ~Capture();

  // Puts a copy of `child`, as it is now, into the stream. The driver refuses one that has conditional nodes.
  void add(const Graph &child);

  struct Captured {
    Graph graph;
    std::vector<GraphNode> last;  // what the stream's next work would have waited for
  };
  // DriverError where something could not be captured, or a stream that joined was not waited for.
  Captured end();

 private:
  void begin();
  void drop() noexcept;
  void keep_in(const Graph &graph);
  Result end_in_driver(CUgraph &raw) noexcept;

  Stream stream_;
  std::optional<Graph> into_;                          // that the caller has
  std::vector<std::shared_ptr<const void>> children_;  // what their kernels need
  std::uint64_t id_ = 0;
  bool ended_ = false;
};

// Runs `work`, and returns a graph of what it puts into `stream`, and into streams that wait for an event of it. None
// of that work runs. The graph keeps alive the kernels that were launched through Samite; memory stays the caller's.
//
// What cannot be captured, such as waiting for the stream, fails with the driver's error, and the capture with it.
// Where `work` throws, the capture ends and its exception goes on. DriverError where the stream cannot be captured (the
// legacy default stream cannot), or a stream that joined was not waited for in the end.
//
// Calls of other threads are not touched: the capture is of this thread.
Graph capture(const Stream &stream, const std::function<void()> &work);

// The same, added to `graph` after `after`. Needs a driver for CUDA 12.3.
void capture_into(Graph &graph, const Stream &stream, const std::function<void()> &work,
                  std::span<const GraphNode> after = {});

// A thread that captures a stream may not allocate: the driver would fail the call, and the capture with it. While this
// lives the thread says that it knows: what it does then has nothing to do with the captured stream.
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

// The nodes that the next work of `stream` would wait for, as long as the capture's graph lives. None where the stream
// captures nothing.
std::vector<GraphNode> last_nodes(const Stream &stream);

// The same where it is one, a kernel or any other work.
std::optional<GraphNode> last_captured(const Stream &stream);

}  // namespace samite::driver
