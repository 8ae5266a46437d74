// Counts over the text of a kernel or call: bytes, operations, shapes. In: a fused kernel. Out: its record, without times.
#include "runtime/plan/kernel_facts.h"

#include <algorithm>
#include <vector>

#include "ir/graph/attention.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/node_text.h"
#include "ir/graph/recurrence.h"
#include "runtime/memory/buffer.h"

namespace tenon::runtime {

using passes::FusedKernel;

namespace {

// How many different places a load or store reaches at most: the points of the axes that it depends on.
int64_t places(const ir::Kernel& kernel, const ir::Instr& access) {
  int64_t count = 1;
  SmallVector<bool, 16> seen(kernel.axes.size(), false);
  std::vector<bool> followed(kernel.instrs.size(), false);
  std::vector<ir::ValueId> from;
  const auto reach = [&](const ir::Instr& instr, size_t first) {
    for (int a : instr.index.axes()) {
      if (!seen[a]) count *= kernel.extent(a);
      seen[a] = true;
    }
    for (size_t k = first; k < instr.args.size(); ++k) {
      if (!followed[instr.args[k]]) from.push_back(instr.args[k]);
      followed[instr.args[k]] = true;
    }
  };
  reach(access, access.args.size() - (access.scale != 0 ? 1 : 0));  // the last is the computed part of its index
  while (!from.empty()) {
    const ir::ValueId value = from.back();
    from.pop_back();
    reach(kernel.instr(value), 0);
  }
  return count;
}

// Two operations for each product, of all scores: a causal attention leaves half of them out.
int64_t attention_flops(const FusedKernel& fused) {
  const ir::Node& node = fused.call()->node();
  const bool gradient = ir::is_attention_gradient(node);
  const auto wants = [&](auto which) {
    return std::ranges::any_of(fused.outputs, [&](const ir::Node* output) { return output->ints()[3] == static_cast<int64_t>(which); });
  };
  const ir::Node &q = *node.inputs()[0], &k = *node.inputs()[1], &v = *node.inputs()[2];
  const size_t rank = q.shape().size();
  const int64_t depth = q.shape()[rank - 1], value_depth = v.shape()[rank - 1];
  int64_t scores = q.shape()[rank - 2] * k.shape()[rank - 2], products = 0;  // products for each score
  const ir::Dims dims = ir::attention_dims(node);
  for (size_t d = 0; d + 2 < rank; ++d) scores *= node.shape()[dims[d]];
  const auto wants_gradient = [&](ir::AttentionGradient of) { return gradient && wants(of); };
  const bool query = wants_gradient(ir::AttentionGradient::Query), key = wants_gradient(ir::AttentionGradient::Key);
  const bool value = wants_gradient(ir::AttentionGradient::Value);
  if (query) products += 2 * depth + value_depth;
  if (key || value) products += depth + (key ? depth + value_depth : 0) + (value ? value_depth : 0);
  if (!gradient) products = depth + (wants(ir::AttentionResult::Output) ? value_depth : 0);
  return 2 * products * (node.ints()[0] != 0 ? (scores + 1) / 2 : scores);
}

// The operations of a recurrent layer's products with its weight, one for each row of the sequence.
int64_t recurrence_flops(const ir::Node& node) {
  const auto sequence = std::find_if(node.inputs().begin(), node.inputs().end(), [](const ir::Node* input) { return input->rank() == 3; });
  const ir::Dims& h = node.inputs()[1]->shape();
  const auto cell = static_cast<ir::RecurrentCell>(node.ints()[0]);
  return 2 * (*sequence)->shape()[0] * h[0] * ir::gate_count(cell) * h[1] * h[1];
}

int64_t call_flops(const FusedKernel& fused) {
  const ir::Node& node = fused.call()->node();
  if (ir::is_attention(node.op())) return attention_flops(fused);
  if (ir::is_recurrence(node.op())) return recurrence_flops(node);
  const int64_t each = node.op() == ir::Op::Dot ? node.inputs()[0]->shape().back() : 1;
  return node.numel() * each * ir::info(node.op()).cost;
}

int64_t iterations(const ir::Kernel& kernel, ir::Level level) {
  const int64_t rows = kernel.extent_of(ir::Level::Row);
  return level == ir::Level::Row ? rows : rows * kernel.extent_of(level);
}

}  // namespace

int64_t moved_bytes(const ir::Work& work, ir::Op access) {
  int64_t bytes = 0;
  if (const auto* call = std::get_if<ir::Call>(&work)) {
    const bool loads = access == ir::Op::Load;
    for (const ir::NodeRef& result : call->results) bytes += loads ? 0 : bytes_of(*result);
    for (size_t i = 0; i < call->operands.size(); ++i) {
      const ir::View& view = call->operands[i];
      const ir::Node& operand = *call->node().inputs()[i];
      if (call->is_in_place(i)) bytes -= loads ? 0 : bytes_of(operand);
      else if (loads && view.buffer >= 0) bytes += ir::places(view, operand.shape()) * ir::item_size(operand.dtype());
    }
    return bytes;
  }
  const auto& kernel = std::get<ir::Kernel>(work);
  SmallVector<int64_t, 16> counts(kernel.buffers.size(), 0);
  for (const ir::Instr& in : kernel.instrs) {
    if (in.op == access) counts[in.slot] += places(kernel, in);
  }
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const ir::KernelBuffer& buffer = kernel.buffers[b];
    bytes += std::min(counts[b], buffer.numel) * ir::item_size(buffer.dtype);
  }
  return bytes;
}

std::string shapes_of(const FusedKernel& fused, const Analysis& analysis) {
  const auto list = [&](const auto& nodes) {
    constexpr size_t kMost = 8;
    std::string text;
    for (size_t i = 0; i < nodes.size() && i < kMost; ++i)
      text += (i ? ", " : "") + ir::type_text(nodes[i]->dtype(), analysis.shape(nodes[i]));
    return nodes.size() > kMost ? text + ", ... " + std::to_string(nodes.size()) + " in all" : text;
  };
  return list(fused.inputs) + (fused.inputs.empty() ? "-> " : " -> ") + list(fused.outputs);
}

std::string op_list(const FusedKernel& fused) {
  constexpr size_t most = 40;
  std::string text;
  for (size_t i = 0; i < fused.fused.size() && i < most; ++i) {
    text += (text.empty() ? "" : ", ") + ir::operation_text(*fused.fused[i]);
  }
  return fused.fused.size() > most ? text + ", ..." : text;
}

KernelRecord kernel_facts(const FusedKernel& fused) {
  KernelRecord facts;
  facts.name = fused.name();
  facts.ops = static_cast<int>(fused.fused.size());
  facts.bytes = moved_bytes(fused.work, ir::Op::Load) + moved_bytes(fused.work, ir::Op::Store);
  if (fused.call()) {
    facts.flops = call_flops(fused);
    return facts;
  }
  const ir::Kernel& kernel = fused.kernel();
  for (const ir::Instr& in : kernel.instrs) {
    if (in.op == ir::Op::Contract) {
      facts.flops += 2 * iterations(kernel, ir::Level::Contract);
    } else if (ir::is_reduce(in.op) || ir::is_scan(in.op)) {
      facts.flops += iterations(kernel, ir::Level::Full);
    } else if (ir::is_elementwise(in.op)) {
      facts.flops += iterations(kernel, in.level) * ir::info(in.op).cost;
    }
  }
  return facts;
}

}  // namespace tenon::runtime
