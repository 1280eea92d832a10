#include "graph_object.h"

#include "description.h"
#include "streams.h"
#include "unlocked.h"

#include <nanobind/stl/string.h>

namespace samite::python {
namespace {

Stream stream_to_capture(const Device &device, const nb::object &stream) {
  if (device.kind() == DeviceKind::cpu) {
    if (!stream.is_none())
      throw UserError("Graph(): stream is for a graph on CUDA: name its device too, as device='cuda:0'");
    return Stream::standard(device);
  }
  return stream.is_none() ? Stream(device) : stream_of(device, stream.ptr());
}

// Makes this thread's calls that name no stream use the captured one, whatever their library's current stream is.
struct InStream {
  explicit InStream(const Stream &stream) { set_stream_of_thread(stream); }
  InStream(const InStream &) = delete;
  InStream &operator=(const InStream &) = delete;
  ~InStream() { set_stream_of_thread({}); }
};

void call_without_arguments(const nb::object &work) { nb::steal(checked(PyObject_CallObject(work.ptr(), nullptr))); }

}  // namespace

GraphObject::GraphObject(const nb::object &self, const nb::object &work, const std::string &device,
                         const nb::object &stream) {
  const Stream captured = stream_to_capture(device_named(device, "Graph"), stream);
  begin(*this, self, "the capture of a graph");
  struct End {
    ~End() { end(); }
  } const ends;
  const InStream in_stream(captured);
  graph_ = capture(captured, [&] { call_without_arguments(work); }, python_line());
}

void GraphObject::call(const Signature &signature, Bound bound, const std::vector<PyObject *> &given) {
  signature.check(bound, given);
  const SourceLocation where = python_line();
  LaunchObject launch(signature, std::move(bound), given);
  launch.run(where);
  held_.push_back(launch.held());
}

void GraphObject::call(LaunchObject &launch) {
  launch.run(python_line());
  held_.push_back(launch.held());
}

AnyBuffer GraphObject::condition(const nb::object &array, const char *what) {
  auto *graph = dynamic_cast<GraphObject *>(current());
  if (!graph)
    throw UserError(std::string(what) + "() is called while a graph is captured, in the work of samite.Graph()");
  PyObject *given = array.ptr();
  std::optional<Stream> stream;
  if (cuda_device_of(given)) stream = stream_for(nullptr, std::span(&given, 1));
  ArrayView view = view_of(given, std::string(what) + "(): the condition", stream);
  AnyBuffer buffer = borrowed(view.key, stream);
  graph->held_.push_back({{array}, {std::make_shared<Loan>(std::move(view.loan))}});
  return buffer;
}

std::optional<Stream> GraphObject::current_stream() const {
  for (const LaunchObject::Held &held : held_)
    for (const nb::object &object : held.objects) {
      PyObject *array = object.ptr();
      if (array && cuda_device_of(array)) return stream_for(nullptr, std::span(&array, 1));
    }
  return {};
}

void GraphObject::launch(const nb::object &stream) {
  if (Recorder *recorder = Recorder::current()) {
    auto *outer = dynamic_cast<GraphObject *>(recorder);
    if (!outer)
      throw UserError("a graph cannot be launched while a tape records: it keeps no values between its launches");
    outer->held_.insert(outer->held_.end(), held_.begin(), held_.end());
    for (const auto &[number, held] : edited_) outer->held_.push_back(held);
  }
  const SourceLocation where = python_line();
  const std::optional<Stream> other =
      stream.is_none() ? current_stream() : std::optional(stream_of(graph_->device(), stream.ptr()));
  const Unlocked unlocked;
  if (other)
    graph_->launch(*other, where);
  else
    graph_->launch(where);
}

void GraphObject::set(std::size_t number, LaunchObject &launch) {
  const SourceLocation where = python_line();
  const Launch &recorded = launch.of_kernel();
  {
    const Unlocked unlocked;
    graph_->set(number, recorded, where);
  }
  edited_.insert_or_assign(number, launch.held());
}

void GraphObject::enable(std::size_t number, bool enabled) {
  const Unlocked unlocked;
  graph_->enable(number, enabled, SourceLocation());
}

void define_graph(nb::module_ &module) {
  nb::class_<GraphObject>(
      module, "Graph",
      "Launches that are captured once and replayed by one call:\n\n"
      "    step = samite.Graph(lambda: (forward(y, x, extents=n), update(x, y, rate=0.1)))\n"
      "    for _ in range(1000): step()\n\n"
      "The graph calls `work` once, without arguments, and captures its kernel calls without running them. It keeps\n"
      "their arrays. It replays only kernels: values that Python computes in `work` stay as they were at the capture.")
      .def(
          "__init__",
          [](nb::pointer_and_handle<GraphObject> self, const nb::object &work, const std::string &device,
             const nb::object &stream) {
            at_python_line([&] { new (self.p) GraphObject(nb::borrow(self.h), work, device, stream); });
          },
          nb::arg("work"), nb::kw_only(), nb::arg("device") = "cpu", nb::arg("stream") = nb::none())
      .def(
          "__call__", [](GraphObject &self, const nb::object &stream) { at_python_line([&] { self.launch(stream); }); },
          nb::kw_only(), nb::arg("stream") = nb::none(),
          "Runs the graph; on CUDA in this stream, or by default in the current stream of its arrays' library.")
      .def(
          "set",
          [](GraphObject &self, std::size_t number, LaunchObject &launch) {
            at_python_line([&] { self.set(number, launch); });
          },
          nb::arg("number"), nb::arg("launch"),
          "Replaces the launch of that number with a recorded launch of the same kernel with other arguments.")
      .def(
          "enable",
          [](GraphObject &self, std::size_t number, bool enabled) {
            at_python_line([&] { self.enable(number, enabled); });
          },
          nb::arg("number"), nb::arg("enabled"), "Sets whether the launch of that number runs.")
      .def_prop_ro("device", &GraphObject::device)
      .def("__len__", &GraphObject::size)
      .def("__str__", &GraphObject::to_string)
      .def("__repr__", [](const GraphObject &self) {
        const std::string text = self.to_string();
        return "<samite." + text.substr(0, text.find('\n')) + ">";
      });
  module.def(
      "capture_if",
      [](const nb::object &condition, const nb::object &body) {
        at_python_line([&] {
          const AnyBuffer buffer = GraphObject::condition(condition, "samite.capture_if");
          capture_if(buffer, [&] { call_without_arguments(body); }, python_line());
        });
      },
      nb::arg("condition"), nb::arg("body"),
      "While a graph is captured: the launches of `body` run if the condition, an array of one integer or bool, is "
      "not 0.");
  module.def(
      "capture_while",
      [](const nb::object &condition, const nb::object &body) {
        at_python_line([&] {
          const AnyBuffer buffer = GraphObject::condition(condition, "samite.capture_while");
          capture_while(buffer, [&] { call_without_arguments(body); }, python_line());
        });
      },
      nb::arg("condition"), nb::arg("body"), "Like capture_if(), but repeats the launches while it is not 0.");
}

}  // namespace samite::python
