#include "samite/driver/graph_executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace samite::driver {
namespace {

constexpr std::size_t names_shown = 8;

// "graph of 12 launches (scale, add, …)". Kept for the process, because a stream's history refers to it; few graphs of
// a program have different names.
const char *name_of(const std::vector<const char *> &kernels) {
  std::string names;
  for (std::size_t i = 0; i < std::min(kernels.size(), names_shown); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", kernels[i]);
  if (kernels.size() > names_shown) names += ", …";
  return intern_file(names.empty() ? "graph" : fmt::format("graph of {} launches ({})", kernels.size(), names));
}

std::string difference_text(GraphUpdateResult result) {
  switch (result) {
    case GraphUpdateResult::topology_changed: return "its nodes or edges are others";
    case GraphUpdateResult::node_type_changed: return "a node is of another type";
    case GraphUpdateResult::function_changed:
    case GraphUpdateResult::unsupported_function_change: return "a node launches a kernel that cannot take its place";
    case GraphUpdateResult::parameters_changed: return "a node's parameters cannot be changed so";
    case GraphUpdateResult::attributes_changed: return "a node's launch attributes cannot be changed so";
    default: return "the driver cannot change it so";
  }
}

}  // namespace

GraphExecutable::State::~State() {
  if (raw != nullptr) graph.context().release<Entry::GraphExecDestroy>(raw);
}

GraphExecutable GraphExecutable::instantiate(const Graph &graph) {
  auto state = std::make_shared<State>(graph);
  std::lock_guard lock(graph.state_->contents->mutex);
  graph.context().call<Entry::GraphInstantiateWithFlags>(&state->raw, graph.raw(), 0ull);
  state->name = name_of(graph.state_->contents->kernels);
  return GraphExecutable(std::move(state));
}

void GraphExecutable::launch(const Stream &stream, SourceLocation where) const {
  if (stream.context() != context())
    throw UserError(where, fmt::format("a graph of {} was launched on {}: launch it on a stream of its own device",
                                       context().to_string(), stream.to_string()));
  std::lock_guard lock(state_->mutex);
  context().call_for<Entry::GraphLaunch>({nullptr, where}, raw(), stream.raw());
  stream.history().record({state_->name, where});
}

void GraphExecutable::upload(const Stream &stream) const {
  std::lock_guard lock(state_->mutex);
  context().call<Entry::GraphUpload>(raw(), stream.raw());
}

void GraphExecutable::set(const GraphNode &node, const PreparedLaunch &launch, void **parameters) {
  const KernelNodeParameters node_parameters = launch.node_parameters(parameters);
  const std::shared_ptr<const void> owner = launch.kernel().owner();
  std::lock_guard lock(state_->mutex);
  // Earlier launches may still run the previous kernel, so nothing is released.
  if (std::ranges::find(state_->kept, owner) == state_->kept.end()) state_->kept.push_back(owner);
  context().call_for<Entry::GraphExecKernelNodeSetParams>({launch.kernel().name(), launch.where()}, raw(), node.raw,
                                                          &node_parameters);
}

void GraphExecutable::enable(const GraphNode &node, bool enabled) {
  std::lock_guard lock(state_->mutex);
  context().call<Entry::GraphNodeSetEnabled>(raw(), node.raw, enabled ? 1u : 0u);
}

void GraphExecutable::update(const Graph &graph) {
  std::scoped_lock lock(state_->mutex, graph.state_->contents->mutex);
  const char *name = name_of(graph.state_->contents->kernels);
  state_->kept.reserve(state_->kept.size() + 1);
  GraphUpdateInfo info{};
  const Result code = context().try_call<Entry::GraphExecUpdate>(raw(), graph.raw(), &info);
  if (code == Result::graph_exec_update_failure)
    throw UserError(
        fmt::format("a graph that can run cannot become the other graph: {}. Instantiate the other graph "
                    "instead.",
                    difference_text(info.result)));
  if (code != Result::success) context().fail(Entry::GraphExecUpdate, code, {raw(), graph.raw(), nullptr});
  // As in set(): the previous graph may still be running, so what it keeps is not released.
  if (state_->graph.state_ != graph.state_) state_->kept.push_back(std::exchange(state_->graph, graph).state_);
  state_->name = name;
}

}  // namespace samite::driver
