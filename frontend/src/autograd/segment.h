// A part of the forward pass whose values the backward pass computes again. A node that is not evaluated keeps its operation, so
// that nobody wants a value is all it takes: an evaluation passes over it, and who reads it later has it computed from what
// crossed the segment's border, which is stored. If segments are nested, that holds for the outermost. When the backward pass enters
// it, what crosses borders inside is stored too, so that each value is computed again once, however deep they lie.
#pragma once

#include <memory>
#include <vector>

#include "frontend/src/tensor/impl.h"

namespace tenon {

// A value that gradients will read. While one of these lives, an evaluation that computes the value on its way stores it, or
// what it is cheaply computed from.
class KeptValue {
 public:
  // Stored: as it is, cheap or not. Recomputed: no evaluation takes notice of it.
  enum class As : uint8_t { Wanted, Stored, Recomputed };
  explicit KeptValue(NodeRef node, As as = As::Wanted) : node_(std::move(node)), as_(as) {
    if (node_->op() == Op::Const) as_ = As::Recomputed;
    count(1);
  }
  KeptValue(KeptValue&& other) noexcept : node_(std::move(other.node_)), as_(other.as_) {}
  KeptValue(const KeptValue& other) : KeptValue(other.node_, other.as_) {}
  KeptValue& operator=(KeptValue other) noexcept {
    std::swap(node_, other.node_);
    std::swap(as_, other.as_);
    return *this;
  }
  ~KeptValue() { count(-1); }
  const NodeRef& node() const { return node_; }
  Tensor tensor() const;  // a new one

 private:
  void count(int32_t by) {
    if (!node_ || as_ == As::Recomputed) return;
    (as_ == As::Wanted ? node_->wanted : node_->holders).fetch_add(by, std::memory_order_relaxed);
  }
  NodeRef node_;
  As as_;
};

class Segment : public std::enable_shared_from_this<Segment> {
 public:
  static Segment* current();               // of this thread; null outside
  static std::shared_ptr<Segment> open();  // in the current one
  void close();

  void keep(const Tensor& input);
  void enter();  // values inside are about to be computed again

 private:
  friend KeptValue kept_value(NodeRef node, const Segment* origin, bool is_leaf);
  Segment& outermost() { return outer_ ? outer_->outermost() : *this; }
  const Segment& outermost() const { return outer_ ? std::as_const(*outer_).outermost() : *this; }

  std::shared_ptr<Segment> outer_;
  bool closed_ = false;
  std::vector<KeptValue> inputs_;
  std::vector<NodeRef> inside_;  // of the outermost: what crosses borders inside
};

// A value that a function saves: wanted outside of segments, stored if it crosses the border of an outermost one. It was made in
// `origin`, null outside; or it is a leaf, whose value is there anyway.
KeptValue kept_value(NodeRef node, const Segment* origin = Segment::current(), bool is_leaf = false);

}  // namespace tenon
