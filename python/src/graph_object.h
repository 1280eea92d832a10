// A graph as Python captures and replays it (jit/graph.h).
//
// It keeps the arrays of the captured launches and of the launches that replace them.
#pragma once

#include "launch_object.h"
#include "samite/jit/graph.h"

#include <map>

namespace samite::python {

class GraphObject final : public Recorder {
 public:
  // Calls `work` once and captures its launches without running them. `device` is one of samite.devices(); on CUDA, a
  // new stream is used if `stream` is None.
  GraphObject(const nb::object &self, const nb::object &work, const std::string &device, const nb::object &stream);

  void call(const Signature &signature, Bound bound, const std::vector<PyObject *> &given) override;
  void call(LaunchObject &launch) override;
  // Keeps the array of a condition. UserError outside a capture.
  static AnyBuffer condition(const nb::object &array, const char *what);

  void launch(const nb::object &stream);
  void set(std::size_t number, LaunchObject &launch);
  void enable(std::size_t number, bool enabled);
  std::size_t size() const { return graph_->size(); }
  std::string device() const { return graph_->device().to_string(); }
  std::string to_string() const { return graph_->to_string(); }

 private:
  // The current stream of the arrays' library, which orders the graph with other uses of them. Null on the CPU.
  std::optional<Stream> current_stream() const;

  std::vector<LaunchObject::Held> held_;
  std::map<std::size_t, LaunchObject::Held> edited_;  // by the launch's number
  std::optional<Graph> graph_;                        // set once captured
};

void define_graph(nb::module_ &module);

}  // namespace samite::python
