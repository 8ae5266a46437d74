// A finished group -> kernel IR, or a call. Views dissolve into index expressions; members become instructions in the
// order of their nodes; what the group does not compute is loaded. In: a Group. Out: a FusedKernel whose
// buffers and scalars name the nodes behind them.
#include <algorithm>

#include "ir/graph/node_text.h"
#include "ir/kernel/kernel_builder.h"
#include "passes/fusion/group.h"
#include "passes/fusion/reads.h"

namespace tenon::passes::fusion {
namespace {

class Build {
 public:
  explicit Build(const Group& group) : group_(group), kernel_(result_.work.emplace<ir::Kernel>()), builder_(kernel_) {}

  FusedKernel run() {
    number_axes();
    if (group_.update) open_update();
    std::vector<const Member*> members;
    for (const Member& m : group_.members) members.push_back(&m);
    std::ranges::sort(members, [](const Member* a, const Member* b) { return a->node->id() < b->node->id(); });
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
    axis_.assign(group_.axes.size(), Index());
    size_t count = 0;
    for (size_t a = 0; a < group_.axes.size(); ++a) {
      const GroupAxis& axis = group_.axes[a];
      if (axis.kind != AxisKind::Parallel || axis.extent == 1) continue;
      std::string text = count < 6 ? parallel[count] : "i" + std::to_string(count);
      ++count;
      axis_[a] = kernel_.axis(kernel_.add_axis(text, axis.extent, AxisKind::Parallel));
    }
    if (group_.reduction) number("r", group_.reduction->axes, AxisKind::Inner);
    if (group_.scan) number("s", {*group_.scan}, AxisKind::Serial);
    if (group_.contraction) number("c", {*group_.contraction}, AxisKind::Contract);
    for (size_t a = 0; a < axis_.size(); ++a) {
      const Index same = Index::axis(static_cast<int>(a), group_.extent(static_cast<int>(a)));
      renumbered_ = renumbered_ || !(axis_[a] == same);
    }
  }

  void number(const std::string& name, const std::vector<int>& axes, AxisKind kind) {
    for (size_t i = 0; i < axes.size(); ++i) {
      const std::string text = axes.size() == 1 ? name : name + std::to_string(i);
      axis_[axes[i]] = kernel_.axis(kernel_.add_axis(text, group_.extent(axes[i]), kind));
    }
  }

  Index renumber(const Index& index) const {
    return renumbered_ ? index.substitute([&](int axis, int64_t) { return axis_[axis]; }) : index;
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

  std::vector<Guard> renumber(std::vector<Guard> guards) const {
    for (Guard& guard : guards) guard.value = renumber(guard.value);
    return guards;
  }

  Level level_of(const Index& index) const {
    for (int a : index.axes()) {
      const Level level = ir::level_of(kernel_.axes[a].kind);
      if (level != Level::Row) return level;
    }
    return Level::Row;
  }

  // The buffer that starts as the base.
  void open_update() {
    const Member& m = group_.members.front();
    updated_ = buffer_behind(m.node->inputs()[0]);
    place_ = renumber(update_place(*m.node, m.map));
    update_slot_ = kernel_.add_buffer("y0", m.node->dtype(), ir::Role::InOut, m.node->numel());
    result_.outputs.push_back(m.node);
    result_.bases.push_back(updated_);
  }

  int input_buffer(Node* node) {
    for (size_t i = 0; i < result_.inputs.size(); ++i) {
      if (result_.inputs[i] == node) return in_slot_[i];
    }
    result_.inputs.push_back(node);
    in_slot_.push_back(kernel_.add_buffer("x" + std::to_string(in_slot_.size()), node->dtype(), ir::Role::In, node->numel()));
    return in_slot_.back();
  }

  // A zero stands in a GPU's code: its maximum of zeros of different signs is not the operation's, so a scalar there is another number.
  static bool is_code(const Node& constant) {
    return constant.device() != 0 && ir::is_float(constant.dtype()) && ir::to_double({constant.dtype(), constant.bits()}) == 0;
  }

  Value scalar(Node* node) {
    for (size_t i = 0; i < result_.scalars.size(); ++i) {
      if (result_.scalars[i] == node) return builder_.scalar(static_cast<int>(i));
    }
    result_.scalars.push_back(node);
    return builder_.scalar(kernel_.add_scalar("a" + std::to_string(result_.scalars.size() - 1), node->dtype()));
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
    if (node->op() == Op::Const)
      return guarded(is_code(*node) ? builder_.constant({node->dtype(), node->bits()}) : scalar(node), guards, otherwise);
    if (node->op() == Op::Iota) {
      Index index = renumber(map[node->ints()[0]]);
      return guarded(builder_.index(index, level_of(index)), guards, otherwise);
    }
    if (is_empty_reduce(*node)) return guarded(builder_.constant(ir::reduce_identity(node->op(), node->dtype())), guards, otherwise);
    Index index = guards.empty() ? place_in(*node, map) : renumber(ir::flatten(map, node->shape()));
    Level level = level_of(index);
    for (const Guard& g : guards) level = std::max(level, level_of(g.value));
    if (node == updated_ && index == place_ && guards.empty() && !group_.reduction) {
      return builder_.load(update_slot_, index, level);
    }
    return builder_.load(input_buffer(node), index, level, std::move(guards), otherwise);
  }

  // A value that is computed, not loaded, under guards.
  Value guarded(Value value, const std::vector<Guard>& guards, Value otherwise) {
    for (const Guard& g : guards) {
      Value at = builder_.index(g.value, level_of(g.value));
      Value inside = builder_.op(Op::And, {builder_.op(Op::Ge, {at, builder_.constant(ir::constant(DType::I64, g.lo))}),
                                           builder_.op(Op::Lt, {at, builder_.constant(ir::constant(DType::I64, g.hi))})});
      value = builder_.op(Op::Where, {inside, value, otherwise});
    }
    return value;
  }

  void emit(const Member& m) {
    Node* node = m.node;
    const Op op = node->op();
    std::vector<Read> from = reads(group_, *node, m.map);
    const auto operand = [&](size_t i) { return read(from[i].operand, std::move(from[i].map)); };
    Value value;
    if (from.empty()) {
      value = read(node, m.map);  // of a leaf, or of nothing
    } else if (is_view(op) || is_copy(*node)) {
      value = operand(0);
    } else if (ir::is_reduce(op)) {
      value = builder_.reduce(op, operand(0), group_.reduction->tree);
    } else if (ir::is_scan(op)) {
      value = operand(0);
      if (!is_empty_scan(*node)) value = builder_.scan(op, value);
    } else if (op == Op::Dot) {
      const Value left = operand(0);
      value = builder_.contract(left, operand(1));
    } else if (op == Op::Pad) {
      value = operand(1);
      if (from[0].operand->numel() > 0) value = read(from[0].operand, from[0].map, renumber(from[0].guards), value);
    } else if (op == Op::Cat) {
      value = emit_cat(*node, from);
    } else if (op == Op::Gather) {
      value = emit_gather(m, operand(1));
    } else if (op == Op::Update) {  // the value to be stored; of nothing, the base
      value = from.back().access == Access::Whole ? emit_stored(from.back().operand, from.back().map) : operand(from.size() - 1);
    } else {
      SmallVector<Value, 3> args;
      for (size_t i = 0; i < from.size(); ++i) args.push_back(operand(i));
      if (ir::has_trait(op, ir::TraitCommutes)) std::ranges::sort(args);  // one order, so that a + b and b + a are the same code
      value = builder_.op(op, args, node->dtype());
    }
    value_.emplace(node, value);
  }

  // Each part is read where the index lies in it; the first part needs no other value where it does not.
  Value emit_cat(const Node& cat, const std::vector<Read>& parts) {
    Value value = -1;
    for (const Read& part : parts) {
      if (part.guards[0].lo == part.guards[0].hi) continue;
      if (value < 0) value = builder_.constant(ir::constant(cat.dtype(), int64_t{0}));
      value = read(part.operand, part.map, renumber(part.guards), value);
    }
    return value;
  }

  // x's place with the gathered coordinate at 0, and the distance of one step along it.
  Value emit_gather(const Member& m, Value position) {
    const auto dim = static_cast<int>(m.node->ints()[0]);
    const GatherSource source = gather_source(*m.node);
    Index start = source.flat.substitute([&](int d, int64_t) { return d == dim ? Index() : m.map[d]; });
    start = renumber(start);
    return builder_.load(input_buffer(source.buffer), start, {position, source.flat.stride(dim).value}, level_of(start));
  }

  // A value that lies in a buffer of its own.
  Value emit_stored(Node* node, const Map& map) {
    const Index index = renumber(ir::flatten(map, node->shape()));
    return builder_.load(input_buffer(node), index, level_of(index));
  }

  void store(const Member& m) {
    Node* node = m.node;
    if (is_update(*node)) {
      builder_.store(update_slot_, place_, value_.at(node), level_of(place_));
      return;
    }
    int buffer = kernel_.add_buffer("y" + std::to_string(result_.outputs.size()), node->dtype(), ir::Role::Out, node->numel());
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
      if (is_view(m->node->op()) || is_copy(*m->node)) op = "copy";
      text += (text.empty() ? "" : "_") + std::string(op);
      std::replace(text.begin(), text.end(), '.', '_');
      ++shown;
    }
    kernel_.name = text;
  }

  const Group& group_;
  FusedKernel result_;
  ir::Kernel& kernel_;  // of the result
  ir::KernelBuilder builder_;
  std::vector<Index> axis_;  // of the kernel, by the group's axis
  bool renumbered_ = false;  // is any of them another one
  std::vector<int> in_slot_;
  std::unordered_map<const Node*, Value> value_;
  Node* updated_ = nullptr;  // the node behind the buffer that is updated
  Index place_;              // where
  int update_slot_ = -1;
};

FusedKernel build_call(const Group& group) {
  std::vector<Node*> made;  // in one order, whatever that of the graph is
  for (const Member& member : group.members) made.push_back(member.node);
  std::ranges::sort(made, {}, [](const Node* n) { return n->ints().empty() ? 0 : n->ints().back(); });  // attention: which result it is
  const Node& node = *made.front();
  FusedKernel result;
  ir::Call& call = result.work.emplace<ir::Call>();
  call.name = ir::operation_text(node);
  std::vector<ir::NodeRef> placeholders;
  for (Node* operand : node.inputs()) {
    const OperandSource source = operand_source(node, operand);
    const std::string number = std::to_string(placeholders.size());
    ir::View view{-1, -1, source.offset, source.strides};
    if (ir::writes_over(node.op()) && placeholders.empty()) {
      result.bases.push_back(source.buffer);  // in the result's buffer
    } else if (node.op() == Op::Cat && source.buffer->op() == Op::Const) {
      view.scalar = call.add_scalar("a" + number, operand->dtype());
      result.scalars.push_back(source.buffer);
    } else {
      view.buffer = call.add_buffer("x" + number, operand->dtype(), ir::Role::In, source.buffer->numel());
      result.inputs.push_back(source.buffer);
    }
    call.operands.push_back(std::move(view));
    placeholders.push_back(ir::make_input(operand->dtype(), operand->shape(), nullptr, operand->device()));
  }
  for (const Node* output : made) {
    const int buffer = call.add_buffer("y" + std::to_string(call.results.size()), output->dtype(),
                                       result.bases.empty() ? ir::Role::Out : ir::Role::InOut, output->numel());
    call.stored.push_back({buffer, -1, 0, ir::row_major_strides(output->shape())});
    call.results.push_back(ir::make_node(output->op(), placeholders, output->ints(), output->dtype(), ir::Folding::Off));
  }
  if (!result.bases.empty()) call.operands[0] = call.stored[0];
  result.outputs = result.fused = std::move(made);
  return result;
}

}  // namespace

FusedKernel build_kernel(const Group& group) { return group.call ? build_call(group) : Build(group).run(); }

}  // namespace tenon::passes::fusion
