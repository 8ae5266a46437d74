// Layers and losses that are called again as in the step before: on tensors of the same types, of which the same require grad. From
// the third time on such a call is not recorded operation by operation. Its graph is made from a template (ir/graph/template.h), and its
// GradFn shares the recipe of the second call. TENON_REPLAY=0 has every call recorded.
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
// What must be checked of elements is checked before. Without gradients, or for views and within other operations, each call is
// recorded as it comes.
#pragma once

#include <initializer_list>

#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/replay_key.h"
#include "ir/graph/memo.h"
#include "ir/graph/template.h"

namespace tenon {

class ReplayedCall {
 public:
  // The name is one literal for each operation; options are what the result depends on beside the types of the operands. These are
  // those of its GradScope, tensors and optional tensors, and outlive the call.
  template <typename... Operands>
  ReplayedCall(const char* name, std::initializer_list<uint64_t> options, const Operands&... operands) {
    static_assert(sizeof...(operands) <= kMost);
    if (GradScope::is_open() || !(tracked(operands) || ...) || !may_repeat()) return;
    key_.add(name);
    for (uint64_t option : options) key_.add(option);
    find((add(operands) && ...));
  }

  bool can_replay() const { return found_.kept != nullptr; }
  std::vector<Tensor> replay_all() const;
  Tensor replay() const { return std::move(replay_all()[0]); }
  // Notes `result` as all that the recorded call gives; returns it.
  Tensor keep(Tensor result) const {
    note({&result, 1});
    return result;
  }
  void note(TensorList results) const;

 private:
  static constexpr size_t kMost = 5;
  struct Kept {
    struct Value {
      SavedValue::Of of;
      uint32_t number;
      uint32_t tensor;  // which is watched for writes: of the operands and then the results; or kNone
    };
    static constexpr uint32_t kNone = UINT32_MAX;
    std::string_view name;
    ir::Template graph;  // gives the results, and then the saved steps
    size_t results;
    ir::Recipe recipe;
    GradRule rule;
    uint64_t rule_number;        // see GradFn
    std::vector<NodeRef> zeros;  // by edge
    std::vector<Value> saved, watched;
    bool keeps_all;
    uint32_t derivative_reads;
  };

  static bool tracked(const Tensor& x) { return requires_grad(x); }
  static bool tracked(const optional<Tensor>& x) { return x && requires_grad(*x); }
  static bool may_repeat();
  static ir::Memo<ReplayKey, Kept>& memo();
  bool add(const Tensor& x);
  bool add(const optional<Tensor>& x) { return x ? add(*x) : add(Tensor()); }
  void find(bool plain);
  bool has_edges_of_operands(const GradFn& fn) const;
  bool are_results(TensorList results, const GradFn* fn) const;
  uint32_t watched_by(const VersionWatch& version, TensorList results) const;
  std::shared_ptr<const Kept> kept(TensorList results) const;

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
  const ReplayedCall call(name, options, operands...);
  return call.can_replay() ? call.replay() : call.keep(recorded());
}

}  // namespace tenon
