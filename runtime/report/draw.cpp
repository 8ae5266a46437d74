// A fused graph as SVG. Kernels are coloured boxes that list their nodes, inputs are grey ones; a box stands
// below all boxes that it reads from, and an arrow carries the views through which it reads.
//
//      [ %0 input f32[4,8] ]     [ %1 input f32[8,4] ]
//                \                     / permute
//              [ @add_exp                             ]
//              [ %3 = add %0, %2 : f32[4,8]           ]
//              [ %4 = exp %3 : f32[4,8]               ]
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "runtime/plan/analysis.h"
#include "runtime/report/report.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;

constexpr int kLineHeight = 16, kPadding = 8, kGapX = 32, kGapY = 48, kCharWidth = 7, kMostLines = 60;

struct Box {
  std::string title;
  std::vector<std::string> lines;
  std::string fill;
  std::map<int, std::string> reads;  // box -> views passed through
  int layer = 0, x = 0, y = 0, width = 0, height = 0;
};

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '&': result += "&amp;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

class Drawing {
 public:
  explicit Drawing(const Analysis& a) : analysis_(a) {
    for (size_t i = 0; i < a.graph.nodes.size(); ++i)
      number_.emplace(a.graph.nodes[i].get(), static_cast<int>(i));
  }

  std::string run() {
    add_kernels();
    add_inputs();
    connect();
    lay_out();
    return print();
  }

 private:
  std::string operand(const Node* n) const {
    if (n->op() == Op::Const) return ir::print(ir::Constant{n->dtype(), n->bits()});
    return "%" + std::to_string(number_.at(n));
  }

  std::string line(const Node* n) const {
    std::string text = "%" + std::to_string(number_.at(n)) + " = " + std::string(ir::info(n->op()).text);
    const char* separator = " ";
    for (const Node* input : n->inputs()) {
      text += separator + operand(input);
      separator = ", ";
    }
    return text + " : " + type_text(*n);
  }

  void add_kernels() {
    static constexpr const char* colours[] = {"#cfe3ff", "#d6f5d6", "#ffe7c7",
                                              "#f3d9fa", "#fff3bf", "#c5f6fa"};
    for (const passes::FusedKernel& k : analysis_.fusion.kernels) {
      Box box;
      box.title = "@" + k.name();
      box.fill = colours[boxes_.size() % std::size(colours)];
      for (const Node* n : k.fused) {
        box_of_.emplace(n, static_cast<int>(boxes_.size()));
        if (box.lines.size() < kMostLines) box.lines.push_back(line(n));
      }
      if (k.fused.size() > kMostLines)
        box.lines.push_back("... " + std::to_string(k.fused.size() - kMostLines) + " more");
      boxes_.push_back(std::move(box));
    }
  }

  void add_inputs() {
    for (const ir::NodeRef& n : analysis_.graph.nodes) {
      if (n->op() != Op::Input) continue;
      Box box;
      box.title = "%" + std::to_string(number_.at(n.get())) + " input " + type_text(*n);
      box.fill = "#eeeeee";
      box_of_.emplace(n.get(), static_cast<int>(boxes_.size()));
      boxes_.push_back(std::move(box));
    }
  }

  // Arrows and layers; kernels are in an order that respects their dependences.
  void connect() {
    for (size_t k = 0; k < analysis_.fusion.kernels.size(); ++k) {
      for (const Node* n : analysis_.fusion.kernels[k].fused) {
        for (const Node* input : n->inputs()) read_from(boxes_[k], static_cast<int>(k), input);
      }
      for (auto& [from, views] : boxes_[k].reads) {
        boxes_[k].layer = std::max(boxes_[k].layer, boxes_[from].layer + 1);
      }
    }
  }

  void read_from(Box& box, int self, const Node* source) {
    std::string views;
    while (is_view(*source) && box_of_.count(source) == 0) {
      views = std::string(ir::info(source->op()).text) + (views.empty() ? "" : " " + views);
      source = source->inputs()[0];
    }
    auto it = box_of_.find(source);
    if (it == box_of_.end() || it->second == self) return;
    std::string& label = box.reads[it->second];
    if (label.empty()) label = views;
  }

  void lay_out() {
    std::map<int, std::vector<Box*>> layers;
    for (Box& box : boxes_) {
      size_t characters = box.title.size();
      for (const std::string& text : box.lines) characters = std::max(characters, text.size());
      box.width = static_cast<int>(characters) * kCharWidth + 2 * kPadding;
      box.height = static_cast<int>(box.lines.size() + 1) * kLineHeight + 2 * kPadding;
      layers[box.layer].push_back(&box);
    }
    int y = kGapX;
    for (auto& [layer, row] : layers) {
      int x = kGapX, height = 0;
      for (Box* box : row) {
        box->x = x;
        box->y = y;
        x += box->width + kGapX;
        height = std::max(height, box->height);
      }
      width_ = std::max(width_, x);
      y += height + kGapY;
    }
    height_ = y;
    for (auto& [layer, row] : layers) {  // centre the row
      int shift = (width_ - row.back()->x - row.back()->width - kGapX) / 2;
      for (Box* box : row) box->x += shift;
    }
  }

  static std::string arrow(const Box& from, const Box& to, const std::string& label) {
    char text[512];
    int x1 = from.x + from.width / 2, y1 = from.y + from.height, x2 = to.x + to.width / 2, y2 = to.y - 2;
    std::snprintf(
        text, sizeof text,
        "<path d=\"M%d %d C%d %d %d %d %d %d\" fill=\"none\" stroke=\"#666\" marker-end=\"url(#head)\"/>\n",
        x1, y1, x1, y1 + kGapY / 2, x2, y2 - kGapY / 2, x2, y2);
    std::string result = text;
    if (!label.empty()) {
      std::snprintf(text, sizeof text, "<text x=\"%d\" y=\"%d\" fill=\"#666\">", (x1 + x2) / 2 + 4,
                    (y1 + y2) / 2);
      result += text + escaped(label) + "</text>\n";
    }
    return result;
  }

  static std::string draw(const Box& box) {
    char text[256];
    std::snprintf(
        text, sizeof text,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" stroke=\"#888\"/>\n", box.x,
        box.y, box.width, box.height, box.fill.c_str());
    std::string result = text;
    int y = box.y + kPadding + kLineHeight - 4;
    auto write = [&](const std::string& words, const char* weight) {
      std::snprintf(text, sizeof text, "<text x=\"%d\" y=\"%d\" font-weight=\"%s\">", box.x + kPadding, y,
                    weight);
      result += text + escaped(words) + "</text>\n";
      y += kLineHeight;
    };
    write(box.title, "bold");
    for (const std::string& words : box.lines) write(words, "normal");
    return result;
  }

  std::string print() const {
    char head[512];
    std::snprintf(
        head, sizeof head,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"monospace\" "
        "font-size=\"11\">\n<defs><marker id=\"head\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" "
        "refY=\"3\" "
        "orient=\"auto\"><path d=\"M0 0 L6 3 L0 6 z\" fill=\"#666\"/></marker></defs>\n",
        std::max(width_, 64), std::max(height_, 64));
    std::string text = head;
    for (const Box& box : boxes_) {
      for (const auto& [from, label] : box.reads)
        text += arrow(boxes_[from], box, label);
    }
    for (const Box& box : boxes_) text += draw(box);
    return text + "</svg>\n";
  }

  const Analysis& analysis_;
  std::unordered_map<const Node*, int> number_, box_of_;
  std::vector<Box> boxes_;
  int width_ = 0, height_ = 0;
};

}  // namespace

std::string svg_of(const Analysis& analysis) { return Drawing(analysis).run(); }

}  // namespace tenon::runtime
