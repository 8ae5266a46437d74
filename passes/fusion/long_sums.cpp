// A sum of many values, one after the other, is computed in pieces of eight additions, the rest in pieces of four, two and one: as
// one kernel for as many terms as fit it would be other code for each number of terms, and a loop over the steps of a sequence
// makes such sums of every length.
//
//   s1 = a + b, s2 = s1 + c, ... s21        kernels s21..s14, s13..s6, s5..s2, s1
//
// The same holds for products, maxima and so on. Terms that read what the term before reads, as the points of a stencil do, are no
// such steps.
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "passes/fusion/groups.h"

namespace tenon::passes::fusion {

namespace {

constexpr int kWhole = 4, kPiece = 8;  // additions that are one kernel, and those of a piece

// What a term is computed from: a node, of which it may see a window only.
struct Source {
  const Node* node;
  const Node* window;  // a Slice or Strided view; null: all of it
};
using Sources = SmallVector<Source, 4>;

// Whether two windows with these dims, the second `distance` elements behind the first, share an element.
bool meet(int64_t distance, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  if (sizes.empty()) return distance == 0;
  const int64_t stride = strides[0];
  const auto rest = [&](int64_t steps) {
    return std::abs(steps) < sizes[0] && meet(distance - steps * stride, sizes.subspan(1), strides.subspan(1));
  };
  if (stride == 0 || sizes[0] == 1) return rest(0);
  const int64_t steps = distance / stride;
  return rest(steps) || rest(steps + (distance < 0 ? -1 : 1));
}

bool overlap(const Source& a, const Source& b) {
  if (a.node != b.node) return false;
  if (!a.window || !b.window || a.window == b.window) return true;
  const std::span<const int64_t> x = a.window->ints(), y = b.window->ints();
  if (a.window->op() != b.window->op() || x.size() != y.size()) return true;
  if (a.window->op() == Op::Strided) {
    const size_t rank = x.size() / 2;
    return !std::equal(x.begin(), x.end() - 1, y.begin()) || meet(y.back() - x.back(), x.first(rank), x.subspan(rank, rank));
  }
  const size_t rank = x.size() / 3;  // starts, steps, sizes
  for (size_t d = 0; d < rank; ++d) {
    const auto end = [&](std::span<const int64_t> w) { return w[d] + w[rank + d] * (w[2 * rank + d] - 1); };
    if (end(x) < y[d] || end(y) < x[d]) return false;
  }
  return true;
}

void add_sources(const Node* node, Sources& sources, int& nodes) {
  constexpr int kMostNodes = 16;  // so many are looked at
  if (node->op() == Op::Const || node->op() == Op::Iota || ++nodes > kMostNodes) return;
  if (node->op() == Op::Slice || node->op() == Op::Strided) return sources.push_back({node->inputs()[0], node});
  const ir::OpClass cls = ir::info(node->op()).cls;
  if (cls != ir::OpClass::Elementwise && !is_view(node->op())) return sources.push_back({node, nullptr});
  for (const Node* operand : node->inputs()) add_sources(operand, sources, nodes);
}

Sources sources_of(const Node* term) {
  Sources sources;
  int nodes = 0;
  add_sources(term, sources, nodes);
  return sources;
}

// Whether a term reads something that the one before does not.
bool is_a_step(const Node* term, const Node* before) {
  const Sources known = sources_of(before);
  const Sources sources = sources_of(term);
  return std::ranges::any_of(sources,
                             [&](const Source& s) { return std::ranges::none_of(known, [&](const Source& k) { return overlap(s, k); }); });
}

// A sum: what it is added to, what is added, and the number of additions.
struct Sum {
  const Node* before = nullptr;
  const Node* term = nullptr;
  int length = 0;
};

}  // namespace

void find_long_sums(Groups& groups) {
  ir::NodeMap<int> uses;
  for (const Node* node : groups.order()) {
    for (const Node* operand : node->inputs()) ++uses[operand];
  }
  ir::NodeMap<Sum> sums;
  std::vector<const Node*> long_ones;
  for (const Node* node : groups.order()) {
    if (ir::info(node->op()).cls != ir::OpClass::Elementwise || node->inputs().size() != 2) continue;
    Sum sum{nullptr, node->inputs()[1], 1};
    for (size_t i : {0, 1}) {
      const Node *before = node->inputs()[i], *term = node->inputs()[1 - i];
      if (before->op() != node->op() || uses.at(before) != 1 || groups.state(before).output) continue;
      const Sum& known = sums.at(before);
      if (known.length >= sum.length && is_a_step(term, known.term)) sum = {before, term, known.length + 1};
    }
    sums[node] = sum;
    if (sum.length > kWhole) long_ones.push_back(node);
  }
  for (size_t k = long_ones.size(); k-- > 0;) {  // the longest comes first, and takes those that it is made of
    const Node* node = long_ones[k];
    const int length = sums.at(node).length;  // 0: taken
    int top = length;                         // of the next piece
    for (int n = length; n > 0; --n) {
      Sum& sum = sums[node];
      if (n == top) {
        if (n < length) groups.state(node).piece = true;
        top -= std::min(kPiece, static_cast<int>(std::bit_floor(static_cast<unsigned>(top))));
      }
      sum.length = 0;
      node = sum.before;
    }
  }
}

}  // namespace tenon::passes::fusion
