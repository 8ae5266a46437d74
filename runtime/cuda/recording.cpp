#include "runtime/cuda/recording.h"

#include "runtime/cuda/libraries.h"

namespace tenon::runtime::cuda {
namespace {

std::vector<void*> addresses(const std::vector<uint64_t>& words) {
  std::vector<void*> list;
  list.reserve(words.size());
  for (const uint64_t& word : words) list.push_back(const_cast<uint64_t*>(&word));
  return list;
}

KernelNodeParams node_params(const Work& work, std::vector<void*>& parameters) {
  return {work.function, work.blocks, 1, 1, work.threads, 1, 1, work.shared_bytes, parameters.data(), nullptr, nullptr, nullptr};
}

}  // namespace

void launch(Context& context, CUstream stream, const Work& work) {
  std::vector<void*> parameters = addresses(work.words);
  context.check(context.api().launch(work.function, work.blocks, 1, 1, work.threads, 1, 1, work.shared_bytes, stream, parameters.data(), nullptr),
                "cuLaunchKernel");
}

CudaRecording::~CudaRecording() {
  if (context_.is_lost()) return;
  const Context::Current current(context_);
  destroy();
}

void CudaRecording::destroy() noexcept {
  if (exec_) graphs()->graph_exec_destroy(exec_);
  if (graph_) graphs()->graph_destroy(graph_);
  exec_ = nullptr;
  graph_ = nullptr;
  nodes_.clear();
}

void CudaRecording::run(const std::vector<Work>& work) {
  for (const Work& piece : work) {
    if (piece.name) context_.note_launch(*piece.name);
  }
  const bool plain = runs_ < kPlainRuns || work.size() < kFewest || shapes_ > kMostShapes || !graphs();
  if (runs_ < kPlainRuns) ++runs_;
  if (plain) return run_plainly(work);
  try {
    if (exec_ && has_shape(work)) {
      update(work);
    } else {
      ++shapes_;
      destroy();
      build(work);
    }
  } catch (...) {  // the next run has plain launches
    destroy();
    shapes_ = kMostShapes + 1;
    throw;
  }
  context_.check(graphs()->graph_launch(exec_, stream_), "cuGraphLaunch");
}

void CudaRecording::run_plainly(const std::vector<Work>& work) {
  for (const Work& piece : work) piece.function ? launch(context_, stream_, piece) : piece.capture();
}

bool CudaRecording::has_shape(const std::vector<Work>& work) const {
  if (work.size() != nodes_.size()) return false;
  for (size_t i = 0; i < work.size(); ++i) {
    if (work[i].function != nodes_[i].function || work[i].words.size() != nodes_[i].words.size()) return false;
  }
  return true;
}

CUgraph CudaRecording::captured(const Work& work) {
  context_.check(graphs()->stream_begin_capture(stream_, kCaptureThreadLocal), "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    work.capture();
  } catch (...) {
    if (graphs()->stream_end_capture(stream_, &graph) == kSuccess && graph) graphs()->graph_destroy(graph);
    throw;
  }
  context_.check(graphs()->stream_end_capture(stream_, &graph), "cuStreamEndCapture");
  return graph;
}

void CudaRecording::build(const std::vector<Work>& work) {
  context_.check(graphs()->graph_create(&graph_, 0), "cuGraphCreate");
  for (const Work& piece : work) {
    CUgraphNode node = nullptr;
    const CUgraphNode* before = nodes_.empty() ? nullptr : &nodes_.back().node;
    const size_t count = before ? 1 : 0;
    if (piece.function) {
      std::vector<void*> parameters = addresses(piece.words);
      const KernelNodeParams params = node_params(piece, parameters);
      context_.check(graphs()->graph_add_kernel(&node, graph_, before, count, &params), "cuGraphAddKernelNode");
    } else {
      CUgraph child = captured(piece);  // the node has a copy of it
      const CUresult result = graphs()->graph_add_child(&node, graph_, before, count, child);
      graphs()->graph_destroy(child);
      context_.check(result, "cuGraphAddChildGraphNode");
    }
    nodes_.push_back({piece.function, piece.blocks, piece.threads, piece.shared_bytes, piece.words, node});
  }
  context_.check(graphs()->graph_instantiate(&exec_, graph_, 0), "cuGraphInstantiateWithFlags");
}

void CudaRecording::update(const std::vector<Work>& work) {
  for (size_t i = 0; i < work.size(); ++i) {
    const Work& piece = work[i];
    Node& node = nodes_[i];
    if (piece.words == node.words && piece.blocks == node.blocks) continue;
    if (piece.function) {
      std::vector<void*> parameters = addresses(piece.words);
      const KernelNodeParams params = node_params(piece, parameters);
      context_.check(graphs()->graph_set_kernel(exec_, node.node, &params), "cuGraphExecKernelNodeSetParams");
    } else {
      CUgraph child = captured(piece);
      const CUresult result = graphs()->graph_set_child(exec_, node.node, child);
      graphs()->graph_destroy(child);
      context_.check(result, "cuGraphExecChildGraphNodeSetParams");
    }
    node.words = piece.words;
    node.blocks = piece.blocks;
  }
}

}  // namespace tenon::runtime::cuda
