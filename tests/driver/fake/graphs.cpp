// The fake's graphs.
#include "tests/driver/fake/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::driver::fake {
namespace {

Node *node_of(CUgraphNode handle) {
  Node *node = reinterpret_cast<Node *>(handle);
  for (const auto &graph : state().graphs)
    for (const auto &known : graph->nodes)
      if (known.get() == node) {
        if (!graph->destroyed) return node;
        state().mistake("the node is used after its graph was destroyed", Result::invalid_handle);
        return nullptr;
      }
  state().mistake("this is no node of a graph", Result::invalid_handle);
  return nullptr;
}

std::vector<Node *> nodes_of(const CUgraphNode *handles, std::size_t count) {
  std::vector<Node *> nodes;
  for (std::size_t i = 0; i < count; ++i)
    if (Node *node = node_of(handles[i])) nodes.push_back(node);
  return nodes;
}

KernelCall call_of(const KernelNodeParameters &from) {
  KernelCall call;
  call.kernel = use(from.kernel);
  if (call.kernel == nullptr) return call;
  call.config.grid_x = from.grid_x;
  call.config.grid_y = from.grid_y;
  call.config.grid_z = from.grid_z;
  call.config.block_x = from.block_x;
  call.config.block_y = from.block_y;
  call.config.block_z = from.block_z;
  call.config.shared_bytes = from.shared_bytes;
  for (std::size_t i = 0; i < call.kernel->code->parameter_bytes.size(); ++i) {
    const auto *bytes = static_cast<const std::byte *>(from.parameters[i]);
    call.parameters.emplace_back(bytes, bytes + call.kernel->code->parameter_bytes[i]);
  }
  return call;
}

// Nodes come after their dependencies, because these existed when the nodes were added.
Result run_nodes(Stream &stream, const Graph &graph);

Result run_conditional(Stream &stream, const Node &node) {
  Condition &condition = state().conditions.at(node.condition.handle);
  if (node.condition.type == ConditionalType::if_)
    return condition.value != 0 ? run_nodes(stream, *node.child) : Result::success;
  while (condition.value != 0)
    if (const Result code = run_nodes(stream, *node.child); code != Result::success) return code;
  return Result::success;
}

Result run_node(Stream &stream, Node &node) {
  if (!node.enabled) return Result::success;
  advance(stream);
  switch (node.type) {
    case GraphNodeType::kernel: return run(stream, node.call);
    case GraphNodeType::child_graph: return node.child ? run_nodes(stream, *node.child) : node.work(stream);
    case GraphNodeType::conditional: return run_conditional(stream, node);
    default: return node.work ? node.work(stream) : Result::success;
  }
}

Result run_nodes(Stream &stream, const Graph &graph) {
  for (const auto &node : graph.nodes)
    if (const Result code = run_node(stream, *node); code != Result::success) return code;
  return Result::success;
}

void copy_nodes(const Graph &from, GraphExec &into, Graph &target) {
  for (const auto &node : from.nodes) {
    Node &copy = *target.nodes.emplace_back(std::make_unique<Node>(*node));
    copy.original = node.get();
    if (node->child != nullptr) {
      GraphExec &child = *into.children.emplace_back(std::make_unique<GraphExec>());
      copy_nodes(*node->child, child, child.nodes);
      copy.child = &child.nodes;
    }
  }
}

Node *find_copy(GraphExec &executable, const Node *original) {
  for (const auto &node : executable.nodes.nodes)
    if (node->original == original) return node.get();
  for (const auto &child : executable.children)
    if (Node *found = find_copy(*child, original)) return found;
  return nullptr;
}

template <class From>
Result copy_out(const std::vector<From *> &from, CUgraphNode *into, std::size_t *count) {
  if (into != nullptr)
    for (std::size_t i = 0; i < std::min(*count, from.size()); ++i) into[i] = handle_of<CUgraphNode>(*from[i]);
  *count = from.size();
  return Result::success;
}

}  // namespace

Node &add_node(Graph &graph, GraphNodeType type, std::vector<Node *> dependencies) {
  Node &node = *graph.nodes.emplace_back(std::make_unique<Node>());
  node.graph = &graph;
  node.type = type;
  node.dependencies = std::move(dependencies);
  return node;
}

Result GraphCreate(CUgraph *handle, unsigned) {
  *handle = handle_of<CUgraph>(state().graphs.add());
  return Result::success;
}

Result GraphDestroy(CUgraph handle) {
  Graph *graph = use(handle);
  if (graph == nullptr) return Result::invalid_handle;
  if (graph->owned_by_node) return state().mistake("this graph belongs to a node", Result::invalid_value);
  graph->destroyed = true;
  return Result::success;
}

Result GraphGetNodes(CUgraph handle, CUgraphNode *nodes, std::size_t *count) {
  const Graph *graph = use(handle);
  if (graph == nullptr) return Result::invalid_handle;
  std::vector<Node *> all;
  for (const auto &node : graph->nodes) all.push_back(node.get());
  return copy_out(all, nodes, count);
}

Result GraphNodeGetType(CUgraphNode handle, GraphNodeType *type) {
  const Node *node = node_of(handle);
  if (node == nullptr) return Result::invalid_handle;
  *type = node->type;
  return Result::success;
}

Result GraphNodeGetDependencies(CUgraphNode handle, CUgraphNode *dependencies, std::size_t *count) {
  const Node *node = node_of(handle);
  return node != nullptr ? copy_out(node->dependencies, dependencies, count) : Result::invalid_handle;
}

Result GraphAddKernelNode(CUgraphNode *handle, CUgraph graph_handle, const CUgraphNode *dependencies, std::size_t count,
                          const KernelNodeParameters *parameters) {
  Graph *graph = use(graph_handle);
  KernelCall call = call_of(*parameters);
  if (graph == nullptr || call.kernel == nullptr) return Result::invalid_handle;
  Node &node = add_node(*graph, GraphNodeType::kernel, nodes_of(dependencies, count));
  node.call = std::move(call);
  *handle = handle_of<CUgraphNode>(node);
  return Result::success;
}

Result GraphDestroyNode(CUgraphNode handle) {
  Node *node = node_of(handle);
  if (node == nullptr) return Result::invalid_handle;
  for (const auto &other : node->graph->nodes) std::erase(other->dependencies, node);
  std::erase_if(node->graph->nodes, [&](const auto &known) { return known.get() == node; });
  return Result::success;
}

Result GraphAddEmptyNode(CUgraphNode *handle, CUgraph graph_handle, const CUgraphNode *dependencies,
                         std::size_t count) {
  Graph *graph = use(graph_handle);
  if (graph == nullptr) return Result::invalid_handle;
  *handle = handle_of<CUgraphNode>(add_node(*graph, GraphNodeType::empty, nodes_of(dependencies, count)));
  return Result::success;
}

// The driver copies the child; its copy belongs to the node.
Result GraphAddChildGraphNode(CUgraphNode *handle, CUgraph graph_handle, const CUgraphNode *dependencies,
                              std::size_t count, CUgraph child_handle) {
  Graph *graph = use(graph_handle);
  const Graph *child = use(child_handle);
  if (graph == nullptr || child == nullptr) return Result::invalid_handle;
  if (std::ranges::any_of(child->nodes, [](const auto &one) { return one->type == GraphNodeType::conditional; }))
    return Result::not_supported;
  Node &node = add_node(*graph, GraphNodeType::child_graph, nodes_of(dependencies, count));
  node.child = &state().graphs.add();
  node.child->owned_by_node = true;
  for (const auto &known : child->nodes) node.child->nodes.push_back(std::make_unique<Node>(*known));
  *handle = handle_of<CUgraphNode>(node);
  return Result::success;
}

Result GraphAddNode(CUgraphNode *handle, CUgraph graph_handle, const CUgraphNode *dependencies, const GraphEdgeData *,
                    std::size_t count, GraphNodeParameters *parameters) {
  Graph *graph = use(graph_handle);
  if (graph == nullptr || parameters->type != GraphNodeType::conditional) return Result::invalid_value;
  if (!state().conditions.contains(parameters->conditional.handle)) return Result::invalid_value;
  Node &node = add_node(*graph, GraphNodeType::conditional, nodes_of(dependencies, count));
  node.condition = parameters->conditional;
  node.child = &state().graphs.add();
  node.child->owned_by_node = true;
  static thread_local CUgraph bodies[1];
  bodies[0] = handle_of<CUgraph>(*node.child);
  parameters->conditional.bodies = bodies;
  *handle = handle_of<CUgraphNode>(node);
  return Result::success;
}

Result GraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph, CUcontext, unsigned initial,
                                    unsigned flags) {
  if (use(graph) == nullptr) return Result::invalid_handle;
  *handle = state().conditions.size() + 1;
  state().conditions[*handle] = {initial, initial, (flags & conditional_assign_default) != 0};
  return Result::success;
}

Result GraphKernelNodeGetParams(CUgraphNode handle, KernelNodeParameters *parameters) {
  const Node *node = node_of(handle);
  if (node == nullptr) return Result::invalid_handle;
  if (node->type != GraphNodeType::kernel) return Result::invalid_value;
  *parameters = {};
  parameters->kernel = handle_of<CUkernel>(*node->call.kernel);
  parameters->grid_x = node->call.config.grid_x;
  parameters->block_x = node->call.config.block_x;
  return Result::success;
}

Result GraphKernelNodeSetParams(CUgraphNode handle, const KernelNodeParameters *parameters) {
  Node *node = node_of(handle);
  if (node == nullptr) return Result::invalid_handle;
  node->call = call_of(*parameters);
  return node->call.kernel != nullptr ? Result::success : Result::invalid_handle;
}

Result GraphKernelNodeSetAttribute(CUgraphNode handle, LaunchAttributeId, const LaunchAttributeValue *) {
  const Node *node = node_of(handle);
  return node != nullptr && node->type == GraphNodeType::kernel ? Result::success : Result::invalid_value;
}

Result GraphInstantiateWithFlags(CUgraphExec *handle, CUgraph graph_handle, unsigned long long) {
  const Graph *graph = use(graph_handle);
  if (graph == nullptr) return Result::invalid_handle;
  GraphExec &executable = state().executables.add();
  copy_nodes(*graph, executable, executable.nodes);
  *handle = handle_of<CUgraphExec>(executable);
  return Result::success;
}

Result GraphExecDestroy(CUgraphExec handle) {
  GraphExec *executable = use(handle);
  if (executable == nullptr) return Result::invalid_handle;
  executable->destroyed = true;
  return Result::success;
}

Result GraphExecKernelNodeSetParams(CUgraphExec handle, CUgraphNode node_handle,
                                    const KernelNodeParameters *parameters) {
  GraphExec *executable = use(handle);
  const Node *node = node_of(node_handle);
  if (executable == nullptr || node == nullptr) return Result::invalid_handle;
  Node *copy = find_copy(*executable, node);
  if (copy == nullptr)
    return state().mistake("the executable was not made of this node's graph", Result::invalid_value);
  copy->call = call_of(*parameters);
  return copy->call.kernel != nullptr ? Result::success : Result::invalid_handle;
}

Result GraphExecUpdate(CUgraphExec handle, CUgraph graph_handle, GraphUpdateInfo *info) {
  GraphExec *executable = use(handle);
  const Graph *graph = use(graph_handle);
  if (executable == nullptr || graph == nullptr) return Result::invalid_handle;
  *info = {};
  auto &nodes = executable->nodes.nodes;
  const auto fail = [&](GraphUpdateResult why) {
    info->result = why;
    return Result::graph_exec_update_failure;
  };
  if (nodes.size() != graph->nodes.size()) return fail(GraphUpdateResult::topology_changed);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i]->type != graph->nodes[i]->type) return fail(GraphUpdateResult::node_type_changed);
  executable->nodes.nodes.clear();
  executable->children.clear();
  copy_nodes(*graph, *executable, executable->nodes);
  return Result::success;
}

Result GraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node_handle, unsigned enabled) {
  GraphExec *executable = use(handle);
  const Node *node = node_of(node_handle);
  if (executable == nullptr || node == nullptr) return Result::invalid_handle;
  Node *copy = find_copy(*executable, node);
  if (copy == nullptr) return Result::invalid_value;
  copy->enabled = enabled != 0;
  return Result::success;
}

Result GraphUpload(CUgraphExec handle, CUstream stream) {
  return use(handle) != nullptr && use(stream) != nullptr ? Result::success : Result::invalid_handle;
}

Result GraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  Stream *stream = use(stream_handle);
  GraphExec *executable = use(handle);
  if (stream == nullptr || executable == nullptr) return Result::invalid_handle;
  const auto run = [](Stream &in, const GraphExec &now) {
    for (auto &[id, condition] : state().conditions)
      if (condition.assign) condition.value = condition.initial;
    return run_nodes(in, now.nodes);
  };
  // A driver of CUDA 13 refuses it: a capture takes a graph as a child.
  if (const Result code = refuse_in_capture(*stream); code != Result::success) return code;
  return submit(*stream, GraphNodeType::child_graph, [=](Stream &in) { return run(in, *executable); });
}

}  // namespace samite::driver::fake
