// Layers and losses that are called again as in the step before: on tensors of the same types, of which the same require grad. From
// the third time on such a call is not recorded operation by operation. Its graph is made from a template (ir/graph/template.h), and its
// GradFn, if it has one, shares the recipe of the second call. TENON_REPLAY=0 has every call recorded.
//
//   Tensor relu(const Operand& x) {
//     const auto recorded = [&] {
//       GradScope scope("ReluBackward0", x);
//       return record(...);
//     };
//     return replayed_call("relu", {}, recorded, x);
//   }
//
// So the result may depend on nothing else: not on elements, nor on random numbers; and a rule of its own holds numbers alone.
// What must be checked of elements is checked before. For views and within other operations each call is recorded as it comes. So is a
// call without gradients, unless it is a replayed_formula: one node is recorded in the time in which a call is found again.
#pragma once

#include <initializer_list>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/replay_key.h"
#include "ir/graph/memo.h"
#include "ir/graph/recipe.h"
#include "ir/graph/template.h"

namespace tenon {

class ReplayedCall {
 public:
  enum class When : uint8_t { WithGradients, Always };
  // The name is one literal for each operation; options are what the result depends on beside the types of the operands. These are
  // those of its GradScope, tensors and optional tensors, and outlive the call.
  template <typename... Operands>
  ReplayedCall(When when, const char* name, std::initializer_list<uint64_t> options, const Operands&... operands)
      : tracks_(any_tracked(operands...)) {
    static_assert(sizeof...(operands) <= kMost);
    if (!(tracks_ ? may_repeat_tracked() : when == When::Always) || !may_repeat()) return;
    key_.add(name);
    for (uint64_t option : options) key_.add(option);
    find((add(operands) && ...));
  }

  template <typename... Operands>
  static bool any_tracked(const Operands&... operands) {
    return this_thread.grad_mode && (tracked(operands) || ...);
  }
  bool can_replay() const { return found_.kept != nullptr; }
  std::vector<Tensor> replay_all() const;
  Tensor replay() const { return std::move(replay_all()[0]); }
  // record(), which gives one tensor; the second time it is noted.
  template <typename Record>
  Tensor record_and_keep(Record record) const {
    if (!found_.again) return record();
    optional<Listening> listening;
    if (!tracks_) listening.emplace(*this);
    Tensor result = record();
    if (listening) listening->note(result);
    else note({&result, 1});
    return result;
  }
  // Notes the results as all that the recorded call gives, with gradients.
  void note(TensorList results) const;

 private:
  static constexpr size_t kMost = 5;
  // What makes a GradFn.
  struct Derivative {
    struct Value {
      SavedValue::Of of;
      uint32_t number;
      uint32_t tensor;  // which is watched for writes: of the operands and then the results; or kNone
    };
    static constexpr uint32_t kNone = UINT32_MAX;
    std::string_view name;
    ir::Recipe recipe;
    GradRule rule;
    uint64_t rule_number;        // see GradFn
    std::vector<NodeRef> zeros;  // by edge
    std::vector<Value> saved, watched;
    bool keeps_all;
    uint32_t derivative_reads;
  };
  struct Kept {
    ir::Template graph;  // gives the results, and then the saved steps
    size_t results;
    optional<Derivative> derivative;
  };
  // Notes the operations of a call without gradients while it is recorded.
  class Listening {
   public:
    explicit Listening(const ReplayedCall& call);
    ~Listening() { ir::Tape::current = nullptr; }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;
    void note(const Tensor& result);

   private:
    const ReplayedCall& call_;
    ir::Tape tape_;
  };

  static bool tracked(const Tensor& x) { return requires_grad(x); }
  static bool tracked(const optional<Tensor>& x) { return x && requires_grad(*x); }
  static bool may_repeat();
  static bool may_repeat_tracked();
  static ir::Memo<ReplayKey, Kept>& memo();
  bool add(const Tensor& x);
  bool add(const optional<Tensor>& x) { return x ? add(*x) : add(Tensor()); }
  void find(bool plain);
  bool has_edges_of_operands(const GradFn& fn) const;
  bool are_results(TensorList results, const GradFn* fn) const;
  bool is_made_anew(const Tensor& result) const;
  uint32_t watched_by(const VersionWatch& version, TensorList results) const;
  std::vector<NodeRef> placeholders() const;
  std::shared_ptr<const Kept> kept(TensorList results) const;
  std::shared_ptr<GradFn> grad_fn(const Derivative& derivative, std::span<const NodeRef> made, TensorList results) const;

  bool tracks_;  // an operand requires grad
  ReplayKey key_;
  size_t count_ = 0;
  const Tensor* tensors_[kMost];  // those that are defined, in order
  bool tracked_[kMost];
  NodeRef values_[kMost];
  ir::Memo<ReplayKey, Kept>::Found found_;
};

// recorded(), or what it would give.
template <typename Recorded, typename... Operands>
Tensor replayed_call(const char* name, std::initializer_list<uint64_t> options, Recorded recorded, const Operands&... operands) {
  if (!ReplayedCall::any_tracked(operands...)) return recorded();
  const ReplayedCall call(ReplayedCall::When::WithGradients, name, options, operands...);
  return call.can_replay() ? call.replay() : call.record_and_keep(recorded);
}
// The same for a function of several nodes.
template <typename Recorded, typename... Operands>
Tensor replayed_formula(const char* name, std::initializer_list<uint64_t> options, Recorded recorded, const Operands&... operands) {
  const ReplayedCall call(ReplayedCall::When::Always, name, options, operands...);
  return call.can_replay() ? call.replay() : call.record_and_keep(recorded);
}

}  // namespace tenon
