#include "samite/jit/graph.h"

#include "samite/base/error.h"
#include "samite/base/trace.h"
#include "samite/ir/visit.h"
#include "samite/jit/cuda_launch.h"
#include "samite/jit/graph_capture.h"
#include "samite/jit/graph_contents.h"
#include "samite/jit/launch_access.h"
#include "samite/jit/stream_order.h"
#include "samite/jit/tape_access.h"
#include "samite/runtime/device_trace.h"

#include <algorithm>
#include <ostream>

namespace samite {
namespace {

// On the CPU.
bool holds(const AnyBuffer &condition) {
  const auto *bytes = static_cast<const std::byte *>(condition.data());
  return std::any_of(bytes, bytes + size_of(condition.type()), [](std::byte byte) { return byte != std::byte{}; });
}

// On the CPU.
void run(Graph::Contents &contents, const Graph::Contents::Block &block) {
  for (const Graph::Contents::Part &part : block)
    std::visit(ir::Overloaded{[&](std::size_t number) {
                                Graph::Contents::Step &step = contents.steps[number];
                                if (step.enabled) step.launch.launch(SourceLocation{});
                              },
                              [](const HostOperation &operation) { run(operation); },
                              [](const Graph::Contents::Call &call) { call.run(); },
                              [&](const std::unique_ptr<Graph::Contents::Condition> &condition) {
                                if (!holds(condition->value)) return;
                                do run(contents, condition->body);
                                while (condition->repeats && holds(condition->value));
                              },
                              [](const std::unique_ptr<Graph::Contents> &inner) { run(*inner, inner->block); }},
               part);
}

// The driver edits the nodes of a body only through their graph, which affects all of its launches.
void write_through_graph(Graph::Contents &contents, const Graph::Contents::Step &step) {
  step.write_into(*contents.graph);
  contents.executable->update(*contents.graph);
}

// Replaces a step; `write_nodes` passes the new one to the driver. If writing one of several nodes fails, the previous
// nodes are written again.
template <class Write>
void edit(Graph::Contents &contents, std::size_t number, Graph::Contents::Step step, const Write &write_nodes) {
  const auto write = [&](const Graph::Contents::Step &one) {
    if (contents.has_conditions)
      write_through_graph(contents, one);
    else
      write_nodes(*contents.executable, one);
  };
  Graph::Contents::Step &before = contents.steps[number];
  try {
    if (contents.executable) write(step);
  } catch (...) {
    try {
      write(before);
    } catch (const std::exception &) {
      contents.broken = true;
    }
    throw;
  }
  step.edited = !contents.has_conditions;
  before = std::move(step);
}

std::string description(const HostOperation &operation) {
  const std::string target = operation.target.to_string();
  switch (operation.kind) {
    case HostOperation::Kind::copy: return "Copy of " + operation.source.to_string() + " to " + target;
    case HostOperation::Kind::write: return "Values written to " + target;
    default: return "Fill of " + target;
  }
}

void describe(const Graph::Contents &contents, const Graph::Contents::Block &block, const std::string &indent,
              std::string &text) {
  for (const Graph::Contents::Part &part : block) {
    text += "\n" + indent;
    std::visit(ir::Overloaded{[&](std::size_t number) {
                                const Graph::Contents::Step &step = contents.steps[number];
                                text += step.launch.to_string() + (step.enabled ? "" : ", not enabled");
                              },
                              [&](const HostOperation &operation) { text += description(operation); },
                              [&](const Graph::Contents::Call &call) { text += "Call of " + call.name; },
                              [&](const std::unique_ptr<Graph::Contents::Condition> &condition) {
                                text += (condition->repeats ? "while " : "if ") + condition->value.to_string();
                                describe(contents, condition->body, indent + "  ", text);
                              },
                              [&](const std::unique_ptr<Graph::Contents> &inner) {
                                text += "graph";
                                describe(*inner, inner->block, indent + "  ", text);
                              }},
               part);
  }
}

}  // namespace

std::size_t Graph::size() const { return contents_->steps.size(); }

void Graph::launch(SourceLocation where) { launch(stream_, where); }

void Graph::launch(const Stream &stream, SourceLocation where) {
  at_call("launched", where, [&] { launch_on(stream); });
}

void Graph::launch_on(const Stream &stream) {
  if (!(stream.device() == device()))
    throw UserError("a graph of " + device().to_string() + " is launched on " + stream.to_string() +
                    "; use a stream of its own device");
  if (jit::TapeAccess::recording())
    throw UserError(
        "a graph cannot be put on a tape, which keeps values between launches; record the launches "
        "themselves, or capture their adjoints, too");
  if (jit::GraphCapture *capture = jit::GraphCapture::current()) return capture->add(*contents_, stream);
  const TraceSpan traced("graph", "graph launch");
  if (!contents_->executable) return run(*contents_, contents_->block);
  // The memory of its launches is ordered only with the stream that it was captured from.
  const bool elsewhere = !(stream == stream_);
  if (contents_->broken)
    throw UserError(
        "the graph cannot be launched: an edit of it failed, and so did taking the edit back; capture it anew");
  bool debug = false;
  contents_->for_each_step([&](const Contents::Step &step) {
    jit::LaunchAccess::cuda(step.launch)->hear_in(*stream.cuda());
    debug = debug || jit::LaunchAccess::cuda(step.launch)->debug();
  });
  if (elsewhere) jit::order(stream_, stream);
  {
    const DeviceSpan on_device(*stream.cuda(), "graph", is_tracing() ? "graph" : "", 0);
    contents_->executable->launch(stream.cuda()->stream());
  }
  contents_->for_each_written([](Storage &storage, const AnyBuffer &view) { storage.mark_written(view); });
  if (elsewhere) jit::order_or_wait(stream, stream_);
  if (debug) stream.synchronize();
}

const Launch &Graph::at(std::size_t number) const {
  if (number >= size())
    throw UserError("a graph of " + std::to_string(size()) + " launches has none of number " + std::to_string(number));
  return contents_->steps[number].launch;
}

void Graph::set(std::size_t number, const Launch &given, SourceLocation where) {
  at_call("set", where, [&] {
    const Launch &before = at(number);
    if (before.kernel_name() != given.kernel_name() || before.direction() != given.direction() ||
        !(before.device() == given.device()))
      throw UserError("launch " + std::to_string(number) + " of the graph is a " + before.to_string() +
                      "; it cannot become a " + given.to_string());
    if (!(given.stream() == stream_))
      throw UserError("the graph's launches are on " + stream_.to_string() + ", and the " + given.to_string() +
                      " is on " + given.stream().to_string() + "; record it with LaunchOptions::stream");
    if (before.options().cuda.cluster != given.options().cuda.cluster ||
        before.options().cuda.programmatic != given.options().cuda.programmatic ||
        before.options().cuda.priority != given.options().cuda.priority)
      throw UserError("launch " + std::to_string(number) + " of the graph is a " + before.to_string() +
                      ", and the one to take its place has another cluster, priority or programmatic start, which stay "
                      "as they were captured; record it with the same LaunchOptions");
    const Launch launch = jit::LaunchAccess::in_place_of(given, before);
    const Contents::Step &step = contents_->steps[number];
    if (contents_->executable &&
        static_cast<std::size_t>(jit::LaunchAccess::cuda(launch)->kernel_count()) != step.nodes.size())
      throw UserError("launch " + std::to_string(number) + " of the graph runs " + std::to_string(step.nodes.size()) +
                      " kernels, and the " + launch.to_string() + " " +
                      std::to_string(jit::LaunchAccess::cuda(launch)->kernel_count()) + "; capture the graph anew");
    edit(*contents_, number, {launch, step.nodes, step.enabled},
         [](driver::GraphExecutable &executable, const Contents::Step &one) {
           jit::LaunchAccess::cuda(one.launch)->put_in(executable, one.nodes, jit::LaunchAccess::arguments(one.launch));
         });
  });
}

void Graph::enable(std::size_t number, bool enabled, SourceLocation where) {
  at_call("enabled", where, [&] {
    at(number);
    const Contents::Step &step = contents_->steps[number];
    edit(*contents_, number, {step.launch, step.nodes, enabled},
         [](driver::GraphExecutable &executable, const Contents::Step &one) {
           for (const driver::GraphNode &node : one.nodes) executable.enable(node, one.enabled);
         });
  });
}

std::string Graph::to_string() const {
  std::string text =
      "Graph of " + std::to_string(size()) + (size() == 1 ? " launch on " : " launches on ") + device().to_string();
  describe(*contents_, contents_->block, "  ", text);
  return text;
}

std::ostream &operator<<(std::ostream &stream, const Graph &graph) { return stream << graph.to_string(); }

}  // namespace samite
