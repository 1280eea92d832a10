// The capture of a graph that runs in this thread.
//
// On CUDA the driver captures the stream. A condition's body is a graph of its own there, so where one begins or ends
// the driver's capture ends, too, and another one goes on into the graph that is due.
#pragma once

#include "samite/driver/capture.h"
#include "samite/jit/graph_contents.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace samite::jit {

class GraphCapture {
 public:
  // UserError where this thread captures already.
  explicit GraphCapture(const Stream &stream);
  GraphCapture(const GraphCapture &) = delete;
  GraphCapture &operator=(const GraphCapture &) = delete;
  ~GraphCapture();

  // Null where this thread captures nothing.
  static GraphCapture *current();

  void add(const Launch &launch);
  void add_condition(const AnyBuffer &value, bool repeats, const std::function<void()> &body, SourceLocation where);

  std::shared_ptr<Graph::Contents> finish();

 private:
  void check_condition(const AnyBuffer &value, SourceLocation where) const;
  void capture_body(const Graph::Contents::Condition &condition, const std::function<void()> &body,
                    SourceLocation where);
  driver::Capture::Captured end_part();

  Stream stream_;
  std::shared_ptr<Graph::Contents> contents_;
  Graph::Contents::Block *block_;        // that launches are added to
  std::optional<driver::Capture> part_;  // of CUDA; none after a failure
};

}  // namespace samite::jit
