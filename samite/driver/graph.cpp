#include "samite/driver/graph.h"

#include <algorithm>
#include <utility>

namespace samite::driver {

Graph::State::~State() {
  if (parent == nullptr && raw != nullptr) context.release<Entry::GraphDestroy>(raw);
}

void Graph::Contents::keep(const std::shared_ptr<const void> &object) {
  // A graph has many launches of a few kernels, so each kernel is kept once.
  if (std::ranges::find(kept, object) == kept.end()) kept.push_back(object);
}

void Graph::Contents::add_kernel(const char *name, const std::shared_ptr<const void> &owner) {
  keep(owner);
  kernels.push_back(name);
}

Graph Graph::create(const Context &context) {
  Graph graph(std::make_shared<State>(context, nullptr));
  context.call<Entry::GraphCreate>(&graph.state_->raw, 0u);
  return graph;
}

std::vector<CUgraphNode> Graph::raw_nodes(std::span<const GraphNode> after) const {
  std::vector<CUgraphNode> nodes;
  for (const GraphNode &node : after) {
    if (node.graph != raw())
      throw UserError(
          "a node of a graph was to run after a node of another graph: the body of a conditional node is a "
          "graph of its own");
    nodes.push_back(node.raw);
  }
  return nodes;
}

GraphNode Graph::add(const PreparedLaunch &launch, void **parameters, std::span<const GraphNode> after) {
  const Origin origin{launch.kernel().name(), launch.where()};
  if (launch.kernel().context() != context())
    throw UserError(origin.prefix() + "the kernel was compiled for another device than the graph is of");
  const std::vector<CUgraphNode> dependencies = raw_nodes(after);
  const KernelNodeParameters node_parameters = launch.node_parameters(parameters);

  std::lock_guard lock(state_->contents->mutex);
  // Keeps what the node refers to before the graph has the node.
  state_->contents->add_kernel(launch.kernel().name(), launch.kernel().owner());
  CUgraphNode node = nullptr;
  try {
    context().call_for<Entry::GraphAddKernelNode>(origin, &node, raw(), dependencies.data(), dependencies.size(),
                                                  &node_parameters);
    for (unsigned i = 0; i < launch.config().attribute_count; ++i)
      context().call_for<Entry::GraphKernelNodeSetAttribute>(origin, node, launch.attributes()[i].id,
                                                             &launch.attributes()[i].value);
  } catch (...) {
    // Without its attributes the node would not run as requested, so it is removed.
    if (node != nullptr) context().release<Entry::GraphDestroyNode>(node);
    state_->contents->kernels.pop_back();
    throw;
  }
  return {node, raw()};
}

void Graph::set(const GraphNode &node, const PreparedLaunch &launch, void **parameters) {
  const KernelNodeParameters node_parameters = launch.node_parameters(parameters);
  std::lock_guard lock(state_->contents->mutex);
  state_->contents->keep(launch.kernel().owner());
  context().call_for<Entry::GraphKernelNodeSetParams>({launch.kernel().name(), launch.where()}, node.raw,
                                                      &node_parameters);
}

GraphNode Graph::add(const Graph &child, std::span<const GraphNode> after) {
  if (child.state_->contents == state_->contents) throw UserError("a graph was to be added to itself");
  const std::vector<CUgraphNode> dependencies = raw_nodes(after);
  CUgraphNode node = nullptr;

  Contents &mine = *state_->contents, &its = *child.state_->contents;
  std::scoped_lock lock(mine.mutex, its.mutex);
  for (const std::shared_ptr<const void> &object : its.kept) mine.keep(object);
  mine.kernels.reserve(mine.kernels.size() + its.kernels.size());
  context().call<Entry::GraphAddChildGraphNode>(&node, raw(), dependencies.data(), dependencies.size(), child.raw());
  mine.kernels.insert(mine.kernels.end(), its.kernels.begin(), its.kernels.end());
  return {node, raw()};
}

GraphNode Graph::add_empty(std::span<const GraphNode> after) {
  const std::vector<CUgraphNode> dependencies = raw_nodes(after);
  CUgraphNode node = nullptr;
  std::lock_guard lock(state_->contents->mutex);
  context().call<Entry::GraphAddEmptyNode>(&node, raw(), dependencies.data(), dependencies.size());
  return {node, raw()};
}

Condition Graph::add_condition(unsigned initial) {
  Condition condition;
  std::lock_guard lock(state_->contents->mutex);
  context().call<Entry::GraphConditionalHandleCreate>(&condition.raw, raw(), context().raw(), initial,
                                                      conditional_assign_default);
  return condition;
}

Graph::Conditional Graph::add_conditional(ConditionalType type, Condition condition, std::span<const GraphNode> after) {
  const std::vector<CUgraphNode> dependencies = raw_nodes(after);
  GraphNodeParameters parameters{};
  parameters.type = GraphNodeType::conditional;
  parameters.conditional = {
      .handle = condition.raw, .type = type, .size = 1, .bodies = nullptr, .context = context().raw()};

  std::lock_guard lock(state_->contents->mutex);
  CUgraphNode node = nullptr;
  Graph body(std::make_shared<State>(state_, nullptr));
  context().call<Entry::GraphAddNode>(&node, raw(), dependencies.data(), static_cast<const GraphEdgeData *>(nullptr),
                                      dependencies.size(), &parameters);
  body.state_->raw = parameters.conditional.bodies[0];
  return {{node, raw()}, std::move(body)};
}

Graph::Conditional Graph::add_if(Condition condition, std::span<const GraphNode> after) {
  return add_conditional(ConditionalType::if_, condition, after);
}

Graph::Conditional Graph::add_while(Condition condition, std::span<const GraphNode> after) {
  return add_conditional(ConditionalType::while_, condition, after);
}

std::vector<GraphNode> Graph::nodes() const {
  std::lock_guard lock(state_->contents->mutex);
  std::size_t count = 0;
  context().call<Entry::GraphGetNodes>(raw(), static_cast<CUgraphNode *>(nullptr), &count);
  std::vector<CUgraphNode> raw_nodes(count);
  if (count > 0) context().call<Entry::GraphGetNodes>(raw(), raw_nodes.data(), &count);
  std::vector<GraphNode> nodes;
  for (const CUgraphNode node : raw_nodes) nodes.push_back({node, raw()});
  return nodes;
}

void Graph::keep_alive(const std::shared_ptr<const void> &object) {
  std::lock_guard lock(state_->contents->mutex);
  state_->contents->keep(object);
}

}  // namespace samite::driver
