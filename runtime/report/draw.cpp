// A fused graph in DOT, the language of Graphviz. A kernel is a box around its nodes, an arrow a value that is read; views are no
// nodes, but stand on the arrows. Ellipses are inputs, octagons outputs, constants have no border.
//
//      ( input f32[4,8] )
//         |         | permute [1,0]
//      [ @add_exp             ]
//      [ (add) -> (exp)       ]
#include <unordered_set>

#include "ir/base/text.h"
#include "ir/graph/graph_infer.h"
#include "ir/graph/node_text.h"
#include "runtime/base/memory_sizes.h"
#include "runtime/device/device.h"
#include "runtime/report/report.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;
using passes::FusedKernel;

constexpr int kOutside = -1;  // in place of a kernel's number: of none

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result + '"';
}

// What is drawn of a kernel: what it computes but for views, and what it stores.
std::vector<const Node*> shown(const FusedKernel& fused) {
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> stored(fused.outputs.begin(), fused.outputs.end());
  for (const Node* node : fused.fused) {
    if (stored.erase(node) > 0 || !(is_view(*node) || node->op() == Op::Const)) nodes.push_back(node);
  }
  for (const Node* node : fused.outputs) {  // a value that is stored as it is
    if (stored.erase(node) > 0) nodes.push_back(node);
  }
  return nodes;
}

std::string kernel_label(const FusedKernel& fused, const KernelRecord* launch) {
  std::string label = "@" + fused.name();
  const Device& device = device_of(*fused.outputs.at(0));
  if (device.tag() != kHostTag) label += " on " + name_of(device.tag());
  if (!launch) return label;
  return label + "\n" + launch->schedule + ", " + readable_bytes(static_cast<double>(launch->bytes)) + ", " +
         ir::fixed_text(launch->run_us, 1) + " us";
}

class Drawing {
 public:
  Drawing(const Analysis& analysis, const std::string& prefix) : analysis_(analysis), prefix_(prefix) {}

  std::string run(size_t asked, std::span<const KernelRecord* const> launches) {
    const std::vector<FusedKernel>& kernels = analysis_.fusion.kernels;
    for (size_t k = 0; k < kernels.size(); ++k) {
      for (const Node* node : kernels[k].outputs) stored_.emplace(node, static_cast<int>(k));
    }
    for (size_t k = 0; k < kernels.size(); ++k) add_kernel(static_cast<int>(k), kernels[k], launches[k]);
    inside_.clear();
    for (size_t k = 0; k < analysis_.graph.outputs.size(); ++k) add_output(k, k < asked ? "output" : "stored");
    for (size_t i = 0; i < outside_.size(); ++i) {  // which grows meanwhile
      add_node(kOutside, outside_[i]);
      connect_inputs(kOutside, outside_[i]);
    }
    return text_ + edges_;
  }

 private:
  std::string name(int kernel, const Node* node) {
    const int number = number_.try_emplace(node, static_cast<int>(number_.size())).first->second;
    return prefix_ + (kernel == kOutside ? "" : "k" + std::to_string(kernel)) + "n" + std::to_string(number);
  }

  std::string type(const Node* node) const { return ir::type_text(node->dtype(), analysis_.shape(node), node->device()); }

  void add_kernel(int number, const FusedKernel& fused, const KernelRecord* launch) {
    static constexpr const char* colours[] = {"#cfe3ff", "#d6f5d6", "#ffe7c7", "#f3d9fa", "#fff3bf", "#c5f6fa"};
    const std::vector<const Node*> nodes = shown(fused);
    inside_ = {nodes.begin(), nodes.end()};
    text_ += "  subgraph cluster_" + prefix_ + std::to_string(number) + " {\n    label=" + quoted(kernel_label(fused, launch)) +
             "; style=\"rounded,filled\"; fillcolor=\"" + colours[static_cast<size_t>(number) % std::size(colours)] + "\";\n";
    for (const Node* node : nodes) add_node(number, node);
    for (const Node* node : nodes) connect_inputs(number, node);
    text_ += "  }\n";
  }

  void add_node(int kernel, const Node* node) {
    text_ += (kernel == kOutside ? "  " : "    ") + name(kernel, node) + " [label=";
    if (node->op() == Op::Const) {
      text_ += quoted(ir::print(ir::Constant{node->dtype(), node->bits()}) + "\n" + type(node)) + ", shape=plaintext, style=\"\"];\n";
    } else {
      text_ += quoted(std::string(ir::info(node->op()).text) + ir::attributes_text(*node) + "\n" + type(node)) +
               (node->op() == Op::Input ? ", shape=ellipse, style=filled, fillcolor=\"#eeeeee\"];\n" : "];\n");
    }
  }

  void add_output(size_t number, const char* word) {
    const Node* node = analysis_.graph.outputs[number].get();
    const std::string output = prefix_ + "out" + std::to_string(number);
    text_ += "  " + output + " [label=" + quoted(word + ("\n" + type(node))) + ", shape=octagon, style=filled, fillcolor=\"#eeeeee\"];\n";
    connect(kOutside, output, node);
  }

  void connect_inputs(int kernel, const Node* node) {
    for (const Node* input : node->inputs()) connect(kernel, name(kernel, node), input);
  }

  // An arrow to what stands in the kernel whose nodes are `inside_`.
  void connect(int kernel, const std::string& reader, const Node* source) {
    std::string views;
    while (is_view(*source) && !inside_.contains(source) && !stored_.contains(source)) {
      views = std::string(ir::info(source->op()).text) + ir::attributes_text(*source) + (views.empty() ? "" : "\n") + views;
      source = source->inputs()[0];
    }
    edges_ +=
        "  " + name(place_of(kernel, source), source) + " -> " + reader + (views.empty() ? "" : " [label=" + quoted(views) + "]") + ";\n";
  }

  // The kernel that draws what this one reads. Each kernel has constants of its own.
  int place_of(int kernel, const Node* source) {
    if (inside_.contains(source)) return kernel;
    if (const auto it = stored_.find(source); it != stored_.end()) return it->second;
    if (source->op() == Op::Const && kernel != kOutside) {
      inside_.insert(source);
      add_node(kernel, source);
      return kernel;
    }
    if (known_outside_.insert(source).second) outside_.push_back(source);
    return kOutside;
  }

  const Analysis& analysis_;
  const std::string& prefix_;
  std::unordered_map<const Node*, int> number_, stored_;  // stored_: by which kernel
  std::unordered_set<const Node*> inside_, known_outside_;
  std::vector<const Node*> outside_;
  std::string text_, edges_;
};

}  // namespace

std::string dot_of(const Analysis& analysis, size_t asked, std::span<const KernelRecord* const> launches, const std::string& prefix) {
  return Drawing(analysis, prefix).run(asked, launches);
}

}  // namespace tenon::runtime
