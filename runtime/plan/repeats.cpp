// Each node's form as a number; the distances at which short runs of these come again vote for a period.
#include "runtime/plan/repeats.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ir/base/mix.h"

namespace tenon::runtime {
namespace {

using ir::Node;
using ir::Op;

constexpr size_t kFewestRounds = 16;  // more than most networks have layers: those stay in one plan
constexpr size_t kMostCandidates = 6;
constexpr size_t kVoters = 4;  // nodes in a row

// What the node has in common with its like in the next round: all but which operands it has, and where a window begins or a pad
// puts its operand.
uint64_t form_of(const Node& node) {
  uint64_t form =
      ir::mix(static_cast<uint64_t>(node.op()) << 16 | static_cast<uint64_t>(node.dtype()) << 8 | static_cast<uint8_t>(node.device()),
              node.holders.load(std::memory_order_relaxed) > 0 ? 1 : 0);
  for (int64_t size : node.shape()) form = ir::mix(form, static_cast<uint64_t>(size));
  std::span<const int64_t> ints = node.ints();
  if (node.op() == Op::Pad) ints = {};
  if (node.op() == Op::Slice) ints = ints.subspan(node.shape().size());
  if (node.op() == Op::Strided || node.op() == Op::Update) ints = ints.first(ints.size() - 1);
  for (int64_t value : ints) form = ir::mix(form, static_cast<uint64_t>(value));
  for (const Node* input : node.inputs()) {
    form = ir::mix(form, static_cast<uint64_t>(input->is_leaf() ? input->op() : Op::Add));
    form = ir::mix(form, static_cast<uint64_t>(input->numel()));
  }
  return form;
}

// The distances that most often lead from a few nodes to the last ones like them.
std::vector<size_t> candidates(const std::vector<uint64_t>& forms) {
  std::unordered_map<uint64_t, size_t> last;
  std::unordered_map<size_t, size_t> votes;
  for (size_t i = 0; i + kVoters <= forms.size(); ++i) {
    uint64_t few = 0;
    for (size_t k = 0; k < kVoters; ++k) few = ir::mix(few, forms[i + k]);
    const auto [it, fresh] = last.emplace(few, i);
    if (!fresh) ++votes[i - std::exchange(it->second, i)];
  }
  std::vector<std::pair<size_t, size_t>> ordered;  // votes, distance
  for (const auto& [distance, count] : votes) {
    if (count >= kFewestRounds) ordered.emplace_back(count, distance);
  }
  std::sort(ordered.begin(), ordered.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::vector<size_t> distances;
  for (size_t i = 0; i < std::min(ordered.size(), kMostCandidates); ++i) distances.push_back(ordered[i].second);
  return distances;
}

struct Stretch {
  Repeat repeat;
  size_t length;  // nodes, those of a last round that is not whole too
};

// Where each node is like the one a period before, for long enough.
void add_stretches(const std::vector<uint64_t>& forms, size_t period, std::vector<Stretch>& found) {
  for (size_t i = period; i < forms.size(); ++i) {
    const size_t first = i;
    while (i < forms.size() && forms[i] == forms[i - period]) ++i;
    const size_t length = i - first + period;
    if (length / period >= kFewestRounds) found.push_back({{first - period, period, length / period}, length});
  }
}

}  // namespace

std::vector<Repeat> find_repeats(std::span<const Node* const> nodes) {
  std::vector<uint64_t> forms;
  forms.reserve(nodes.size());
  for (const Node* node : nodes) forms.push_back(form_of(*node));
  std::vector<Stretch> all;
  for (size_t period : candidates(forms)) add_stretches(forms, period, all);
  // The longest first: that is the outer one of a loop and the loops inside its rounds. What repeats after
  // one round does so after two: the one with the shortest rounds comes first among equal stretches.
  std::sort(all.begin(), all.end(), [](const Stretch& a, const Stretch& b) {
    return std::tuple(b.length, a.repeat.period, a.repeat.begin) < std::tuple(a.length, b.repeat.period, b.repeat.begin);
  });
  std::vector<Repeat> chosen;
  std::vector<bool> taken(nodes.size(), false);
  for (const auto& [repeat, length] : all) {
    const size_t end = repeat.begin + repeat.period * repeat.count;
    if (taken[repeat.begin] || taken[end - 1]) continue;  // one that is as long or longer has some of it
    std::fill(taken.begin() + static_cast<ptrdiff_t>(repeat.begin), taken.begin() + static_cast<ptrdiff_t>(end), true);
    chosen.push_back(repeat);
  }
  std::sort(chosen.begin(), chosen.end(), [](const Repeat& a, const Repeat& b) { return a.begin < b.begin; });
  return chosen;
}

}  // namespace tenon::runtime
