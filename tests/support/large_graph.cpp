// The generator keeps a frame, which is a shape, and a pool of values that can be broadcast to it. A step combines some of
// them, reduces and spreads again, or moves to another frame: by a permutation, a product, a convolution.
#include "support/large_graph.h"

#include <algorithm>

#include "support/random.h"

namespace tenon::test {
namespace {

using ir::Dims;
using ir::DType;
using ir::NodeRef;
using ir::Op;

int64_t small_size(Random& random) {
  static constexpr int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 40, 48};
  return random.pick(sizes);
}

int64_t medium_size(Random& random) {
  static constexpr int64_t sizes[] = {16, 17, 31, 33, 47, 48, 63, 64, 65, 70, 96, 100, 112, 127, 128, 129, 130, 192, 255, 256, 257};
  return random.pick(sizes);
}

int64_t large_size(Random& random) {
  static constexpr int64_t sizes[] = {300,  511,  513,  700,  1000, 1023, 1024, 1025, 1100, 2049,
                                      3000, 4095, 4096, 4097, 4100, 4352, 5000, 8191, 8200, 9001};
  return random.pick(sizes);
}

// The first frame, around vectors, tiles, blocks and their multiples.
class Frame {
 public:
  Frame(Random& random, const LargeGraphOptions& options) : random_(random), options_(options) { choose(); }

  Dims dims, reduced;  // `reduced`: what reductions should run along, if anything

 private:
  void choose() {
    switch (random_.below(12)) {
      case 0: dims = {large(), small()}; break;
      case 1:
      case 2:
      case 11: tall(); break;
      case 3: dims = {small(), large()}; break;
      case 7: rows(random_.between(60, 300), medium()); break;
      case 9: rows(random_.between(3, 300), 64 * random_.between(1, 4)); break;
      case 8:
        random_.chance(50) ? rows(random_.between(2, 4), random_.between(3000, 17'000)) : rows(1, random_.between(65'000, 70'000));
        break;
      case 4: dims = {small(), medium(), medium()}; break;
      case 5: dims = {medium(), medium()}; break;
      case 6:
      case 10: wide(); break;
      default: dims = {small(), small(), medium(), small()}; break;
    }
    fit_budget();
    if (random_.chance(15)) {
      std::swap(dims[static_cast<size_t>(random_.below(static_cast<int64_t>(dims.size())))], dims.back());
      reduced.clear();
    }
  }

  // Many that are reduced, or a few of several blocks.
  void rows(int64_t count, int64_t length) {
    dims = {count, length};
    reduced = {1};
  }

  // A few columns of more rows than 16 blocks have, along two dims.
  void tall() {
    const int64_t rows = random_.between(13, 70);
    dims = {rows, random_.between(4096, 5000) / rows + 1, std::min<int64_t>(small(), options_.max_numel / 4000)};
    reduced = {0, 1};
    if (random_.chance(70)) {
      dims.insert(1, random_.between(2, 3));
      reduced = {0, 2};
    }
  }

  // Columns for whole runs, of more rows than a block or of a few.
  void wide() {
    const int64_t rows = random_.chance(50) ? random_.between(2, 40) : random_.between(200, 300);
    dims = {rows, std::min(large(), std::max<int64_t>(520, 2 * options_.max_numel / rows))};
    if (rows <= 40 && random_.chance(50)) dims.insert(0, random_.between(2, 3));
    reduced = {static_cast<int64_t>(dims.size()) - 2};
  }

  // If the dims are too large, the largest becomes smaller, or the smallest becomes 1.
  void fit_budget() {
    const auto by_size = [](int64_t a, int64_t b) { return a < b; };
    while (ir::element_count(dims) > 3 * options_.max_numel || (reduced.empty() && ir::element_count(dims) > options_.max_numel)) {
      int64_t& largest = *std::max_element(dims.begin(), dims.end(), by_size);
      int64_t& smallest = *std::min_element(dims.begin(), dims.end(), [](int64_t a, int64_t b) { return a > 1 && (b == 1 || a < b); });
      if (random_.chance(50) && smallest > 1 && smallest < largest) {
        smallest = 1;
      } else {
        largest = std::max<int64_t>(1, options_.max_numel / (ir::element_count(dims) / largest));
      }
    }
  }

  int64_t small() { return small_size(random_); }
  int64_t medium() { return medium_size(random_); }
  int64_t large() { return large_size(random_); }

  Random& random_;
  const LargeGraphOptions& options_;
};

// Operands of a given shape: inputs seen through all kinds of views, positions, other types.
class Operands {
 public:
  Operands(Random& random, DType type, const LargeGraphOptions& options) : random_(random), options_(options), type_(type) {}

  NodeRef any(const Dims& shape) {
    const auto dims = static_cast<int64_t>(shape.size());
    if (random_.chance(45)) return input(shape);
    switch (random_.below(12)) {
      case 0:
      case 1: return permuted(shape);
      case 2: return sliced(shape);
      case 3: {
        const int64_t dim = random_.below(dims);
        return ir::flip(input(shape), {&dim, 1});
      }
      case 4: return ir::reshape(input({ir::element_count(shape)}), shape);
      case 5: return positions(shape);
      case 6: return ir::cast(input(shape, random_.pick(kOthers)), type_);
      case 7: return picked(shape);
      case 8: return joined(shape);
      case 9: return padded(shape);
      default:
        for (const NodeRef& known : inputs_) {
          if (known->shape() == shape) return known;
        }
        return input(shape);
    }
  }

  NodeRef input(const Dims& shape) {
    inputs_.push_back(input(shape, type_));
    return inputs_.back();
  }
  NodeRef number(double value, const Dims& shape) { return ir::make_const(ir::constant(type_, value), shape); }

  Dims shuffled(int64_t count) {
    Dims dims;
    for (int64_t i = 0; i < count; ++i) dims.insert(static_cast<size_t>(random_.between(0, i)), i);
    return dims;
  }

 private:
  static constexpr DType kOthers[] = {DType::U8, DType::I64, DType::F64, DType::F32, DType::Bool, DType::F16};

  static NodeRef input(const Dims& shape, DType type) { return ir::make_input(type, shape); }

  NodeRef permuted(const Dims& shape) {
    const Dims order = shuffled(static_cast<int64_t>(shape.size()));
    Dims source = shape;
    for (size_t i = 0; i < order.size(); ++i) source[static_cast<size_t>(order[i])] = shape[i];
    return ir::permute(input(source), order);
  }

  NodeRef sliced(const Dims& shape) {
    Dims source, starts, steps;
    for (int64_t size : shape) {
      steps.push_back(random_.chance(20) ? 2 : 1);
      starts.push_back(random_.chance(50) ? random_.below(5) : 0);
      source.push_back(starts.back() + steps.back() * size + (random_.chance(50) ? random_.below(3) : 0));
    }
    if (ir::element_count(source) > 4 * options_.max_numel) return input(shape);
    return ir::slice(input(source), starts, steps, shape);
  }

  NodeRef positions(const Dims& shape) {
    NodeRef x = ir::make_iota(shape, random_.below(static_cast<int64_t>(shape.size())));
    const auto whole = [&](int64_t v) { return ir::make_const(ir::constant(DType::I64, v), shape); };
    if (random_.chance(50)) x = ir::binary(Op::Add, ir::binary(Op::Mul, x, whole(random_.between(1, 5))), whole(random_.between(-9, 9)));
    if (random_.chance(40)) x = ir::binary(random_.chance(50) ? Op::Rem : Op::Div, x, whole(random_.between(2, 9)));
    return ir::cast(x, type_);
  }

  // Rows of a table, or elements one by one.
  NodeRef picked(const Dims& shape) {
    const int64_t dim = random_.below(static_cast<int64_t>(shape.size())), count = random_.between(1, 40);
    Dims table = shape, rows(std::vector<int64_t>(shape.size(), 1));
    table[static_cast<size_t>(dim)] = count;
    rows[static_cast<size_t>(dim)] = shape[static_cast<size_t>(dim)];
    if (ir::element_count(table) > 4 * options_.max_numel) return input(shape);
    const Dims& places = random_.chance(60) ? rows : shape;
    const auto limit = [&](Op op, const NodeRef& x, int64_t v) {
      return ir::binary(op, x, ir::make_const(ir::constant(DType::I64, v), places));
    };
    const NodeRef index = limit(Op::Min, limit(Op::Max, input(places, DType::I64), 0), count - 1);
    return ir::gather(input(table), places == shape ? index : ir::expand(index, shape), dim);
  }

  NodeRef joined(const Dims& shape) {
    const int64_t dim = random_.below(static_cast<int64_t>(shape.size())), size = shape[static_cast<size_t>(dim)];
    if (size < 2) return input(shape);
    Dims first = shape, second = shape;
    first[static_cast<size_t>(dim)] = random_.between(1, size - 1);
    second[static_cast<size_t>(dim)] = size - first[static_cast<size_t>(dim)];
    const NodeRef parts[] = {input(first), random_.chance(30) ? permuted(second) : input(second)};
    return ir::cat(parts, dim);
  }

  NodeRef padded(const Dims& shape) {
    Dims source = shape, low, high;
    for (int64_t& size : source) {
      low.push_back(random_.chance(50) ? random_.below(std::min<int64_t>(size, 4)) : 0);
      size -= low.back();
      high.push_back(random_.chance(50) ? random_.below(std::min<int64_t>(size, 4)) : 0);
      size -= high.back();
    }
    return ir::pad(input(source), number(random_.chance(70) ? 0 : 2, {}), low, high);
  }

  Random& random_;
  const LargeGraphOptions& options_;
  const DType type_;
  std::vector<NodeRef> inputs_;  // all of them, to be read again
};

class Generator {
 public:
  Generator(uint64_t seed, const LargeGraphOptions& options)
      : random_(seed), options_(options), type_(choose_type()), operands_(random_, type_, options) {
    Frame frame(random_, options);
    frame_ = frame.dims;
    reduced_ = frame.reduced;
  }

  ir::Graph generate() {
    for (int64_t left = random_.between(1, 3); left > 0; --left) add(random_.chance(40) ? operands_.input(frame_) : leaf());
    if (!reduced_.empty()) random_.chance(65) ? weighted_sum() : reduction();
    for (int64_t left = random_.between(2, 12); left > 0; --left) step();
    std::vector<NodeRef> outputs{pool_.back()};
    for (int64_t left = random_.between(0, 2); left > 0; --left) outputs.push_back(any());
    return ir::Graph::of(outputs, "large");
  }

 private:
  DType choose_type() {
    static constexpr DType types[] = {DType::F32, DType::F32, DType::F32, DType::F32,  DType::F32, DType::F64,
                                      DType::F64, DType::F16, DType::I32, DType::BF16, DType::I64};
    return random_.pick(types);
  }

  int64_t rank() const { return static_cast<int64_t>(frame_.size()); }

  // --- values

  void add(NodeRef node) { pool_.push_back(std::move(node)); }

  // Mostly a recent one.
  NodeRef any() {
    const int64_t count = std::ssize(pool_), recent = std::max<int64_t>(0, count - 3);
    return pool_[static_cast<size_t>(random_.between(random_.chance(60) ? recent : 0, count - 1))];
  }
  NodeRef any_whole() { return spread(any()); }
  NodeRef spread(const NodeRef& x) { return x->shape() == frame_ ? x : ir::expand(x, frame_); }
  NodeRef number(double value, const Dims& shape) { return operands_.number(value, shape); }
  NodeRef leaf(const Dims& shape) { return operands_.any(shape); }
  NodeRef number_for(const NodeRef& x) { return number(ir::is_float(type_) ? random_.unit() * 2 - 0.75 : 3, x->shape()); }

  // An operand that can be broadcast to the frame: often one value for each point, or each result, of the reductions.
  NodeRef leaf() {
    if (!reduced_.empty() && random_.chance(40)) return leaf_along_reduced(random_.chance(60));
    Dims shape = frame_;
    const int percent = random_.chance(40) ? 0 : 40;
    for (int64_t& size : shape) size = random_.chance(percent) ? 1 : size;
    return leaf(shape);
  }

  NodeRef leaf_along_reduced(bool by_point) {
    Dims shape = frame_;
    for (int64_t dim = 0; dim < rank(); ++dim) {
      const bool reduced = std::find(reduced_.begin(), reduced_.end(), dim) != reduced_.end();
      if (reduced != by_point) shape[static_cast<size_t>(dim)] = 1;
    }
    return leaf(shape);
  }

  // --- steps

  void step() {
    static constexpr Op kScans[] = {Op::ScanSum, Op::ScanSum, Op::ScanMax, Op::ScanMin, Op::ScanProd};
    const int64_t kind = random_.below(100);
    if (kind < 40) return add(elementwise());
    if (kind < 62) return reduction();
    if (kind < 67) return add(ir::scan(random_.pick(kScans), any_whole(), random_.below(rank())));
    if (kind < 75) return add(moved(any_whole()));
    if (kind < 81) return add(updated(any_whole()));
    if (kind < 87) return permute_frame();
    if (!options_.contractions) return add(elementwise());
    kind < 97 ? product() : convolution();
  }

  NodeRef elementwise() {
    const NodeRef x = random_.chance(80) ? any_whole() : any();
    return random_.chance(30) ? unary(x) : binary(x);
  }

  NodeRef unary(const NodeRef& x) {
    static constexpr Op exact[] = {Op::Neg, Op::Abs, Op::Neg}, floats[] = {Op::Sqrt, Op::Floor, Op::Round};
    static constexpr Op formulas[] = {Op::Tanh, Op::Tanh, Op::Exp, Op::Erf, Op::Gelu, Op::Sin, Op::Log1p};
    if (!ir::is_float(type_)) return ir::unary(random_.pick(exact), x);
    if (options_.transcendental && random_.chance(60)) return ir::unary(random_.pick(formulas), x);
    return ir::unary(random_.chance(40) ? random_.pick(floats) : random_.pick(exact), x);
  }

  NodeRef binary(const NodeRef& x) {
    static constexpr Op ops[] = {Op::Add, Op::Add, Op::Sub, Op::Sub, Op::Mul, Op::Mul, Op::Mul, Op::Max, Op::Min, Op::Div};
    NodeRef y = random_.chance(15) ? number_for(x) : random_.chance(45) ? leaf() : random_.chance(30) ? leaf(x->shape()) : any();
    if (y->shape() != x->shape()) y = spread(y);
    const NodeRef whole = y->shape() == x->shape() ? x : spread(x);
    if (random_.chance(10)) return ir::where(ir::binary(random_.chance(50) ? Op::Lt : Op::Ge, whole, y), y, whole);
    return random_.chance(60) ? ir::binary(random_.pick(ops), whole, y) : ir::binary(random_.pick(ops), y, whole);
  }

  // Often over the same dims again: such reductions stand in one kernel.
  Dims reduced_dims() {
    if (!reduced_.empty() && random_.chance(60)) return reduced_;
    reduced_.clear();
    for (int64_t dim = 0; dim < rank(); ++dim) {
      if (random_.chance(50)) reduced_.push_back(dim);
    }
    if (reduced_.empty()) reduced_.push_back(random_.below(rank()));
    return reduced_;
  }

  void reduction() {
    const NodeRef x = any_whole();
    const Dims dims = reduced_dims();
    const bool floats = ir::is_float(type_);
    NodeRef r;
    switch (random_.below(10)) {
      case 0: r = ir::cast(ir::reduce(random_.chance(50) ? Op::ArgMax : Op::ArgMin, x, dims), type_); break;
      case 1: r = ir::reduce(random_.chance(50) ? Op::ReduceMax : Op::ReduceMin, x, dims); break;
      case 3: return floats ? variance(x, dims) : add(ir::reduce(Op::Prod, x, dims));
      case 4: return floats && options_.transcendental ? softmax(x, dims) : add(ir::reduce(Op::Sum, x, dims));
      case 5:
      case 6: r = ir::reduce(Op::Sum, x, dims); break;
      default: r = ir::reduce(Op::Sum, ir::binary(Op::Mul, x, random_.chance(60) ? spread(leaf()) : any_whole()), dims); break;
    }
    add(floats ? ir::binary(Op::Mul, r, number(0.02, r->shape())) : r);
    if (random_.chance(25)) add(unary(unary(binary(r))));  // a chain behind the reduction
    if (random_.chance(50)) add(ir::binary(random_.chance(50) ? Op::Sub : Op::Mul, x, spread(pool_.back())));
  }

  // A reduction of what comes from memory, each point with a weight.
  void weighted_sum() {
    const NodeRef x = spread(random_.chance(80) ? operands_.input(frame_) : leaf());
    const NodeRef weighted = ir::binary(Op::Mul, x, spread(leaf_along_reduced(true)));
    add(ir::reduce(random_.chance(80) ? Op::Sum : Op::ReduceMax, weighted, reduced_));
  }

  NodeRef mean(const NodeRef& x, const Dims& dims) {
    const NodeRef sum = ir::reduce(Op::Sum, x, dims);
    return ir::binary(Op::Div, sum, number(static_cast<double>(x->numel() / sum->numel()), sum->shape()));
  }

  void variance(const NodeRef& x, const Dims& dims) {
    const NodeRef apart = ir::binary(Op::Sub, x, spread(mean(x, dims)));
    const NodeRef v = mean(ir::binary(Op::Mul, apart, apart), dims);
    add(v);
    if (random_.chance(50)) add(ir::binary(Op::Div, apart, spread(ir::unary(Op::Sqrt, ir::binary(Op::Add, v, number(1e-3, v->shape()))))));
  }

  void softmax(const NodeRef& x, const Dims& dims) {
    const NodeRef largest = ir::reduce(Op::ReduceMax, x, dims);
    const NodeRef powers = ir::unary(Op::Exp, ir::binary(Op::Sub, x, spread(largest)));
    const NodeRef sum = ir::reduce(Op::Sum, powers, dims);
    if (random_.chance(30)) return add(ir::binary(Op::Add, ir::unary(Op::Log, sum), largest));
    add(ir::binary(Op::Div, powers, spread(sum)));
  }

  // In the same frame.
  NodeRef moved(const NodeRef& x) {
    const int64_t dim = random_.below(rank()), size = frame_[static_cast<size_t>(dim)];
    Dims none(std::vector<int64_t>(frame_.size(), 0)), ones(std::vector<int64_t>(frame_.size(), 1));
    if (size == 1 || random_.chance(30)) return ir::flip(x, {&dim, 1});
    const auto part = [&](int64_t from, int64_t count) {
      Dims starts = none, sizes = frame_;
      starts[static_cast<size_t>(dim)] = from;
      sizes[static_cast<size_t>(dim)] = count;
      return ir::slice(x, starts, ones, sizes);
    };
    const int64_t by = random_.between(1, std::min<int64_t>(size - 1, random_.chance(50) ? 4 : size - 1));
    if (random_.chance(50)) {
      const NodeRef parts[] = {part(size - by, by), part(0, size - by)};
      return ir::cat(parts, dim);
    }
    Dims low = none;
    low[static_cast<size_t>(dim)] = by;
    return ir::pad(part(0, size - by), number(0, {}), low, none);
  }

  // A region replaced: by another value, or by what it holds with something done to it.
  NodeRef updated(const NodeRef& x) {
    Dims sizes, strides;
    int64_t offset = 0;
    const Dims all = ir::contiguous_strides(frame_);
    for (size_t d = 0; d < frame_.size(); ++d) {
      const int64_t extent = frame_[d], step = random_.chance(20) ? 2 : 1;
      const int64_t start = random_.chance(50) ? random_.below(std::min<int64_t>(extent, 6)) : 0;
      const int64_t most = (extent - start + step - 1) / step;
      sizes.push_back(random_.chance(50) ? most : random_.between(1, most));
      strides.push_back(all[d] * step);
      offset += start * all[d];
    }
    const NodeRef region = ir::strided(x, sizes, strides, offset);
    if (random_.chance(50)) return ir::update(x, leaf(sizes), strides, offset);
    const NodeRef other = random_.chance(50) ? leaf(sizes) : number_for(region);
    return ir::update(x, ir::binary(random_.chance(50) ? Op::Mul : Op::Add, region, other), strides, offset);
  }

  // Everything seen with its dims in another order.
  void permute_frame() {
    const Dims order = operands_.shuffled(rank()), old = frame_;
    for (size_t i = 0; i < order.size(); ++i) frame_[i] = old[static_cast<size_t>(order[i])];
    for (NodeRef& node : pool_) node = ir::permute(node, order);
    reduced_.clear();
  }

  // --- products

  // The frame as batches of matrices, all values with it.
  void make_matrices() {
    if (rank() >= 2) return;
    frame_.insert(0, 1);
    for (NodeRef& node : pool_) {
      Dims shape = node->shape();
      shape.insert(0, 1);
      node = ir::reshape(node, shape);
    }
  }

  // What the product read may be read again after it, if it can be broadcast to the new frame.
  void enter(NodeRef result, std::vector<NodeRef> readable) {
    frame_ = result->shape();
    pool_.clear();
    for (NodeRef& node : readable) {
      bool fits = node->rank() == rank();
      for (size_t d = 0; fits && d < frame_.size(); ++d) fits = node->shape()[d] == 1 || node->shape()[d] == frame_[d];
      if (fits) pool_.push_back(std::move(node));
    }
    const auto known = static_cast<int64_t>(pool_.size());
    add(std::move(result));
    reduced_.clear();
    static constexpr int64_t lengths[] = {0, 1, 3, 8, 10};
    static constexpr Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Max};
    for (int64_t left = random_.pick(lengths); left > 0; --left) {
      const bool again = known > 0 && random_.chance(40);
      add(again ? ir::binary(random_.pick(ops), spread(pool_.back()), spread(pool_[static_cast<size_t>(random_.below(known))]))
                : elementwise());
    }
  }

  void product() {
    make_matrices();
    const size_t r = frame_.size() - 2, c = r + 1;
    const int64_t m = frame_[r], k = frame_[c], batches = ir::element_count(frame_) / (m * k);
    const int64_t n =
        std::max<int64_t>(1, std::min({random_.chance(40)   ? k
                                       : random_.chance(20) ? m
                                       : random_.chance(50) ? small_size(random_)
                                                            : medium_size(random_),
                                       options_.max_numel / (std::max(m, k) * batches), options_.max_product / (m * k * batches)}));
    std::vector<NodeRef> readable = pool_;
    readable.push_back(random_.chance(50) ? any() : leaf());
    const NodeRef left = spread(readable.back());
    Dims shape = frame_;
    shape[r] = k;
    shape[c] = n;
    Dims order;
    for (int64_t d = 0; d < rank(); ++d) order.push_back(d);
    std::swap(order[r], order[c]);
    NodeRef right;
    if (n == m && random_.chance(40)) {
      right = ir::permute(left, order);
    } else {
      Dims stored = shape;
      for (size_t d = 0; d < c + 1; ++d) stored[d] = random_.chance(d < r ? 40 : 8) ? 1 : stored[d];
      right = leaf(stored);
      if (random_.chance(15)) right = unary(right);
      readable.push_back(right);
      if (stored != shape) right = ir::expand(right, shape);
    }
    enter(ir::dot(left, right), std::move(readable));
  }

  // Images with windows of 3 by 3, as a product of the weight and what the windows see, or the other way round.
  void convolution() {
    const int64_t images = random_.between(1, 3), channels = random_.between(1, 6), k = channels * 9;
    const int64_t side = random_.between(5, 24), filters = random_.between(1, 40);
    const int64_t step = random_.between(1, 2), edge = random_.below(2), out = (side + 2 * edge - 3) / step + 1;
    NodeRef x = leaf({images, channels, side, side});
    if (edge) {
      const int64_t around[] = {0, 0, 1, 1};
      x = ir::pad(x, number(0, {}), around, around);
    }
    const Dims s = ir::contiguous_strides(x->shape());
    const NodeRef weight = leaf({1, filters, k});
    NodeRef result;
    if (random_.chance(60)) {
      const int64_t sizes[] = {images, channels, 3, 3, out, out}, strides[] = {s[0], s[1], s[2], s[3], s[2] * step, s[3] * step};
      const NodeRef seen = ir::reshape(ir::strided(x, sizes, strides, 0), Dims{images, k, out * out});
      result = ir::dot(ir::expand(weight, Dims{images, filters, k}), seen);
    } else {
      const int64_t sizes[] = {images, out, out, channels, 3, 3}, strides[] = {s[0], s[2] * step, s[3] * step, s[1], s[2], s[3]};
      const NodeRef seen = ir::reshape(ir::strided(x, sizes, strides, 0), Dims{images, out * out, k});
      const int64_t order[] = {0, 2, 1};
      result = ir::dot(seen, ir::expand(ir::permute(weight, order), Dims{images, k, filters}));
    }
    enter(std::move(result), {});
  }

  Random random_;
  const LargeGraphOptions& options_;
  const DType type_;
  Operands operands_;
  Dims frame_, reduced_;
  std::vector<NodeRef> pool_;  // each of the frame's shape, or with dims of 1
};

}  // namespace

ir::Graph large_graph(uint64_t seed, const LargeGraphOptions& options) { return Generator(seed, options).generate(); }

}  // namespace tenon::test
