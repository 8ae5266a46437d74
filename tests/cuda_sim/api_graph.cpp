// The driver's functions on graphs: capture of a stream, graphs built by hand, and launches of both.
#include <algorithm>

#include "cuda_sim/driver.h"

using namespace tenon::cuda_sim;

namespace {

struct UpdateResult {  // CUgraphExecUpdateResultInfo
  int result;
  const Node *error, *error_from;
};
enum : int { kUpdated = 0, kUpdateError = 1, kTopologyChanged = 2, kTypeChanged = 3 };

std::shared_ptr<std::vector<Node>> copy(const Graph& graph) {
  return std::make_shared<std::vector<Node>>(graph.nodes.begin(), graph.nodes.end());
}

// Places of nodes given by handle; false if one is not of the graph.
bool find_places(const Graph& graph, const Node* const* handles, size_t count, std::vector<size_t>& places) {
  for (size_t i = 0; i < count; ++i) {
    const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return &node == handles[i]; });
    if (found == graph.nodes.end()) return false;
    places.push_back(static_cast<size_t>(found - graph.nodes.begin()));
  }
  return true;
}

// Nodes that wait for none are counted, edges too; that which the setting "lost_edge" names is left out.
int add_node(Driver& d, Graph& graph, const Node** handle, const Node* const* after, size_t count, Work work) {
  Node node{std::move(work), {}};
  if (!handle || !find_places(graph, after, count, node.after)) return kInvalidValue;
  if (count == 0) ++d.calls["root"];
  for (size_t i = 0; i < count; ++i) {
    ++d.calls["edge"];
    if (d.settings.lost_edge > 0 && --d.settings.lost_edge == 0) node.after.erase(node.after.begin() + static_cast<std::ptrdiff_t>(i));
  }
  graph.nodes.push_back(std::move(node));
  *handle = &graph.nodes.back();
  return kSuccess;
}

// The node of an executable graph that stands for a graph's, to be changed; launches that are queued keep what they had.
Node* changed_node(GraphExec& exec, const Node* handle) {
  const auto place = exec.places.find(handle);
  if (place == exec.places.end()) return nullptr;
  if (exec.nodes.use_count() > 1) exec.nodes = std::make_shared<std::vector<Node>>(*exec.nodes);
  return &(*exec.nodes)[place->second];
}

template <typename Nodes>
int compare(const Nodes& now, const std::vector<Node>& before) {
  if (now.size() != before.size()) return kTopologyChanged;
  for (size_t i = 0; i < before.size(); ++i) {
    if (now[i].after != before[i].after) return kTopologyChanged;
    if (now[i].work.kind != before[i].work.kind) return kTypeChanged;
    if (before[i].work.graph) {
      if (const int result = compare(*now[i].work.graph, *before[i].work.graph)) return result;
    }
  }
  return kUpdated;
}

// All captured work comes before the end of the stream that began.
bool joined(const Graph& graph, const std::vector<size_t>& frontier) {
  std::vector<bool> reached(graph.nodes.size());
  std::vector<size_t> left = frontier;
  while (!left.empty()) {
    const size_t node = left.back();
    left.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    left.insert(left.end(), graph.nodes[node].after.begin(), graph.nodes[node].after.end());
  }
  return std::all_of(reached.begin(), reached.end(), [](bool node) { return node; });
}

void leave_capture(Driver& d, const std::shared_ptr<Capture>& capture) {
  for (const auto& stream : d.queue.streams()) {
    if (stream->capture != capture) continue;
    stream->capture = nullptr;
    stream->frontier.clear();
  }
  std::erase(d.captures, capture);
}

}  // namespace

// --- capture

TENON_SIM_API int cuStreamBeginCapture_v2(void* handle, int mode) {
  return gate("cuStreamBeginCapture_v2", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    if (mode < 0 || mode > 2) return kInvalidValue;
    if (stream->legacy || stream->capture) return kCaptureUnsupported;
    auto graph = std::make_unique<Graph>();
    graph->device = stream->device;
    stream->capture = std::make_shared<Capture>(Capture{stream, mode, std::this_thread::get_id(), false, std::move(graph)});
    d.captures.push_back(stream->capture);
    return kSuccess;
  });
}

// Whatever else is wrong with a capture, its end ends it.
static void abandon_capture(void* handle) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (!current()) return;
  Stream* const stream = find_stream(d, handle);
  if (!stream || !stream->capture || stream->capture->origin != stream) return;
  leave_capture(d, std::shared_ptr<Capture>(stream->capture));
}

TENON_SIM_API int cuStreamEndCapture(void* handle, Graph** graph) {
  const int result = gate("cuStreamEndCapture", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    if (!graph) return kInvalidValue;
    *graph = nullptr;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return kInvalidValue;
    if (capture->origin != stream) return kCaptureUnmatched;
    if (capture->mode != 2 && capture->thread != std::this_thread::get_id()) return kCaptureWrongThread;
    const bool whole = joined(*capture->graph, stream->frontier);
    leave_capture(d, capture);
    if (capture->invalid) return kCaptureInvalidated;
    if (!whole) return kCaptureUnjoined;
    *graph = capture->graph.get();
    d.graphs[*graph] = std::move(capture->graph);
    return kSuccess;
  });
  if (result != kSuccess && result != kCaptureUnmatched && result != kCaptureWrongThread) abandon_capture(handle);
  return result;
}

TENON_SIM_API int cuStreamIsCapturing(void* handle, int* status) {
  return gate("cuStreamIsCapturing", Need::Context, [&](Driver& d) -> int {
    Stream* const stream = find_stream(d, handle);
    if (!stream) return kInvalidHandle;
    if (!status) return kInvalidValue;
    *status = !stream->capture ? 0 : stream->capture->invalid ? 2 : 1;
    return kSuccess;
  });
}

// --- graphs

TENON_SIM_API int cuGraphCreate(Graph** graph, unsigned flags) {
  return gate("cuGraphCreate", Need::Context, [&](Driver& d) -> int {
    if (!graph || flags != 0) return kInvalidValue;
    auto made = std::make_unique<Graph>();
    made->device = current()->ordinal;
    *graph = made.get();
    d.graphs[*graph] = std::move(made);
    return kSuccess;
  });
}

TENON_SIM_API int cuGraphDestroy(Graph* graph) {
  return gate("cuGraphDestroy", Need::Context, [&](Driver& d) -> int { return d.graphs.erase(graph) ? kSuccess : kInvalidValue; });
}

TENON_SIM_API int cuGraphAddKernelNode_v2(const Node** node, Graph* handle, const Node* const* after, size_t count,
                                          const KernelParameters* launch) {
  return gate("cuGraphAddKernelNode_v2", Need::Context, [&](Driver& d) -> int {
    Graph* const graph = find(d.graphs, handle);
    if (!graph || !launch) return kInvalidValue;
    Work work;
    const int code = make_kernel(d, *launch, graph->device, work);
    return code ? code : add_node(d, *graph, node, after, count, std::move(work));
  });
}

// Holds a copy of the other graph, which may own no memory.
TENON_SIM_API int cuGraphAddChildGraphNode(const Node** node, Graph* handle, const Node* const* after, size_t count, Graph* child) {
  return gate("cuGraphAddChildGraphNode", Need::Context, [&](Driver& d) -> int {
    Graph* const graph = find(d.graphs, handle);
    if (!graph || !find(d.graphs, child)) return kInvalidValue;
    const auto owns_memory = [](const Node& n) { return n.work.kind == WorkKind::Allocate || n.work.kind == WorkKind::Free; };
    if (std::any_of(child->nodes.begin(), child->nodes.end(), owns_memory)) return kNotSupported;
    Work work;
    work.kind = WorkKind::Graph;
    work.graph = copy(*child);
    return add_node(d, *graph, node, after, count, std::move(work));
  });
}

TENON_SIM_API int cuGraphAddEmptyNode(const Node** node, Graph* handle, const Node* const* after, size_t count) {
  return gate("cuGraphAddEmptyNode", Need::Context, [&](Driver& d) -> int {
    Graph* const graph = find(d.graphs, handle);
    return graph ? add_node(d, *graph, node, after, count, {}) : kInvalidValue;
  });
}

// Without an array: how many there are.
TENON_SIM_API int cuGraphGetNodes(Graph* handle, const Node** nodes, size_t* count) {
  return gate("cuGraphGetNodes", Need::Context, [&](Driver& d) -> int {
    const Graph* const graph = find(d.graphs, handle);
    if (!graph || !count) return kInvalidValue;
    if (!nodes) {
      *count = graph->nodes.size();
      return kSuccess;
    }
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < graph->nodes.size() ? &graph->nodes[i] : nullptr;
    *count = std::min(*count, graph->nodes.size());
    return kSuccess;
  });
}

namespace {

Graph* graph_of(Driver& d, const Node* node) {
  for (const auto& [handle, graph] : d.graphs) {
    std::vector<size_t> place;
    if (find_places(*graph, &node, 1, place)) return graph.get();
  }
  return nullptr;
}

}  // namespace

TENON_SIM_API int cuGraphNodeGetType(const Node* node, int* type) {
  return gate("cuGraphNodeGetType", Need::Context, [&](Driver& d) -> int {
    if (!type || !graph_of(d, node)) return kInvalidValue;
    *type = static_cast<int>(node->work.kind);
    return kSuccess;
  });
}

TENON_SIM_API int cuGraphKernelNodeGetParams_v2(const Node* node, KernelParameters* launch) {
  return gate("cuGraphKernelNodeGetParams_v2", Need::Context, [&](Driver& d) -> int {
    Graph* const graph = graph_of(d, node);
    if (!graph || !launch || node->work.kind != WorkKind::Kernel) return kInvalidValue;
    const KernelCall& call = node->work.kernel;
    std::vector<void*>& addresses = graph->parameters[node];
    addresses.clear();
    for (const uint64_t& parameter : call.parameters) addresses.push_back(const_cast<uint64_t*>(&parameter));
    *launch = {const_cast<Function*>(call.function.get()),
               call.blocks,
               1,
               1,
               call.threads,
               1,
               1,
               call.shared,
               addresses.data(),
               nullptr,
               nullptr,
               nullptr};
    return kSuccess;
  });
}

// --- executable graphs

TENON_SIM_API int cuGraphInstantiateWithFlags(GraphExec** handle, Graph* source, unsigned long long) {
  return gate("cuGraphInstantiateWithFlags", Need::Context, [&](Driver& d) -> int {
    const Graph* const graph = find(d.graphs, source);
    if (!graph || !handle) return kInvalidValue;
    auto exec = std::make_unique<GraphExec>(GraphExec{graph->device, {}, copy(*graph), nullptr});
    for (size_t i = 0; i < graph->nodes.size(); ++i) exec->places[&graph->nodes[i]] = i;
    *handle = exec.get();
    d.graph_execs[*handle] = std::move(exec);
    return kSuccess;
  });
}

TENON_SIM_API int cuGraphExecDestroy(GraphExec* exec) {
  return gate("cuGraphExecDestroy", Need::Context, [&](Driver& d) -> int { return d.graph_execs.erase(exec) ? kSuccess : kInvalidValue; });
}

TENON_SIM_API int cuGraphExecKernelNodeSetParams_v2(GraphExec* handle, const Node* node, const KernelParameters* launch) {
  return gate("cuGraphExecKernelNodeSetParams_v2", Need::Context, [&](Driver& d) -> int {
    GraphExec* const exec = find(d.graph_execs, handle);
    Node* const changed = exec && launch ? changed_node(*exec, node) : nullptr;
    if (!changed || changed->work.kind != WorkKind::Kernel) return kInvalidValue;
    return make_kernel(d, *launch, exec->device, changed->work);
  });
}

TENON_SIM_API int cuGraphExecChildGraphNodeSetParams(GraphExec* handle, const Node* node, Graph* child_handle) {
  return gate("cuGraphExecChildGraphNodeSetParams", Need::Context, [&](Driver& d) -> int {
    GraphExec* const exec = find(d.graph_execs, handle);
    const Graph* const child = find(d.graphs, child_handle);
    Node* const changed = exec && child ? changed_node(*exec, node) : nullptr;
    if (!changed || changed->work.kind != WorkKind::Graph) return kInvalidValue;
    if (compare(child->nodes, *changed->work.graph) != kUpdated) return kGraphUpdateFailure;
    changed->work.graph = copy(*child);
    return kSuccess;
  });
}

// Takes the parameters of a graph with the same nodes.
TENON_SIM_API int cuGraphExecUpdate_v2(GraphExec* handle, Graph* source, UpdateResult* result) {
  return gate("cuGraphExecUpdate_v2", Need::Context, [&](Driver& d) -> int {
    GraphExec* const exec = find(d.graph_execs, handle);
    const Graph* const graph = find(d.graphs, source);
    if (!exec || !graph || !result) return kInvalidValue;
    *result = {compare(graph->nodes, *exec->nodes), nullptr, nullptr};
    if (result->result != kUpdated) return kGraphUpdateFailure;
    exec->nodes = copy(*graph);
    return kSuccess;
  });
}

TENON_SIM_API int cuGraphLaunch(GraphExec* handle, void* stream_handle) {
  return gate("cuGraphLaunch", Need::Context, [&](Driver& d) -> int {
    GraphExec* const exec = find(d.graph_execs, handle);
    Stream* const stream = find_stream(d, stream_handle);
    if (!exec || !stream) return kInvalidHandle;
    Work work;
    work.kind = WorkKind::Graph;
    work.graph = exec->nodes;
    if (stream->capture) return submit(d, *stream, std::move(work));
    exec->last = d.queue.add(*stream, std::move(work), exec->last ? std::vector<Ticket>{exec->last} : std::vector<Ticket>{});
    return kSuccess;
  });
}
