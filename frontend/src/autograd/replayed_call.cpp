// Noting a call when it comes again, and replaying it without recording.
#include "frontend/src/autograd/replayed_call.h"

#include <algorithm>
#include <atomic>

#include "frontend/src/tensor/pending.h"
#include "runtime/base/options.h"

namespace tenon {

ir::Memo<ReplayKey, ReplayedCall::Kept>& ReplayedCall::memo() {
  static auto* const memo = new ir::Memo<ReplayKey, Kept>;  // outlives every static tensor
  return *memo;
}

bool ReplayedCall::may_repeat() {
  return runtime::replays() && this_thread.grad_mode && !this_thread.inference_mode && !ir::Tape::current && !Segment::current();
}

// False if the call is to be recorded: the tensor is no plain one, its value is a constant, which is no operand of a recipe, or it
// meets another operand, from which a recording tells it apart.
bool ReplayedCall::add(const Tensor& x) {
  if (!x.defined()) return key_.add(uint64_t{0}), true;
  const TensorImpl& t = impl(x);
  if (!is_plain(t)) return false;
  NodeRef value = plain_value(t);
  if (!value || value->op() == Op::Const) return false;
  for (size_t i = 0; i < count_; ++i) {
    if (values_[i] == value || &impl(*tensors_[i]).storage() == &t.storage()) return false;
  }
  tensors_[count_] = &x;
  tracked_[count_] = requires_grad(x);
  key_.add(t, tracked_[count_] ? 2 : 1);
  values_[count_++] = std::move(value);
  return true;
}

void ReplayedCall::find(bool plain) {
  if (plain) found_ = memo().find(key_);
}

// --- noting

uint32_t ReplayedCall::watched_by(const VersionWatch& version, TensorList results) const {
  for (uint32_t i = 0; i < count_; ++i) {
    if (version.is_of(impl(*tensors_[i]))) return i;
  }
  for (uint32_t k = 0; k < results.size(); ++k) {
    if (version.is_of(impl(results[k]))) return static_cast<uint32_t>(count_) + k;
  }
  return Kept::kNone;
}

// All that the function gives, in order.
bool ReplayedCall::are_results(TensorList results, const GradFn* fn) const {
  for (size_t k = 0; k < results.size(); ++k) {
    const History* history = history_of(results[k]);
    if (!history || history->fn.get() != fn || history->output_nr != static_cast<int64_t>(k) || !is_plain(impl(results[k]))) return false;
  }
  return fn->output_count == static_cast<int64_t>(results.size()) && fn->recipe.outputs().size() == results.size();
}

bool ReplayedCall::has_edges_of_operands(const GradFn& fn) const {
  size_t next = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (!tracked_[i]) continue;
    const Edge edge = edge_to(*tensors_[i], i);
    if (next == fn.edges.size()) return false;
    const Edge& other = fn.edges[next++];
    if (edge.fn != other.fn || edge.output_nr != other.output_nr || !edge.leaf.is_same(other.leaf) || other.operand != i) return false;
  }
  return next == fn.edges.size();
}

// Null if the call cannot be made from its recipe: it has leaves, or is no operation of its own.
std::shared_ptr<const ReplayedCall::Kept> ReplayedCall::kept(TensorList results) const {
  const History* history = history_of(results[0]);
  const GradFn* fn = history ? history->fn.get() : nullptr;
  if (!fn || !are_results(results, fn) || !fn->recipe.leaves().empty()) return nullptr;
  if (fn->recipe.operands().size() != count_ || !has_edges_of_operands(*fn)) return nullptr;
  static std::atomic<uint64_t> rules = 0;
  std::vector<NodeRef> placeholders, steps, zeros;
  for (size_t i = 0; i < count_; ++i)
    placeholders.push_back(ir::make_input(values_[i]->dtype(), values_[i]->shape(), nullptr, values_[i]->device()));
  std::vector<NodeRef> outputs = ir::replay(fn->recipe, placeholders, ir::Folding::On, &steps);
  std::vector<Kept::Value> saved, watched;
  for (const SavedValue& s : fn->saved) {
    saved.push_back({s.of, s.number, watched_by(s.version, results)});
    if (s.of == SavedValue::Of::Step) outputs.push_back(steps[s.number]);
  }
  for (const WatchedValue& w : fn->watched) {
    watched.push_back({w.of, w.number, watched_by(w.version, results)});
    if (watched.back().tensor == Kept::kNone) return nullptr;  // a tensor that only the operation knows
  }
  for (const Edge& edge : fn->edges) zeros.push_back(edge.zeros);
  return std::make_shared<const Kept>(Kept{fn->literal_name(), ir::Template(placeholders, outputs), results.size(), fn->recipe, fn->rule,
                                           fn->rule ? ++rules : 0, std::move(zeros), std::move(saved), std::move(watched), fn->keeps_all,
                                           fn->derivative_reads});
}

void ReplayedCall::note(TensorList results) const {
  if (found_.again) memo().note(key_, kept(results));
}

// --- replaying

std::vector<Tensor> ReplayedCall::replay_all() const {
  const Kept& kept = *found_.kept;
  auto fn = std::make_shared<GradFn>(kept.name);
  fn->edges.reserve(kept.zeros.size());
  for (size_t i = 0; i < count_; ++i) {
    if (!tracked_[i]) continue;
    fn->edges.push_back(edge_to(*tensors_[i], i));
    fn->edges.back().zeros = kept.zeros[fn->edges.size() - 1];
  }
  fn->recipe = kept.recipe;
  fn->rule = kept.rule;
  fn->rule_number = kept.rule_number;
  fn->keeps_all = kept.keeps_all;
  fn->derivative_reads = kept.derivative_reads;
  std::vector<NodeRef> made;
  kept.graph.make({values_, count_}, {}, made);
  std::vector<Tensor> results;
  int64_t bytes;
  {
    const UncountedWork work;  // or a cap might evaluate it before its GradFn says what is to be kept
    for (size_t k = 0; k < kept.results; ++k) results.push_back(record(made[k]));
    bytes = work.bytes();
  }
  const auto watched = [&](const Kept::Value& v) -> const TensorImpl& {
    return impl(v.tensor < count_ ? *tensors_[v.tensor] : results[v.tensor - count_]);
  };
  size_t steps = kept.results;
  fn->saved.reserve(kept.saved.size());
  for (const Kept::Value& v : kept.saved) {
    const NodeRef& value = v.of == SavedValue::Of::Operand ? values_[v.number] : made[v.of == SavedValue::Of::Step ? steps++ : v.number];
    fn->saved.push_back({v.of, v.number, KeptValue(value), v.tensor == Kept::kNone ? VersionWatch() : VersionWatch(watched(v))});
  }
  for (const Kept::Value& v : kept.watched) {
    const TensorImpl& t = watched(v);
    fn->watched.push_back({v.of, v.number, t.dtype(), t.device(), t.sizes(), VersionWatch(t)});
  }
  for (const Tensor& result : results) attach(result, fn, ViewOrigin::Single);
  if (count_work(1, bytes)) eval(results);
  return results;
}

}  // namespace tenon
