// A window (see GraphKey) becomes an input of its own, or a part of one that begins at the window's origin:
//   graph (%x: f32[1000,64])                             graph (%w: f32[1,64])
//     %0 = slice %x starts=[7,0] sizes=[1,64]      ->      %1 = reduce.sum %w dims=[1]
//     %1 = reduce.sum %0 dims=[1]
//
//   graph (%x: f32[1000,64], %v: f32[64])                graph (%w: f32[64000], %v: f32[64])      %w begins at row 7 of %x
//     %0 = update %x, %v strides=[1] offset=448    ->      %b = reshape %w [1,64000]
//                                                          %0 = update %b, %v strides=[1] offset=0
// The update's result begins where %x begins, its base at the origin. So no pass may take the one for the other: what windows read is
// %w, and no rule sees in the base, a reshape, that an update writes what is there.
#include "runtime/plan/analysis.h"

#include <algorithm>
#include <unordered_set>

#include "passes/graph/substitution.h"
#include "runtime/device/device.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using passes::Substitution;

std::vector<NodeRef> choose_outputs(const GraphKey& key) {
  std::vector<NodeRef> outputs;
  std::unordered_set<const Node*> chosen;
  auto choose = [&](Node* node) {
    if (node && node->op() != Op::Input && chosen.insert(node).second) outputs.emplace_back(node);
  };
  for (int32_t root : key.roots) choose(key.nodes[root]);
  for (Node* node : key.nodes) {
    const bool held = !node->is_leaf() && node->holders.load(std::memory_order_relaxed) > 0;
    if (held && !chosen.contains(node)) choose(stored_for(node));
  }
  for (int32_t kept : key.kept) choose(key.nodes[kept]);
  for (int32_t shared : key.shared) choose(key.nodes[shared]);
  return outputs;
}

// Puts inputs of their own in the place of windows, and updates of such in that of updates.
class WindowInputs {
 public:
  WindowInputs(const GraphKey& key, Substitution& substitution, Analysis& analysis)
      : key_(key), substitution_(substitution), analysis_(analysis), by_origin_(key.origins.size()) {
    for (const GraphKey::Window& w : key.windows) {
      Shared& shared = by_origin_[w.origin];
      const Node& node = node_of(w);
      ++shared.windows;
      if (node.op() == Op::Update) shared.written = true;
      else shared.count = std::max(shared.count, w.offset + window_span(node));
    }
  }

  // The next of the key's windows, if it is this node; its operands are rebuilt.
  bool replace(const Node* node) {
    if (next_ == key_.windows.size() || &node_of(key_.windows[next_]) != node) return false;
    const GraphKey::Window& window = key_.windows[next_++];
    if (node->op() == Op::Update) {
      update(*node, window);
    } else {
      part(*node, window);
    }
    return true;
  }

 private:
  // What the windows with one origin have in common.
  struct Shared {
    int windows = 0;
    bool written = false;
    int64_t count = 0;  // elements that they reach
    NodeRef input;
  };

  const Node& node_of(const GraphKey::Window& window) const { return *key_.nodes[window.node]; }

  NodeRef new_input(const Node& like, const ir::Dims& shape, int32_t origin, bool part) {
    NodeRef made = ir::make_input(like.dtype(), shape, nullptr, like.device());
    analysis_.windows[made.get()] = {key_.number(&like), origin, part};
    return made;
  }

  // All that lies behind an origin, in one dim. What is written is as large as the input, so that it can take its place.
  const NodeRef& flat_input(const Node& input, int32_t origin) {
    Shared& shared = by_origin_[origin];
    if (!shared.input) {
      const int64_t count = shared.written ? input.numel() : shared.count;
      shared.input = new_input(input, ir::Dims{count}, origin, !shared.written);
    }
    return shared.input;
  }

  void part(const Node& node, const GraphKey::Window& window) {
    const Node& input = *node.inputs()[0];
    const ir::Dims strides = window_strides(node);
    const Shared& shared = by_origin_[window.origin];
    if (shared.windows == 1 && !shared.written && window_span(node) == node.numel() && row_major(node.shape(), strides))
      return substitution_.replace(&node, new_input(input, node.shape(), window.origin, true));
    ir::Dims ints = node.shape();
    for (int64_t stride : strides) ints.push_back(stride);
    ints.push_back(window.offset);
    const NodeRef from[] = {flat_input(input, window.origin)};
    substitution_.replace(&node, ir::make_node(Op::Strided, from, ints, node.dtype(), ir::Folding::Off));
  }

  void update(const Node& node, const GraphKey::Window& window) {
    const Node& base = *node.inputs()[0];
    const NodeRef from = base.op() == Op::Input ? reshaped(flat_input(base, window.origin), {1, base.numel()}) : updated_.at(&base);
    ir::Dims ints = node.ints();
    ints.back() = window.offset;
    const NodeRef operands[] = {from, substitution_.of(node.inputs()[1])};
    NodeRef made = ir::make_node(Op::Update, operands, ints, node.dtype(), ir::Folding::Off);
    substitution_.replace(&node, reshaped(made, node.shape()));
    updated_[&node] = std::move(made);
  }

  static NodeRef reshaped(const NodeRef& node, const ir::Dims& shape) {
    return ir::make_node(Op::Reshape, {&node, 1}, shape, node->dtype(), ir::Folding::Off);
  }

  static bool row_major(const ir::Dims& shape, const ir::Dims& strides) {
    const ir::Dims expected = ir::contiguous_strides(shape);
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] != 1 && strides[d] != expected[d]) return false;
    }
    return true;
  }

  const GraphKey& key_;
  Substitution& substitution_;
  Analysis& analysis_;
  std::vector<Shared> by_origin_;
  std::unordered_map<const Node*, NodeRef> updated_;  // updates in the base's shape
  size_t next_ = 0;
};

// Puts selections by a number that is given at each run in the place of pads whose places are not in the key.
class PlacedRows {
 public:
  // What stands for a place is appended to `numbers`.
  PlacedRows(const GraphKey& key, Substitution& substitution, Analysis& analysis, std::vector<NodeRef>& numbers)
      : key_(key), substitution_(substitution), analysis_(analysis), numbers_(numbers) {}

  // The next of the key's pads, if it is this node; its operands are rebuilt.
  bool replace(const Node* node) {
    if (next_ == key_.places.size() || key_.nodes[key_.places[next_].pad] != node) return false;
    const size_t rank = node->shape().size();
    const std::span<const int64_t> amounts = node->ints();
    ir::Dims lo(amounts.first(rank)), hi(amounts.subspan(rank));
    NodeRef here;
    for (; next_ < key_.places.size() && key_.nodes[key_.places[next_].pad] == node; ++next_) {
      const auto dim = static_cast<size_t>(key_.places[next_].dim);
      lo[dim] = hi[dim] = 0;
      const NodeRef along = ir::binary(Op::Eq, ir::make_iota(node->shape(), static_cast<int64_t>(dim), node->device()), place(*node));
      here = here ? ir::binary(Op::And, here, along) : along;
    }
    const NodeRef fill(node->inputs()[1]);
    const NodeRef row = ir::expand(ir::pad(substitution_.of(node->inputs()[0]), fill, lo, hi), node->shape());
    substitution_.replace(node, ir::where(here, row, ir::make_const({node->dtype(), fill->bits()}, node->shape(), node->device())));
    return true;
  }

 private:
  // A number that no other constant has: places that are equal in this graph need not be so in the next one.
  NodeRef place(const Node& pad) {
    constexpr int64_t kNowhere = int64_t{1} << 62;
    NodeRef number = ir::make_const({ir::DType::I64, static_cast<uint64_t>(kNowhere) + next_}, pad.shape(), pad.device());
    analysis_.places[number.get()] = key_.places[next_];
    numbers_.push_back(number);
    return number;
  }

  const GraphKey& key_;
  Substitution& substitution_;
  Analysis& analysis_;
  std::vector<NodeRef>& numbers_;
  size_t next_ = 0;
};

// The outputs, computed from window inputs and rows that are put where a number says.
std::vector<NodeRef> with_arguments(const GraphKey& key, Analysis& analysis, std::vector<NodeRef>& numbers) {
  if (key.windows.empty() && key.places.empty()) return analysis.outputs;
  Substitution inputs;
  WindowInputs windows(key, inputs, analysis);
  PlacedRows rows(key, inputs, analysis, numbers);
  for (Node* node : key.nodes) {
    if (!windows.replace(node) && !rows.replace(node)) inputs.rebuild(node);
  }
  return inputs.of(analysis.outputs);
}

// What the program sees of each input and output: an input that is only read in one other shape is known by that.
void note_shapes(const GraphKey& key, Analysis& a) {
  std::unordered_map<const Node*, const Node*> seen_as;  // an input's only reshape; null: it has other readers
  for (Node* node : key.nodes) {
    for (Node* input : node->inputs()) {
      if (input->op() != Op::Input) continue;
      const Node* as = node->op() == Op::Reshape ? node : nullptr;
      auto [it, fresh] = seen_as.emplace(input, as);
      if (!fresh && it->second != as) it->second = nullptr;
    }
  }
  for (const auto& [input, as] : seen_as) {
    if (as) a.shapes[input] = as->shape();
  }
  for (const auto& [input, window] : a.windows) {
    if (!window.part) a.shapes[input] = key.nodes[window.input]->shape();
  }
  for (size_t k = 0; k < a.outputs.size(); ++k) {
    const NodeRef& made = a.graph.outputs[k];
    if (made->op() != Op::Input) a.shapes[made.get()] = a.outputs[k]->shape();
  }
}

}  // namespace

bool is_view(const Node& node) { return ir::is_movement(node.op()) && node.op() != Op::Pad && node.op() != Op::Cat; }

Node* stored_for(Node* held) {
  Node* best = held;
  Node* node = held;
  while (is_view(*node)) {
    node = node->inputs()[0];
    if (node->numel() <= best->numel()) best = node;
  }
  return node->is_leaf() ? nullptr : best;
}

Analysis analyse(const GraphKey& key, const compiler::Settings& settings) {
  Analysis a;
  a.outputs = choose_outputs(key);
  std::vector<Node*> hidden;
  for (size_t i = 0; i < key.nodes.size(); ++i) {
    Node* node = key.nodes[i];
    if (node->op() != Op::Const || changes_code(node->dtype(), node->bits())) continue;
    a.constants.emplace(node, static_cast<int32_t>(i));
    hidden.push_back(node);
  }
  std::vector<NodeRef> places;
  const std::vector<NodeRef> outputs = with_arguments(key, a, places);
  for (const NodeRef& place : places) hidden.push_back(place.get());
  compiler::Program program = compiler::compile_graph(outputs, hidden, settings);
  a.graph = std::move(program.graph);
  a.fusion = std::move(program.fusion);
  note_shapes(key, a);
  return a;
}

compiler::Settings compiler_settings(const Options& options) {
  compiler::Settings settings;
  for (Device* device : all_devices()) settings.fusion.targets[device->tag()] = device->target(options);
  settings.simplify = options.simplify;
  settings.fusion.enabled = options.fusion;
  settings.verify = options.verify;
  return settings;
}

}  // namespace tenon::runtime
