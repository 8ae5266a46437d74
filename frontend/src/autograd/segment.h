// A part of the forward pass whose values the backward pass computes again. A node that is not evaluated keeps its operation, so
// that nobody wants a value is all it takes: an evaluation passes over it, and who reads it later has it computed from what
// crossed the segment's border, which is stored. If segments are nested, that holds for the outermost. When the backward pass enters
// it, what crosses borders inside is stored too, so that each value is computed again once, however deep they lie.
#pragma once

#include "frontend/src/autograd/grad_fn.h"

namespace tenon {

class Segment : public std::enable_shared_from_this<Segment> {
 public:
  static Segment* current();  // of this thread; null outside
  static std::shared_ptr<Segment> open();  // in the current one
  void close();

  void keep(const Tensor& input);
  void enter();  // values inside are about to be computed again

 private:
  friend KeptValue kept_value(NodeRef node, bool tracked, const GradFn* maker);
  Segment& outermost() { return outer_ ? outer_->outermost() : *this; }

  std::shared_ptr<Segment> outer_;
  bool closed_ = false;
  std::vector<KeptValue> inputs_;
  std::vector<NodeRef> inside_;  // of the outermost: what crosses borders inside
};

// A value that a function saves: wanted outside of segments, stored if it crosses the border of an outermost one. `maker` made it;
// `tracked` but without one it is a leaf.
KeptValue kept_value(NodeRef node, bool tracked = false, const GradFn* maker = nullptr);

}  // namespace tenon
