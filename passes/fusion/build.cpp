// A finished group -> kernel IR. Views dissolve into index expressions; members become instructions in the
// order of their nodes; what the group does not compute is loaded. In: a Group. Out: a FusedKernel whose
// buffers and scalars name the nodes behind them.
#include <algorithm>

#include "passes/fusion/group.h"

namespace tenon::passes::fusion {
namespace {

using ir::AxisKind;
using ir::Guard;
using ir::Index;
using ir::Level;
using ir::Node;
using ir::Op;
using ir::Value;

class Build {
 public:
  explicit Build(const Group& group) : group_(group), builder_(result_.kernel) {}

  FusedKernel run() {
    number_axes();
    if (group_.update) open_update();
    std::vector<const Member*> members;
    for (const Member& m : group_.members) members.push_back(&m);
    std::sort(members.begin(), members.end(),
              [](const Member* a, const Member* b) { return a->node->id() < b->node->id(); });
    for (const Member* m : members) emit(*m);
    for (const Member* m : members) {
      if (m->stored) store(*m);
    }
    for (const Member* m : members) result_.fused.push_back(m->node);
    name(members);
    return std::move(result_);
  }

 private:
  // Parallel axes first, in the order of the root's dims; then inner or contract axes.
  void number_axes() {
    static constexpr const char* parallel[] = {"i", "j", "k", "l", "m", "n"};
    ir::Kernel& kernel = result_.kernel;
    axis_.assign(group_.axes.size(), Index());
    size_t count = 0;
    for (size_t a = 0; a < group_.axes.size(); ++a) {
      const GroupAxis& axis = group_.axes[a];
      if (axis.kind != AxisKind::Parallel || axis.extent == 1) continue;
      std::string text = count < 6 ? parallel[count] : "i" + std::to_string(count);
      ++count;
      axis_[a] = kernel.axis(kernel.add_axis(text, axis.extent, AxisKind::Parallel));
    }
    for (size_t i = 0; i < group_.inner.size(); ++i) {
      auto a = static_cast<size_t>(group_.inner[i]);
      std::string text = group_.inner.size() == 1 ? "r" : "r" + std::to_string(i);
      axis_[a] = kernel.axis(kernel.add_axis(text, group_.axes[a].extent, AxisKind::Inner));
    }
    if (group_.serial >= 0) {
      auto a = static_cast<size_t>(group_.serial);
      axis_[a] = kernel.axis(kernel.add_axis("s", group_.axes[a].extent, AxisKind::Serial));
    }
    if (group_.contract >= 0) {
      auto a = static_cast<size_t>(group_.contract);
      axis_[a] = kernel.axis(kernel.add_axis("c", group_.axes[a].extent, AxisKind::Contract));
    }
  }

  Index renumber(const Index& index) const {
    return index.substitute([&](int axis, int64_t) { return axis_[static_cast<size_t>(axis)]; });
  }
  Map renumber(const Map& map) const {
    Map result;
    for (const Index& index : map) result.push_back(renumber(index));
    return result;
  }

  // The place in the buffer of a node. Merged axes can leave a form, like (r / 3 + r mod 3) / 2, whose bounds are seen
  // too wide; the remainder by the buffer's size is the same place and shows that it is inside.
  Index place_in(const Node& node, const Map& map) const {
    const Index place = renumber(ir::flatten(map, node.shape()));
    return place.bounds().hi < node.numel() ? place : ir::floor_mod(place, node.numel());
  }

  Level level_of(const Index& index) const {
    for (int a : index.axes()) {
      AxisKind kind = result_.kernel.axes[static_cast<size_t>(a)].kind;
      if (kind == AxisKind::Inner || kind == AxisKind::Serial) return Level::Full;
      if (kind == AxisKind::Contract) return Level::Contract;
    }
    return Level::Row;
  }

  // The buffer that starts as the base.
  void open_update() {
    const Member& m = group_.members.front();
    updated_ = buffer_behind(m.node->inputs()[0]);
    place_ = renumber(update_place(*m.node, m.map));
    update_slot_ = result_.kernel.add_buffer("y0", m.node->dtype(), ir::Role::InOut, m.node->numel());
    result_.outputs.push_back(m.node);
    result_.bases.push_back(updated_);
  }

  int input_buffer(Node* node) {
    for (size_t i = 0; i < result_.inputs.size(); ++i) {
      if (result_.inputs[i] == node) return in_slot_[i];
    }
    result_.inputs.push_back(node);
    in_slot_.push_back(result_.kernel.add_buffer("x" + std::to_string(in_slot_.size()), node->dtype(),
                                                 ir::Role::In, node->numel()));
    return in_slot_.back();
  }

  Value scalar(Node* node) {
    for (size_t i = 0; i < result_.scalars.size(); ++i) {
      if (result_.scalars[i] == node) return builder_.scalar(static_cast<int>(i));
    }
    result_.scalars.push_back(node);
    return builder_.scalar(
        result_.kernel.add_scalar("a" + std::to_string(result_.scalars.size() - 1), node->dtype()));
  }

  // The value of `node` at `map` (in the group's axes), looking through views. Where a guard fails it is
  // `otherwise`.
  Value read(Node* node, Map map, std::vector<Guard> guards = {}, Value otherwise = -1) {
    while (is_view(node->op())) {
      if (group_.find(node) != nullptr && group_.find(node)->map == map && value_.count(node) != 0) break;
      map = through_view(*node, map);
      node = node->inputs()[0];
    }
    // All readers in the group ask for the same element, though merged axes may spell its place in two ways.
    if (auto it = value_.find(node); it != value_.end()) return it->second;
    if (node->op() == Op::Const) return guarded(scalar(node), guards, otherwise);
    if (node->op() == Op::Iota) {
      Index index = renumber(map[static_cast<size_t>(node->ints()[0])]);
      return guarded(builder_.index(index, level_of(index)), guards, otherwise);
    }
    if (is_empty_reduce(*node))
      return guarded(builder_.constant(ir::reduce_identity(node->op(), node->dtype())), guards, otherwise);
    Index index = guards.empty() ? place_in(*node, map) : renumber(ir::flatten(map, node->shape()));
    Level level = level_of(index);
    for (const Guard& g : guards) level = std::max(level, level_of(g.value));
    if (node == updated_ && index == place_ && guards.empty() && group_.inner.empty()) {
      return builder_.load(update_slot_, index, level);
    }
    return builder_.load(input_buffer(node), index, level, std::move(guards), otherwise);
  }

  // A value that is computed, not loaded, under guards.
  Value guarded(Value value, const std::vector<Guard>& guards, Value otherwise) {
    for (const Guard& g : guards) {
      Value at = builder_.index(g.value, level_of(g.value));
      Value inside = builder_.op(
          Op::And, {builder_.op(Op::Ge, {at, builder_.constant(ir::constant(ir::DType::I64, g.lo))}),
                    builder_.op(Op::Lt, {at, builder_.constant(ir::constant(ir::DType::I64, g.hi))})});
      value = builder_.op(Op::Where, {inside, value, otherwise});
    }
    return value;
  }

  void emit(const Member& m) {
    Node* node = m.node;
    Op op = node->op();
    Value value;
    if (is_view(op)) {
      value = read(node->inputs()[0], through_view(*node, m.map));
    } else if (op == Op::Const || op == Op::Iota || is_empty_reduce(*node)) {
      value = read(node, m.map);
    } else if (ir::is_reduce(op)) {
      value = builder_.reduce(op, read(node->inputs()[0], reduced_operand_map(group_, *node, m.map)),
                              *group_.tree);
    } else if (ir::is_scan(op)) {
      value = read(node->inputs()[0], m.map);
      if (!is_empty_scan(*node)) value = builder_.scan(op, value);
    } else if (op == Op::Dot) {
      Map a = m.map, b = m.map;
      a.back() = b[b.size() - 2] = group_.axis(group_.contract);
      Value left = read(node->inputs()[0], std::move(a));
      value = builder_.contract(left, read(node->inputs()[1], std::move(b)));
    } else if (op == Op::Pad) {
      value = emit_pad(m);
    } else if (op == Op::Cat) {
      value = emit_cat(m);
    } else if (op == Op::Gather) {
      value = emit_gather(m);
    } else if (is_update(*node)) {
      value = emit_update(m);
    } else if (op == Op::Update) {
      value = read(node->inputs()[0], m.map);
    } else {
      SmallVector<Value, 3> args;
      for (Node* input : node->inputs()) args.push_back(read(input, m.map));
      value = builder_.op(op, args, node->dtype());
    }
    value_.emplace(node, value);
  }

  Value emit_pad(const Member& m) {
    Node* x = m.node->inputs()[0];
    Value otherwise = read(m.node->inputs()[1], {});
    if (x->numel() == 0) return otherwise;
    Map shifted = m.map;
    std::vector<Guard> guards;
    for (size_t d = 0; d < shifted.size(); ++d) {
      shifted[d] = m.map[d] - m.node->ints()[d];
      if (m.node->shape()[d] != x->shape()[d]) guards.push_back({renumber(shifted[d]), 0, x->shape()[d]});
    }
    return read(x, std::move(shifted), std::move(guards), otherwise);
  }

  // Each part is read where the index lies in it; the first part needs no other value where it does not.
  Value emit_cat(const Member& m) {
    auto dim = static_cast<size_t>(m.node->ints()[0]);
    int64_t start = 0;
    Value value = -1;
    for (Node* part : m.node->inputs()) {
      int64_t size = part->shape()[dim];
      if (size == 0) continue;
      Map shifted = m.map;
      shifted[dim] = m.map[dim] - start;
      if (value < 0) value = builder_.constant(ir::constant(m.node->dtype(), int64_t{0}));
      value = read(part, shifted, {{renumber(shifted[dim]), 0, size}}, value);
      start += size;
    }
    return value;
  }

  // x's place with the gathered coordinate at 0, and the distance of one step along it.
  Value emit_gather(const Member& m) {
    const auto dim = static_cast<int>(m.node->ints()[0]);
    const GatherSource source = gather_source(*m.node);
    Value position = read(m.node->inputs()[1], m.map);
    Index start = source.flat.substitute(
        [&](int d, int64_t) { return d == dim ? Index() : m.map[static_cast<size_t>(d)]; });
    start = renumber(start);
    return builder_.load(input_buffer(source.buffer), start, {position, source.flat.stride(dim).value},
                         level_of(start));
  }

  // The value to be stored.
  Value emit_update(const Member& m) {
    Node* value = m.node->inputs()[1];
    if (!group_.from_memory) return read(value, m.map);
    Index index = renumber(ir::flatten(m.map, value->shape()));
    return builder_.load(input_buffer(value), index, level_of(index));
  }

  void store(const Member& m) {
    Node* node = m.node;
    if (is_update(*node)) {
      builder_.store(update_slot_, place_, value_.at(node), level_of(place_));
      return;
    }
    int buffer = result_.kernel.add_buffer("y" + std::to_string(result_.outputs.size()), node->dtype(),
                                           ir::Role::Out, node->numel());
    result_.outputs.push_back(node);
    Index index = renumber(ir::flatten(m.map, node->shape()));
    builder_.store(buffer, index, value_.at(node), level_of(index));
  }

  void name(const std::vector<const Member*>& members) {
    std::string text;
    size_t shown = 0;
    for (const Member* m : members) {
      if (shown == 6) {
        text += "_etc";
        break;
      }
      std::string_view op = ir::info(m->node->op()).text;
      if (op.starts_with("reduce.")) op.remove_prefix(7);
      if (is_view(m->node->op())) op = "copy";
      text += (text.empty() ? "" : "_") + std::string(op);
      std::replace(text.begin(), text.end(), '.', '_');
      ++shown;
    }
    result_.kernel.name = text;
  }

  const Group& group_;
  FusedKernel result_;
  ir::KernelBuilder builder_;
  std::vector<Index> axis_;
  std::vector<int> in_slot_;
  std::unordered_map<const Node*, Value> value_;
  Node* updated_ = nullptr;  // the node behind the buffer that is updated
  ir::Index place_;                // where
  int update_slot_ = -1;
};

}  // namespace

namespace {

// The view chain of a Cat's operand over a placeholder for what is behind it.
ir::NodeRef over_placeholder(Node* operand, const Node* buffer) {
  if (buffer->op() == Op::Const) {
    const ir::Dims one(operand->shape().size(), 1);
    return ir::expand(ir::make_input(operand->dtype(), one, nullptr, operand->device()), operand->shape());
  }
  std::vector<Node*> views;
  for (Node* node = operand; node != buffer; node = node->inputs()[0]) views.push_back(node);
  ir::NodeRef result = ir::make_input(buffer->dtype(), buffer->shape(), nullptr, buffer->device());
  for (; !views.empty(); views.pop_back())
    result = ir::make_node(views.back()->op(), {{result}}, views.back()->ints(), result->dtype(), ir::Folding::Off);
  return result;
}

JoinPart join_part(const ir::Dims& shape, const PartSource& source, const ir::Dims& strides, int64_t to) {
  JoinPart part{source.offset, to, {}};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const JoinPart::Dim dim{shape[d], source.strides[d], strides[d]};
    if (!part.dims.empty() && part.dims.back().from == dim.from * dim.extent &&
        part.dims.back().to == dim.to * dim.extent) {
      part.dims.back() = {part.dims.back().extent * dim.extent, dim.from, dim.to};
    } else {
      part.dims.push_back(dim);
    }
  }
  return part;
}

FusedKernel build_join(Node* cat) {
  FusedKernel result;
  result.kernel.name = ir::info(cat->op()).text;
  auto parts = std::make_shared<std::vector<JoinPart>>();
  std::vector<ir::NodeRef> operands;
  const ir::Dims strides = ir::contiguous_strides(cat->shape());
  const auto dim = static_cast<size_t>(cat->ints()[0]);
  int64_t start = 0;
  for (Node* operand : cat->inputs()) {
    const PartSource source = part_source(operand);
    const bool constant = source.buffer->op() == Op::Const;
    result.kernel.add_buffer("x" + std::to_string(operands.size()), operand->dtype(), ir::Role::In,
                             constant ? 1 : operand->numel());
    result.inputs.push_back(source.buffer);
    if (constant) result.scalars.push_back(source.buffer);
    operands.push_back(over_placeholder(operand, source.buffer));
    parts->push_back(join_part(operand->shape(), source, strides, start * strides[dim]));
    start += operand->shape()[dim];
  }
  result.kernel.add_buffer("y0", cat->dtype(), ir::Role::Out, cat->numel());
  result.outputs = result.fused = {cat};
  result.routine = ir::make_node(Op::Cat, operands, cat->ints(), cat->dtype(), ir::Folding::Off);
  result.parts = std::move(parts);
  return result;
}

FusedKernel build_routine(Node* node) {
  if (node->op() == Op::Cat) return build_join(node);
  FusedKernel result;
  result.kernel.name = ir::info(node->op()).text;
  std::vector<ir::NodeRef> placeholders;
  for (Node* input : node->inputs()) {
    Node* operand = routine_operand(*node, input);
    result.kernel.add_buffer("x" + std::to_string(placeholders.size()), operand->dtype(), ir::Role::In,
                             operand->numel());
    result.inputs.push_back(buffer_behind(operand));
    placeholders.push_back(ir::make_input(operand->dtype(), operand->shape(), nullptr, operand->device()));
    if (reads_through(*node, input)) placeholders.back() = ir::expand(placeholders.back(), input->shape());
  }
  result.kernel.add_buffer("y0", node->dtype(), ir::Role::Out, node->numel());
  result.outputs = result.fused = {node};
  result.routine =
      ir::make_node(node->op(), placeholders, node->ints(), node->dtype(), ir::Folding::Off);
  return result;
}

}  // namespace

FusedKernel build_kernel(const Group& group) {
  return group.routine ? build_routine(group.members.front().node) : Build(group).run();
}

}  // namespace tenon::passes::fusion
