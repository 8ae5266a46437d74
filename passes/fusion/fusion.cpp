// Graph -> groups. One walk from the outputs to the inputs: when a node is met, all its readers have a group
// and have asked for its elements at some index map. The node joins the group of its readers if they agree on the
// map and the merged space is still one that a schedule takes; of several groups it joins the first to run, and the
// others load its buffer. Otherwise it starts a group, and its readers load its buffer.
//
//   %m = reduce.max %x dims=[1]      the walk meets div, sum, exp, sub, max in this order; all of them ask
//   %e = exp (sub %x, %m)            for elements (r, c) or rows (r): the axis c of div becomes the inner
//   %s = reduce.sum %e dims=[1]      axis when sum joins, and the row values m and s are computed once a
//   return div %e, %s                row. One group, one kernel.
#include "passes/fusion/fusion.h"

#include <algorithm>

#include "passes/fusion/groups.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes {
namespace fusion {
namespace {

// One node, computed by a call.
void start_call(Groups& groups, Node* node) {
  const int g = groups.add_group();
  groups.group(g).call = true;
  groups.place(g, node, {}, true);
  for (const Node* source : groups.group(g).reads) {
    if (!source->is_leaf()) groups.refuse(source, {node}, "a routine of the library reads whole buffers");
  }
}

// Whether they have the same scores; how their results lie each knows itself.
bool same_attention(const Node& a, const Node& b) {
  return a.op() == b.op() && a.inputs() == b.inputs() && a.ints()[0] == b.ints()[0] && a.ints()[1] == b.ints()[1];
}

// All that comes of one attention's operands is one call, which has the scores once. No operand has a group yet, so such a
// call waits for no reader of this node.
bool join_call(Groups& groups, Node* node) {
  if (!ir::is_attention(node->op()) || !groups.options().enabled) return false;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto number = static_cast<int>(g);
    if (!groups.alive(number) || !groups.group(number).call) continue;
    const Node& first = *groups.group(number).members.front().node;
    if (!same_attention(first, *node)) continue;
    groups.place(number, node, {}, true);
    return true;
  }
  return false;
}

[[noreturn]] void refuse(const Node& node, const ir::Target& target, std::string_view reason) {
  throw ir::IrError("nothing on a " + std::string(ir::name(ir::kind(target))) + " computes '" + std::string(ir::info(node.op()).text) +
                    "': " + std::string(reason));
}

// Whether neighbours of a copy, at the map, are not neighbours of what it copies.
bool copies_across(const Group& group, const Node& copy, Map map) {
  const Node* source = behind_views(copy.inputs()[0], map);
  if (group.axes.empty()) return false;
  const Index::Stride stride = ir::flatten(map, source->shape()).stride(static_cast<int>(group.axes.size()) - 1);
  return !stride.ok || stride.value != 1;
}

void start_group(Groups& groups, Node* node) {
  const ir::Target& target = groups.options().target_of(node->device());
  if (join_call(groups, node)) return;
  const Acceptance call = is_empty_reduce(*node) ? Acceptance{} : accepts(form_of_call(*node, false), target);
  if (call.accepted) return start_call(groups, node);
  if (ir::is_attention(node->op())) refuse(*node, target, call.reason);
  const int g = groups.add_group();
  Group& fresh = groups.group(g);
  Map map = fresh.add_axes_of(node->shape());
  if (ir::is_reduce(node->op()) && !is_empty_reduce(*node)) {
    ReduceShape shape = reduce_shape(*node);
    std::vector<int> along;
    for (int64_t extent : shape.extents) along.push_back(fresh.add_axis(extent, ir::AxisKind::Inner));
    fresh.reduce_along(shape.tree, std::move(along));
  } else if (ir::is_scan(node->op()) && !is_empty_scan(*node)) {
    fresh.scan_along(map[node->ints()[0]].axes()[0]);
  } else if (node->op() == Op::Dot && !is_empty_reduce(*node)) {
    fresh.contract(node->inputs()[0]->shape().back());
  }
  fresh.turned = is_copy(*node) && copies_across(fresh, *node, map);
  add_to(fresh.form, *node);
  if (const Acceptance acceptance = accepts(fresh.form, target); !acceptance.accepted) refuse(*node, target, acceptance.reason);
  groups.place(g, node, std::move(map), true);
}

void visit(Groups& groups, Node* node) {
  NodeState& s = groups.state(node);
  const bool fuses = groups.options().enabled;
  if (node->op() == Op::Input) {
    if (fuses) merge_siblings(groups, node);
    return;
  }
  groups.collect_requests(node);
  const bool stored = (s.output || s.whole) && node->numel() > 0;
  if (is_view(node->op())) {
    for (const Request& r : s.requests) groups.request_through(*node, r);
    if (stored) start_group(groups, node);
    return;
  }
  if (node->op() == Op::Const || node->op() == Op::Iota) {  // readers make it themselves
    if (stored) start_group(groups, node);
    return;
  }
  if ((s.requests.empty() && !stored) || node->numel() == 0) return;
  if (is_update(*node)) return start_update(groups, node);
  if (fuses && !s.requests.empty()) {
    merge_siblings(groups, node);
    groups.collect_requests(node);
    if (try_join(groups, node, stored)) return;
  }
  start_group(groups, node);
}

}  // namespace
}  // namespace fusion

std::optional<ProductCosts> product_costs(const FusedKernel& fused, const ir::Target& target) {
  const auto dot = std::ranges::find_if(fused.fused, [](const ir::Node* node) { return node->op() == ir::Op::Dot; });
  if (dot == fused.fused.end() || fusion::is_empty_reduce(**dot)) return std::nullopt;
  const bool followed = std::ranges::any_of(
      fused.fused, [&](const ir::Node* node) { return std::ranges::find(node->inputs(), *dot) != node->inputs().end(); });
  return product_costs(*fusion::form_of_call(**dot, followed).product, target);
}

FusionResult fuse(const std::vector<ir::NodeRef>& outputs, const FusionOptions& options) {
  fusion::Groups groups(outputs, options);
  if (options.enabled) find_long_sums(groups);
  for (size_t i = groups.order().size(); i-- > 0;) fusion::visit(groups, groups.order()[i]);
  FusionResult result;
  for (int g : fusion::order(groups)) result.kernels.push_back(fusion::build_kernel(groups.group(g)));
  result.refusals = groups.take_refusals();
  return result;
}

}  // namespace tenon::passes
