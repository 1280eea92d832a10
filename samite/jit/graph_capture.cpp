#include "samite/jit/graph_capture.h"

#include "samite/base/error.h"
#include "samite/base/thread_mode.h"
#include "samite/driver/launch.h"
#include "samite/ir/visit.h"
#include "samite/jit/cuda_launch.h"
#include "samite/jit/host_operations.h"
#include "samite/jit/launch_access.h"
#include "samite/runtime/captured_operation.h"
#include "samite/runtime/cuda_device.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/pinned_array.h"

#include <bit>
#include <utility>

namespace samite {
namespace jit {
namespace {

thread_local GraphCapture *current_capture = nullptr;

}  // namespace

GraphCapture::GraphCapture(const Stream &stream)
    : stream_(stream), contents_(std::make_shared<Graph::Contents>()), block_(&contents_->block) {
  if (current_capture) throw UserError("this thread captures a graph already; end that capture before another begins");
  if (const CudaStream *cuda = stream.cuda()) part_.emplace(cuda->stream());
  remember_last();
  current_capture = this;
  begin(ThreadMode::captures_graph);
  handle_host_operations();
}

GraphCapture::~GraphCapture() {
  current_capture = nullptr;
  end(ThreadMode::captures_graph);
}

GraphCapture *GraphCapture::current() { return current_capture; }

void GraphCapture::add(const Launch &launch) {
  if (!(launch.stream() == stream_))
    throw UserError(launch.to_string() + " cannot be captured: it is on " + launch.stream().to_string() +
                    ", and the capture is of " + stream_.to_string() + "; record it with LaunchOptions::stream");
  if (LaunchAccess::cuda(launch) && !part_)
    throw UserError(launch.to_string() + " cannot be captured: an earlier part of the capture has failed");
  Graph::Contents::Step step{LaunchAccess::in_graph(launch)};
  LaunchAccess::for_each_written(launch, [&](Storage &storage, const AnyBuffer &) { written_.insert(&storage); });
  const std::size_t steps_before = contents_->steps.size();
  try {
    look_for_work_of_others();
    if (const CudaLaunch *cuda = LaunchAccess::cuda(step.launch))
      cuda->run_into(LaunchAccess::arguments(step.launch), &step.nodes);
    remember_last();
    contents_->steps.push_back(std::move(step));
    block_->emplace_back(contents_->steps.size() - 1);
  } catch (...) {
    // The driver may have received a part of it.
    part_.reset();
    while (contents_->steps.size() > steps_before) contents_->steps.pop_back();
    throw;
  }
}

void GraphCapture::put_in(FunctionRef<void()> put) {
  if (!part_) throw UserError("it cannot be captured: an earlier part of the capture has failed");
  try {
    look_for_work_of_others();
    put();
    remember_last();
  } catch (...) {
    // The driver may have received a part of it.
    part_.reset();
    throw;
  }
}

void GraphCapture::look_for_work_of_others() {
  if (part_ && driver::last_nodes(stream_.cuda()->stream()) != last_) contents_->has_work_of_others = true;
}

void GraphCapture::remember_last() {
  if (part_) last_ = driver::last_nodes(stream_.cuda()->stream());
}

void GraphCapture::check(const HostOperation &operation) const {
  const bool reads = operation.kind == HostOperation::Kind::read;
  const AnyBuffer &buffer = reads ? operation.source : operation.target;
  const auto refuse = [&](const std::string &why) { throw UserError(operation.where, why); };
  if (operation.pinned)
    refuse("a copy between " + buffer.to_string() + " and " + operation.pinned->to_string() +
           " cannot be captured, for a graph would run it when the array may be gone: copy before or after the graph "
           "is launched");
  if (reads)
    refuse(buffer.to_string() +
           " is read while a graph is captured that writes it: its values are there when the graph has been launched; "
           "read it after that");
  for (const AnyBuffer *other : {&operation.target, &operation.source})
    if (other->valid() && other->device() != stream_.device())
      refuse("what is done with " + other->to_string() + " cannot be captured: the capture is of " +
             stream_.to_string() + ", and a graph is of one device; do it before or after the graph is launched");
}

void GraphCapture::put_into_stream(const HostOperation &operation) {
  const AnyBuffer &target = operation.target, &source = operation.source;
  const std::shared_ptr<CudaStream> &stream = stream_.cuda_handle();
  target.storage()->cuda()->used_by(stream);
  if (source.valid()) source.storage()->cuda()->used_by(stream);
  put_captured(operation, *stream, contents_->kept);
}

void GraphCapture::add(const HostOperation &operation) {
  const bool reads = operation.kind == HostOperation::Kind::read;
  // The driver refuses operations that would wait for the captured stream.
  const bool waits = reads && (stream_.cuda() || !writes(operation.source.storage().get()));
  if (operation.pinned ? operation.stream->device() != stream_.device() : waits) return run(operation);
  check(operation);
  if (operation.target.count() == 0) return;
  HostOperation kept = operation.kept();
  if (stream_.cuda()) put_in([&] { put_into_stream(kept); });
  written_.insert(kept.target.storage().get());
  block_->emplace_back(std::move(kept));
}

void GraphCapture::add_call(const std::string &name, const std::vector<AnyBuffer> &written,
                            const std::function<void()> &run) {
  for (const AnyBuffer &array : written) {
    if (array.device() != stream_.device())
      throw UserError(name + " writes " + array.to_string() + ", and the capture is of " + stream_.to_string());
    written_.insert(array.storage().get());
  }
  block_->emplace_back(Graph::Contents::Call{name, written, run});
}

void GraphCapture::add(const Graph::Contents &graph, const Stream &stream) {
  if (!(stream == stream_))
    throw UserError("a graph is launched on " + stream.to_string() + " in a capture of " + stream_.to_string() +
                    "; launch it on the stream that is captured");
  std::unique_ptr<Graph::Contents> inner = graph.snapshot();
  inner->for_each_written([&](Storage &storage, const AnyBuffer &) { written_.insert(&storage); });
  if (stream_.cuda() && graph.has_conditions && graph.has_work_of_others)
    throw UserError(
        "the graph has conditions and work that another library has put into its stream, so that it cannot become a "
        "part of another graph; capture both in one");
  if (stream_.cuda() && graph.has_conditions)
    put_parts(graph, graph.block);
  else if (stream_.cuda())
    put_in([&] { put_child(graph); });
  contents_->has_conditions = contents_->has_conditions || graph.has_conditions;
  contents_->has_work_of_others = contents_->has_work_of_others || graph.has_work_of_others;
  block_->emplace_back(std::move(inner));
}

void GraphCapture::put_child(const Graph::Contents &graph) {
  driver::Graph child = *graph.graph;
  for (const Graph::Contents::Step &step : graph.steps)
    if (step.edited) step.write_into(child);
  part_->add(child);
}

void GraphCapture::put_parts(const Graph::Contents &graph, const Graph::Contents::Block &block) {
  const auto put_step = [&](std::size_t number) {
    const Graph::Contents::Step &step = graph.steps[number];
    if (step.enabled) put_in([&] { LaunchAccess::cuda(step.launch)->run(LaunchAccess::arguments(step.launch)); });
  };
  const auto no_call = [](const Graph::Contents::Call &) {};  // those are in graphs of the CPU
  for (const Graph::Contents::Part &part : block)
    std::visit(ir::Overloaded{put_step, no_call,
                              [&](const HostOperation &operation) { put_in([&] { put_into_stream(operation); }); },
                              [&](const std::unique_ptr<Graph::Contents::Condition> &condition) {
                                capture_body(*condition, [&] { put_parts(graph, condition->body); }, SourceLocation{});
                              },
                              [&](const std::unique_ptr<Graph::Contents> &inner) { put_parts(*inner, inner->block); }},
               part);
}

void GraphCapture::check_condition(const AnyBuffer &value, SourceLocation where) const {
  const char *wanted = "a graph's condition is a buffer of one element, of bool or an integer type";
  if (!value.valid()) throw UserError(where, std::string(wanted) + "; an empty one is given");
  if (value.count() != 1 || is_floating(value.type()))
    throw UserError(where, std::string(wanted) + "; " + value.to_string() + " is given");
  if (value.device(where) != stream_.device())
    throw UserError(where, "a graph's condition is on the device of the capture, " + stream_.device().to_string() +
                               "; " + value.to_string() + " is given");
}

driver::Capture::Captured GraphCapture::end_part() {
  try {
    look_for_work_of_others();
    driver::Capture::Captured captured = part_->end();
    part_.reset();
    return captured;
  } catch (...) {
    // The stream no longer captures: launches on it would run.
    part_.reset();
    throw;
  }
}

void GraphCapture::add_condition(const AnyBuffer &value, bool repeats, FunctionRef<void()> body, SourceLocation where) {
  check_condition(value, where);
  auto condition = std::make_unique<Graph::Contents::Condition>(Graph::Contents::Condition{value, repeats});
  Graph::Contents::Condition &added = *condition;
  Graph::Contents::Block *const outer = block_;
  const std::size_t steps_before = contents_->steps.size();
  outer->emplace_back(std::move(condition));
  block_ = &added.body;
  try {
    if (stream_.cuda())
      capture_body(added, body, where);
    else
      body();
  } catch (...) {
    // A caller that handles the error continues without the condition.
    block_ = outer;
    outer->pop_back();
    while (contents_->steps.size() > steps_before) contents_->steps.pop_back();
    throw;
  }
  contents_->has_conditions = true;
  block_ = outer;
}

void GraphCapture::capture_body(const Graph::Contents::Condition &condition, FunctionRef<void()> body,
                                SourceLocation where) {
  if (!part_) throw UserError(where, "the condition cannot be captured: an earlier part of the capture has failed");
  driver::Capture::Captured before = end_part();
  condition.value.storage()->cuda()->used_by(stream_.cuda_handle());

  const driver::Condition holds = before.graph.add_condition(0);
  const driver::Stream &queue = stream_.cuda()->stream();
  const auto device = CudaDevice::of(stream_.device().index());
  const driver::PreparedLaunch ask(queue, device->set_condition_kernel(), {}, where);
  driver::CUgraphConditionalHandle handle = holds.raw;
  auto address = std::bit_cast<driver::CUdeviceptr>(condition.value.data());
  auto bytes = static_cast<std::uint32_t>(size_of(condition.value.type()));
  void *parameters[] = {&handle, &address, &bytes};

  const driver::GraphNode asked = before.graph.add(ask, parameters, before.last);
  driver::Graph::Conditional node =
      condition.repeats ? before.graph.add_while(holds, {{asked}}) : before.graph.add_if(holds, {{asked}});
  part_.emplace(queue, node.body, std::span<const driver::GraphNode>());
  try {
    remember_last();
    body();
    if (!part_) throw UserError(where, "a part of the condition's body has failed, and so the capture has");
    driver::Capture::Captured inside = end_part();
    if (condition.repeats) inside.graph.add(ask, parameters, inside.last);
  } catch (...) {
    part_.reset();
    throw;
  }
  part_.emplace(queue, before.graph, std::span<const driver::GraphNode>(&node.node, 1));
  remember_last();
}

std::shared_ptr<Graph::Contents> GraphCapture::finish() {
  if (stream_.cuda()) {
    if (!part_) throw UserError("the capture has failed: a condition's body threw, and its error was not let through");
    contents_->graph = end_part().graph;
    contents_->executable = driver::GraphExecutable::instantiate(*contents_->graph);
  }
  return contents_;
}

}  // namespace jit

namespace {

void capture_condition(const AnyBuffer &condition, bool repeats, FunctionRef<void()> body, SourceLocation where) {
  jit::GraphCapture *capture = jit::GraphCapture::current();
  if (!capture)
    throw UserError(where,
                    "capture_if and capture_while are parts of a capture, and this thread captures nothing: call them "
                    "in the function that capture() is given");
  at_call("captured", where, [&] { capture->add_condition(condition, repeats, body, where); });
}

}  // namespace

Graph capture(const Stream &stream, FunctionRef<void()> work, SourceLocation where) {
  std::optional<jit::GraphCapture> capture;
  at_call("captured", where, [&] { capture.emplace(stream); });
  work();
  return at_call("captured", where, [&] { return Graph(stream, capture->finish()); });
}

void capture_if(const AnyBuffer &condition, FunctionRef<void()> body, SourceLocation where) {
  capture_condition(condition, false, body, where);
}

void capture_while(const AnyBuffer &condition, FunctionRef<void()> body, SourceLocation where) {
  capture_condition(condition, true, body, where);
}

}  // namespace samite
