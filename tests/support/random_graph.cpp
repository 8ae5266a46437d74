// The generator keeps a pool of nodes and grows it by random operations on them, converting types and shapes
// as an operation needs; outputs are the nodes that nobody read, and a few others.
#include "support/random_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <unordered_set>

#include "ir/graph/graph_map.h"
#include "support/random.h"

namespace tenon::test {
namespace {

using codegen::HostTensor;
using ir::Constant;
using ir::Dims;
using ir::DType;
using ir::Node;
using ir::NodeRef;
using ir::Op;

// --- values

Constant special_value(Random& random, DType t) {
  if (t == DType::Bool) return {t, random.bits() & 1};
  if (ir::is_float(t)) {
    static constexpr double values[] = {0.0, -0.0, 1.0, -1.0, 0.5, 65504.0, 1e-7, 1e-40, 1e30, HUGE_VAL, -HUGE_VAL};
    return random.chance(10) ? ir::constant(t, std::nan("")) : ir::constant(t, random.pick(values));
  }
  const int64_t lowest = int64_t{-1} << (8 * ir::item_size(t) - 1);
  const int64_t values[] = {0, 1, -1, 2, 127, lowest, ~lowest};
  return ir::constant(t, random.pick(values));
}

Constant plain_value(Random& random, DType t) {
  if (t == DType::Bool) return {t, random.bits() & 1};
  if (!ir::is_float(t)) return ir::constant(t, random.between(ir::is_signed(t) ? -9 : 0, 9));
  if (random.chance(30)) return ir::constant(t, static_cast<double>(random.between(-3, 3)));
  const double scale = random.chance(20) ? std::exp2(static_cast<double>(random.between(-6, 6))) : 2.0;
  return ir::constant(t, (random.unit() - 0.5) * scale);
}

// --- graphs

class Generator {
 public:
  Generator(uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options) {}

  ir::Graph generate() {
    for (int64_t i = random_.between(1, 4); i > 0; --i) add(ir::make_input(dtype(), shape()));
    for (int i = 0; i < options_.operations; ++i) add_operation();
    std::vector<NodeRef> outputs{pool_.back()};
    for (const NodeRef& node : pool_) {
      if (!read_.contains(node->id()) && outputs.size() < 4 && random_.chance(50)) outputs.push_back(node);
    }
    return ir::Graph::of(outputs, "random");
  }

 private:
  DType dtype() {
    static constexpr DType all[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                                    DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};
    for (;;) {
      const DType t = random_.chance(50) ? DType::F32 : random_.pick(all);
      if (options_.halves || !ir::is_half(t)) return t;
    }
  }

  // Sizes around the vector widths, and the ones that special cases are made of.
  int64_t size() {
    static constexpr int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65};
    return random_.chance(2) ? 0 : random_.chance(3) ? random_.between(100, 1100) : random_.pick(sizes);
  }

  Dims shape() {
    Dims result;
    int64_t count = 1;
    for (int64_t left = random_.between(0, 4); left > 0; --left) {
      const int64_t s = size();
      if (count * s > options_.max_numel) continue;
      count *= std::max<int64_t>(s, 1);
      result.push_back(s);
    }
    return result;
  }

  NodeRef make(Op op, std::span<const NodeRef> operands, std::span<const int64_t> ints = {}, DType to = DType::F32) {
    for (const NodeRef& operand : operands) read_.insert(operand->id());
    return ir::make_node(op, operands, ints, to, options_.folding);
  }
  NodeRef make(Op op, std::initializer_list<NodeRef> operands, std::span<const int64_t> ints = {}, DType to = DType::F32) {
    return make(op, std::span<const NodeRef>(operands.begin(), operands.size()), ints, to);
  }

  void add(NodeRef node) {
    if (node) pool_.push_back(std::move(node));
  }

  // Mostly a recent node, so that graphs get deep.
  NodeRef any() {
    const auto count = static_cast<int64_t>(pool_.size());
    return pool_[static_cast<size_t>(random_.chance(60) ? random_.between(std::max<int64_t>(0, count - 4), count - 1)
                                                        : random_.below(count))];
  }

  NodeRef constant(DType t, const Dims& shape) {
    const Constant value = random_.chance(25) ? special_value(random_, t) : plain_value(random_, t);
    return ir::make_const(value, shape);
  }

  NodeRef to_dtype(const NodeRef& x, DType t) { return x->dtype() == t ? x : make(Op::Cast, {x}, {}, t); }

  // x with another shape, if a view can give it.
  NodeRef to_shape(const NodeRef& x, const Dims& shape) {
    if (x->shape() == shape) return x;
    if (x->numel() == ir::element_count(shape)) return make(Op::Reshape, {x}, shape);
    if (x->shape().size() != shape.size()) return {};
    for (size_t i = 0; i < shape.size(); ++i) {
      if (x->shape()[i] != shape[i] && x->shape()[i] != 1) return {};
    }
    return make(Op::Expand, {x}, shape);
  }

  // Some node of this type and shape.
  NodeRef partner(DType t, const Dims& shape) {
    if (random_.chance(20)) return constant(t, shape);
    for (int i = 0; i < 6; ++i) {
      const NodeRef x = any();
      if (const NodeRef fitting = to_shape(x, shape)) return to_dtype(fitting, t);
    }
    if (!shape.empty() && random_.chance(30)) {
      return to_dtype(ir::make_iota(shape, random_.below(static_cast<int64_t>(shape.size()))), t);
    }
    return constant(t, shape);
  }

  // The sign of a nan is nobody's promise, so nothing may look at it: no copysign, and no float seen as bits.
  bool allowed(Op op) {
    if (!ir::has_trait(op, ir::TraitExpands) || options_.transcendental) return true;
    return op == Op::Sign || op == Op::Rem;
  }

  // A node of a type that the op takes.
  NodeRef operand_for(Op op, const NodeRef& x) {
    if (ir::in_domain(op, x->dtype())) return x;
    for (;;) {
      const DType t = dtype();
      if (ir::in_domain(op, t)) return to_dtype(x, t);
    }
  }

  NodeRef elementwise() {
    for (;;) {
      const Op op = static_cast<Op>(random_.below(ir::kOpCount));
      if (!ir::is_elementwise(op) || op == Op::Check) continue;  // a Check writes to its last operand
      const NodeRef chosen = any();
      const bool exact_integers = op == Op::Pow && ir::is_int(chosen->dtype());
      if (!allowed(op) && !exact_integers) continue;
      if (op == Op::CopySign || (op == Op::Bitcast && ir::is_float(chosen->dtype()))) continue;
      if (op == Op::Cast) return make(op, {chosen}, {}, dtype());
      const NodeRef x = operand_for(op, chosen);
      if (op == Op::Bitcast) return make(op, {x}, {}, bitcast_type(x->dtype()));
      switch (ir::info(op).arity) {
        case 1: return make(op, {x});
        case 2: return binary(op, x);
        default: break;
      }
      const NodeRef a = op == Op::Where ? partner(DType::Bool, x->shape()) : partner(x->dtype(), x->shape());
      return make(op, {a, x, partner(x->dtype(), x->shape())});
    }
  }

  NodeRef binary(Op op, const NodeRef& x) {
    const NodeRef y = partner(x->dtype(), x->shape());
    return random_.chance(50) ? make(op, {x, y}) : make(op, {y, x});
  }

  DType bitcast_type(DType t) {
    for (;;) {
      const DType to = dtype();
      if (to != DType::Bool && ir::item_size(to) == ir::item_size(t)) return to;
    }
  }

  // A scan, a sort or a scatter of x.
  NodeRef along_a_dim(const NodeRef& x) {
    static constexpr Op scans[] = {Op::ScanSum, Op::ScanSum, Op::ScanProd, Op::ScanMax, Op::ScanMin};
    static constexpr Op scatters[] = {Op::Scatter, Op::ScatterAdd, Op::ScatterMul, Op::ScatterMax, Op::ScatterMin};
    if (x->numel() == 0 || x->rank() == 0) return x;
    const int64_t dim = random_.below(x->rank());
    if (random_.chance(60)) {
      const Op op = random_.pick(scans);
      return make(op, {operand_for(op, x)}, {&dim, 1});
    }
    if (random_.chance(50)) {
      const int64_t ints[] = {dim, random_.between(0, 1)};
      if (random_.chance(50)) return make(Op::Sort, {x}, ints);
      const int64_t length = x->shape()[static_cast<size_t>(dim)], first = random_.below(length);
      const int64_t part[] = {dim, ints[1], first, random_.between(1, length - first)};
      return make(Op::SortPart, {x}, part);
    }
    const Op op = random_.pick(scatters);
    const NodeRef base = operand_for(op, x);
    Dims shape = base->shape();
    for (int64_t& size : shape) size = random_.chance(20) ? random_.between(1, size) : size;
    const auto d = static_cast<size_t>(dim);
    shape[d] = size();
    if (ir::element_count(shape) > options_.max_numel) return x;
    return make(op, {base, places(shape, base->shape()[d]), partner(base->dtype(), shape)}, {&dim, 1});
  }

  NodeRef reduction() {
    if (random_.chance(25)) return along_a_dim(any());
    static constexpr Op ops[] = {Op::Sum,       Op::Sum, Op::Sum, Op::Prod,   Op::ReduceMax,
                                 Op::ReduceMin, Op::Any, Op::All, Op::ArgMax, Op::ArgMin};
    const Op op = random_.pick(ops);
    const NodeRef x = operand_for(op, any());
    Dims dims;
    for (int64_t dim = 0; dim < x->rank(); ++dim) {
      if (random_.chance(50)) dims.push_back(dim);
    }
    return make(op, {x}, dims);
  }

  Dims shuffled_dims(int rank) {
    Dims dims;
    for (int64_t i = 0; i < rank; ++i) dims.insert(static_cast<size_t>(random_.between(0, i)), i);
    return dims;
  }

  // Another shape of as many elements: dims merged, split, and ones put in.
  NodeRef reshape(const NodeRef& x) {
    Dims shape;
    for (int64_t size : x->shape()) {
      if (!shape.empty() && random_.chance(40)) {
        shape.back() *= size;
      } else if (size > 2 && random_.chance(30)) {
        int64_t factor = size;
        for (int64_t f = 2; f * f <= size; ++f) {
          if (size % f == 0) factor = f;
        }
        shape.push_back(factor);
        shape.push_back(size / factor);
      } else {
        shape.push_back(size);
      }
    }
    if (shape.size() < 4 && random_.chance(30)) shape.insert(static_cast<size_t>(random_.below(static_cast<int64_t>(shape.size()) + 1)), 1);
    return make(Op::Reshape, {x}, shape);
  }

  NodeRef expand(const NodeRef& x) {
    Dims shape = x->shape();
    int64_t count = std::max<int64_t>(1, x->numel());
    for (int64_t& size : shape) {
      const int64_t grown = this->size();
      if (size != 1 || count * grown > options_.max_numel) continue;
      count *= std::max<int64_t>(1, grown);
      size = grown;
    }
    return make(Op::Expand, {x}, shape);
  }

  NodeRef slice(const NodeRef& x) {
    Dims starts, steps, sizes;
    for (int64_t extent : x->shape()) {
      const int64_t start = extent && random_.chance(60) ? random_.below(extent) : 0;
      const int64_t step = random_.chance(30) ? random_.between(2, 3) : 1;
      const int64_t most = (extent - start + step - 1) / step;
      starts.push_back(start);
      steps.push_back(step);
      sizes.push_back(random_.chance(50) || most == 0 ? most : random_.between(1, most));
    }
    Dims ints = starts;
    ints.append(steps.data(), steps.size());
    ints.append(sizes.data(), sizes.size());
    return make(Op::Slice, {x}, ints);
  }

  NodeRef flip(const NodeRef& x) {
    Dims dims;
    for (int64_t dim = 0; dim < x->rank(); ++dim) {
      if (random_.chance(50)) dims.push_back(dim);
    }
    return make(Op::Flip, {x}, dims);
  }

  NodeRef pad(const NodeRef& x) {
    Dims ints;
    int64_t count = 1;
    for (int i = 0; i < 2 * x->rank(); ++i) ints.push_back(random_.chance(50) ? random_.below(4) : 0);
    const auto rank = static_cast<size_t>(x->rank());
    for (size_t i = 0; i < rank; ++i) count *= x->shape()[i] + ints[i] + ints[rank + i];
    if (count > options_.max_numel) return x;
    return make(Op::Pad, {x, constant(x->dtype(), {})}, ints);
  }

  NodeRef cat(const NodeRef& x) {
    if (x->rank() == 0 || 3 * x->numel() > options_.max_numel) return x;
    const int64_t dim = random_.below(x->rank());
    std::vector<NodeRef> parts{x};
    for (int64_t more = random_.between(0, 2); more > 0; --more) {
      Dims shape = x->shape();
      if (random_.chance(30)) shape[static_cast<size_t>(dim)] = 1;
      parts.insert(random_.chance(50) ? parts.begin() : parts.end(), partner(x->dtype(), shape));
    }
    return make(Op::Cat, parts, {&dim, 1});
  }

  // Any places of x, some of them more than once.
  NodeRef strided(const NodeRef& x) {
    if (x->numel() == 0) return x;
    const int64_t offset = random_.chance(50) ? 0 : random_.below(x->numel());
    int64_t left = x->numel() - 1 - offset, count = 1;
    Dims sizes, strides;
    for (int64_t rank = random_.between(0, 4); rank > 0; --rank) {
      const int64_t stride = random_.chance(20) ? 0 : random_.chance(40) ? random_.between(1, 3) : random_.between(1, left + 1);
      int64_t most = stride == 0 ? 9 : left / stride + 1;
      most = std::min(most, options_.max_numel / count);
      const int64_t size = random_.chance(60) ? most : random_.between(1, most);
      sizes.push_back(size);
      strides.push_back(stride);
      left -= (size - 1) * stride;
      count *= size;
    }
    Dims ints = sizes;
    ints.append(strides.data(), strides.size());
    ints.push_back(offset);
    return make(Op::Strided, {x}, ints);
  }

  // Sliding windows over one or two dims, as convolutions and pooling see them, in front or behind.
  NodeRef windows(const NodeRef& x) {
    if (x->numel() == 0 || x->rank() == 0) return x;
    const Dims all = ir::contiguous_strides(x->shape());
    Dims sizes, strides, inner, inner_strides;
    int64_t count = 1;
    for (size_t d = 0; d < x->shape().size(); ++d) {
      const int64_t extent = x->shape()[d];
      const bool slides = random_.chance(50);
      const int64_t window = slides ? random_.between(1, std::min<int64_t>(extent, 4)) : 1;
      const int64_t step = slides ? random_.between(1, 3) : 1;
      sizes.push_back((extent - window) / step + 1);
      strides.push_back(all[d] * step);
      count *= sizes.back() * window;
      if (!slides) continue;
      inner.push_back(window);
      inner_strides.push_back(all[d]);
    }
    if (count > options_.max_numel) return x;
    const bool in_front = random_.chance(50);
    Dims ints = in_front ? inner : sizes;
    auto append = [&](const Dims& dims) { ints.append(dims.data(), dims.size()); };
    append(in_front ? sizes : inner);
    append(in_front ? inner_strides : strides);
    append(in_front ? strides : inner_strides);
    ints.push_back(0);
    return make(Op::Strided, {x}, ints);
  }

  NodeRef movement() { return movement(any()); }
  NodeRef movement(const NodeRef& x) {
    switch (random_.below(10)) {
      case 8: return random_.chance(50) ? windows(x) : strided(x);
      case 0: return make(Op::Permute, {x}, shuffled_dims(x->rank()));
      case 1: return expand(x);
      case 2: return slice(x);
      case 3: return flip(x);
      case 4: return pad(x);
      case 5: return cat(x);
      default: return reshape(x);
    }
  }

  // Positions in 0..size-1.
  NodeRef places(const Dims& shape, int64_t size) {
    const NodeRef low = make(Op::Max, {partner(DType::I64, shape), ir::make_const({DType::I64, 0}, shape)});
    const auto last = static_cast<uint64_t>(size - 1);
    return make(Op::Min, {low, ir::make_const({DType::I64, last}, shape)});
  }

  // Elements of x picked along a dim: rows of a table, or each on its own.
  NodeRef gather(const NodeRef& x) {
    if (x->numel() == 0 || x->rank() == 0) return x;
    const int64_t dim = random_.below(x->rank());
    Dims shape = x->shape();
    for (int64_t& size : shape) size = random_.chance(20) ? random_.between(1, size) : size;
    const auto d = static_cast<size_t>(dim);
    shape[d] = this->size();
    if (ir::element_count(shape) > options_.max_numel) return x;
    NodeRef index;
    if (random_.chance(50)) {
      Dims rows(std::vector<int64_t>(shape.size(), 1));
      rows[d] = shape[d];
      index = make(Op::Expand, {places(rows, x->shape()[d])}, shape);
    } else {
      index = places(shape, x->shape()[d]);
    }
    return make(Op::Gather, {x, index}, {&dim, 1});
  }

  // x with a region replaced: by another value, or by what the region holds with something done to it.
  NodeRef update(const NodeRef& x) {
    if (x->numel() == 0) return x;
    Dims sizes, strides;
    int64_t offset = 0;
    const Dims all = ir::contiguous_strides(x->shape());
    for (size_t d = 0; d < x->shape().size(); ++d) {
      const int64_t extent = x->shape()[d], step = random_.chance(20) ? 2 : 1;
      const int64_t start = random_.chance(50) ? random_.below(extent) : 0;
      const int64_t most = (extent - start + step - 1) / step;
      sizes.push_back(random_.chance(50) ? most : random_.between(1, most));
      strides.push_back(all[d] * step);
      offset += start * all[d];
    }
    if (random_.chance(30)) {  // the region seen with its dims in another order
      const Dims order = shuffled_dims(x->rank());
      Dims s = sizes, t = strides;
      for (size_t d = 0; d < order.size(); ++d) {
        sizes[d] = s[static_cast<size_t>(order[d])];
        strides[d] = t[static_cast<size_t>(order[d])];
      }
    }
    NodeRef value;
    if (random_.chance(50)) {
      Dims ints = sizes;
      ints.append(strides.data(), strides.size());
      ints.push_back(random_.chance(80) ? offset : 0);
      value = make(Op::Strided, {x}, ints);
      if (random_.chance(70)) value = to_dtype(binary(Op::Max, value), x->dtype());
      if (ir::in_domain(Op::Neg, x->dtype()) && random_.chance(30)) value = make(Op::Neg, {value});
    } else {
      value = partner(x->dtype(), sizes);
    }
    Dims ints = strides;
    ints.push_back(offset);
    return make(Op::Update, {x, value}, ints);
  }

  // A chain of them, as a loop over rows makes.
  NodeRef updates(NodeRef x) {
    for (int64_t left = random_.between(1, 3); left > 0; --left) x = update(x);
    return x;
  }

  NodeRef dot() {
    const NodeRef a = operand_for(Op::Dot, any());
    if (a->rank() < 2) return {};
    const auto rank = static_cast<size_t>(a->rank());
    Dims shape = a->shape();
    shape[rank - 2] = a->shape()[rank - 1];
    shape[rank - 1] = random_.between(1, 20);
    const int64_t rows = a->shape()[rank - 1] ? a->numel() / a->shape()[rank - 1] : 0;
    if (std::max(ir::element_count(shape), rows * shape[rank - 1]) > options_.max_numel) return {};
    return make(Op::Dot, {a, partner(a->dtype(), shape)});
  }

  // A product, and mostly who reads it through a view, as gates and heads read parts of one.
  void add_dot() {
    const NodeRef product = dot();
    add(product);
    for (int64_t left = product ? random_.below(4) : 0; left > 0; --left) {
      const NodeRef view = random_.chance(50) ? slice(product) : movement(product);
      if (view && view->numel() > 0 && ir::in_domain(Op::Add, view->dtype())) add(binary(Op::Add, view));
    }
  }

  void add_operation() {
    const int64_t kind = random_.below(100);
    if (kind < 62) return add(elementwise());
    if (kind < 74) return add(reduction());
    if (kind < 77) return add(gather(any()));
    if (kind < 81) return add(updates(any()));
    if (kind < 95 || !options_.contractions) return add(movement());
    add_dot();
  }

  Random random_;
  const RandomGraphOptions& options_;
  std::vector<NodeRef> pool_;
  std::unordered_set<uint64_t> read_;  // ids: a node that a rule folded away is gone
};

// --- reducing

// `graph` with `node` replaced wherever it is read or returned.
ir::Graph with_replacement(const ir::Graph& graph, const Node* node, const NodeRef& replacement) {
  ir::NodeMap<NodeRef> image;
  std::vector<NodeRef> operands, outputs;
  for (const NodeRef& old : graph.nodes) {
    operands.clear();
    for (Node* input : old->inputs()) operands.push_back(image[input]);
    image[old.get()] = old.get() == node ? replacement
                       : old->is_leaf()  ? old
                                         : ir::make_node(old->op(), operands, old->ints(), old->dtype(), ir::Folding::Off);
  }
  for (const NodeRef& output : graph.outputs) outputs.push_back(image[output.get()]);
  return ir::Graph::of(outputs, graph.name);
}

class Reducer {
 public:
  Reducer(const ir::Graph& graph, const std::function<bool(const ir::Graph&)>& fails) : best_(graph), fails_(fails) {}

  ir::Graph reduce() {
    while (calls_left_ > 0 && (drop_an_output() || look_at_operands() || replace_a_node())) {
    }
    return best_;
  }

 private:
  bool try_graph(ir::Graph candidate) {
    if (calls_left_-- <= 0 || !fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool drop_an_output() {
    for (size_t i = 0; best_.outputs.size() > 1 && i < best_.outputs.size(); ++i) {
      std::vector<NodeRef> outputs = best_.outputs;
      outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (try_graph(ir::Graph::of(outputs, best_.name))) return true;
    }
    return false;
  }

  // Is an operand of an output wrong already?
  bool look_at_operands() {
    for (size_t i = 0; i < best_.outputs.size(); ++i) {
      for (Node* operand : best_.outputs[i]->inputs()) {
        std::vector<NodeRef> outputs = best_.outputs;
        outputs[i] = NodeRef(operand);
        if (try_graph(ir::Graph::of(outputs, best_.name))) return true;
      }
    }
    return false;
  }

  // Some operands cannot be replaced: the fill of a pad must stay a constant.
  bool try_replacement(const NodeRef& node, const NodeRef& by) {
    try {
      return try_graph(with_replacement(best_, node.get(), by));
    } catch (const ir::IrError&) {
      return false;
    }
  }

  // Another index might point out of range.
  bool is_index(const Node* node) const {
    return std::any_of(best_.nodes.begin(), best_.nodes.end(), [&](const NodeRef& n) {
      if (n->op() != Op::Gather && !ir::is_scatter(n->op())) return false;
      const Node* index = n->inputs()[1];
      while (index != node && index->op() == Op::Expand) index = index->inputs()[0];
      return index == node;
    });
  }

  bool replace_a_node() {
    for (size_t i = best_.nodes.size(); i-- > 0;) {
      const NodeRef node = best_.nodes[i];
      if (node->is_leaf() || is_index(node.get())) continue;
      for (Node* operand : node->inputs()) {
        const bool fits = operand->dtype() == node->dtype() && operand->shape() == node->shape();
        if (fits && try_replacement(node, NodeRef(operand))) return true;
      }
      const NodeRef input = ir::make_input(node->dtype(), node->shape(), nullptr, node->device());
      if (try_replacement(node, input)) return true;
    }
    return false;
  }

  ir::Graph best_;
  const std::function<bool(const ir::Graph&)>& fails_;
  int calls_left_ = 2000;
};

bool is_nan(Constant c) { return ir::is_float(c.dtype) && std::isnan(ir::to_double(c)); }

Constant element(const HostTensor& tensor, size_t i) {
  const auto size = static_cast<size_t>(ir::item_size(tensor.dtype));
  uint64_t bits = 0;
  std::memcpy(&bits, tensor.data.data() + i * size, size);
  return {tensor.dtype, bits};
}

}  // namespace

ir::Graph random_graph(uint64_t seed, const RandomGraphOptions& options) { return Generator(seed, options).generate(); }

std::vector<HostTensor> random_inputs(const ir::Graph& graph, uint64_t seed) {
  Random random(seed ^ 0x5bd1e995);
  std::vector<HostTensor> tensors;
  for (const NodeRef& input : graph.inputs) {
    const auto size = static_cast<size_t>(ir::item_size(input->dtype()));
    HostTensor tensor{input->dtype(), input->shape(), std::vector<std::byte>(static_cast<size_t>(input->numel()) * size)};
    const int specials = random.chance(40) ? 10 : 0;
    for (size_t i = 0; i < tensor.data.size(); i += size) {
      const Constant value = random.chance(specials) ? special_value(random, tensor.dtype) : plain_value(random, tensor.dtype);
      std::memcpy(tensor.data.data() + i, &value.bits, size);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

ir::Graph reduce_failing(const ir::Graph& graph, const std::function<bool(const ir::Graph&)>& fails) {
  return Reducer(graph, fails).reduce();
}

bool same_elements(const HostTensor& a, const HostTensor& b) {
  if (a.dtype != b.dtype || !(a.shape == b.shape) || a.data.size() != b.data.size()) return false;
  for (size_t i = 0; i < a.data.size() / static_cast<size_t>(ir::item_size(a.dtype)); ++i) {
    const Constant x = element(a, i), y = element(b, i);
    if (!(x == y) && !(is_nan(x) && is_nan(y))) return false;
  }
  return true;
}

std::string first_difference(const HostTensor& got, const HostTensor& want) {
  if (got.dtype != want.dtype || !(got.shape == want.shape) || got.data.size() != want.data.size()) return "another type or shape";
  for (size_t i = 0; i < got.data.size() / static_cast<size_t>(ir::item_size(got.dtype)); ++i) {
    const Constant x = element(got, i), y = element(want, i);
    if (x == y || (is_nan(x) && is_nan(y))) continue;
    std::ostringstream text;
    text << "[" << i << "]: 0x" << std::hex << x.bits << " and not 0x" << y.bits << " (" << ir::print(x) << ", " << ir::print(y) << ")";
    return text.str();
  }
  return "none";
}

}  // namespace tenon::test
