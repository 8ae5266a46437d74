// What a GradScope notes while its operation runs: operands, steps, results; and the GradFn with its recipe that it
// leaves behind. A scope in which no operand requires grad has none.
//
// Tensors are told apart, not their nodes: an operation that reads an operand gets that operand's node, whatever its storage
// holds. In x * x.detach() both operands have the same node, and only one of them a gradient. Such an operand is read through
// a node of its own, a reshape to its own shape, and so are its views.
#pragma once

#include <exception>
#include <unordered_map>

#include "frontend/src/autograd/grad_fn.h"
#include "frontend/src/autograd/history.h"

namespace tenon {

class Recording final : public Recorder {
 public:
  // That of the operation which runs on this thread; null if none needs one, or while grad mode is off.
  static Recording* current() { return this_thread.grad_mode ? static_cast<Recording*>(this_thread.recorder) : nullptr; }

  void begin(const char* name);
  void clear();  // and keeps its memory for the next scope
  bool is_large() const { return tape_.is_large(); }

  void add_operand(const Tensor& x);
  void start();
  void listen(bool on) override;  // while grad mode is off, what is made is a leaf of the recipe
  void finish();

  void attach_dependents() { dependents_only_ = true; }
  void set_derivative_reads(uint32_t reads) { fn_->derivative_reads = reads; }
  void several_views() { origin_ = ViewOrigin::Several; }
  void first_of_ties() { first_of_ties_ = true; }
  void made(const Tensor& result) override {
    if (this_thread.grad_mode) results_.push_back(result);
  }
  bool has_made(const Tensor& x) const;
  void viewed(const Tensor& source, const Tensor& view, const ElementMap* own);
  void wrote(const Tensor& self, const NodeRef& value);
  void evaluate_at_end() override { full_ = true; }
  void set_rule(uint32_t reads, GradRule rule);
  void set_saves(uint32_t reads) { saves_ = reads; }
  void saves_index(const Tensor& x);

  // The node by which this operation reads an operand, or a view of one that is told apart; null for other tensors, and after
  // a write.
  NodeRef read(const TensorImpl& t) const override;

 private:
  struct Operand {
    const TensorImpl* tensor;
    NodeRef storage;  // the storage's value
    NodeRef value;    // its own elements
    NodeRef read;     // the same by the node that this operation reads
    bool tracked, apart, repeated;
    bool by_element;  // its views are functions of its elements, and not of memory that it shows several times
    int64_t version;
  };
  struct Output {
    NodeRef value;   // as the recipe computes it
    NodeRef stored;  // what its storage holds
    const TensorImpl* tensor;
  };
  struct StandIn {
    NodeRef node;
    int64_t version;  // a write ends it
  };
  NodeRef find_stand_in(const TensorImpl& t) const;
  NodeRef read_by_element(const TensorImpl& t) const;
  NodeRef outside_of(const TensorImpl& t) const;
  bool is_told_apart(const Operand& operand) const;
  const Operand* shown_by(const TensorImpl& view) const;
  NodeRef output_of(const Tensor& result);
  void define_storages();
  void detach_constant();
  void find_unused();
  void keep_operand(size_t i);
  void keep_output(size_t k);
  void keep_values();
  void watch(SavedValue::Of of, size_t number, const TensorImpl& t, int64_t version);
  void watch_constants(DType dtype, uint64_t bits);
  void watch_saved();
  void watch_repeated();

  std::shared_ptr<GradFn> fn_;
  ir::Tape tape_;
  std::vector<Operand> operands_;
  mutable size_t next_read_ = 0;                              // of the operands, most likely: there may be many
  std::unordered_map<const TensorImpl*, StandIn> stand_ins_;  // for views of operands that are read by element
  std::vector<Tensor> results_;                               // those that outlive the scope are its outputs
  std::vector<Output> outputs_;                               // by output_nr
  uint32_t rule_reads_ = 0;
  optional<uint32_t> saves_;
  bool first_of_ties_ = false;
  bool dependents_only_ = false;
  bool by_element_ = false;  // is any operand read by element?
  ViewOrigin origin_ = ViewOrigin::Single;
  bool full_ = false;   // a cap on pending work was passed
  int exceptions_ = 0;  // that were on their way when it began
};

}  // namespace tenon
