// Each operation that a program called runs at most once, whatever it evaluates in between and whatever it holds beside that.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "runtime/evaluation_support.h"
#include "runtime/plan/graph_key.h"

using namespace tenon;
using namespace tenon::test;
using ir::Node;
using ir::NodeRef;
using ir::Op;

namespace {

const Shape kSquare{4, 4};

NodeRef numbers(double first) {
  return input_of(kSquare, [&](int64_t i) { return first + 0.1 * static_cast<double>(i); });
}

// A handle, as a tensor is one.
class Held {
 public:
  explicit Held(NodeRef node) : node_(std::move(node)) { ++node_->holders; }
  Held(Held&& other) noexcept : node_(std::move(other.node_)) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Held() {
    if (node_) --node_->holders;
  }
  operator const NodeRef&() const { return node_; }
  Node* get() const { return node_.get(); }

 private:
  NodeRef node_;
};

bool is_view(Op op) { return ir::is_movement(op) && op != Op::Pad && op != Op::Cat; }

// What is pending behind the handles: the operands of each operation.
using Pending = std::map<uint64_t, std::pair<Op, std::vector<uint64_t>>>;
Pending pending_behind(const std::vector<Held>& handles) {
  std::vector<NodeRef> roots(handles.begin(), handles.end());
  Pending pending;
  for (const Node* node : ir::topological_order(roots)) {
    if (node->is_leaf()) continue;
    auto& [op, operands] = pending[node->id()];
    op = node->op();
    for (const Node* input : node->inputs()) operands.push_back(input->id());
  }
  return pending;
}
std::set<uint64_t> leaves_behind(const std::vector<Held>& handles) {
  std::vector<NodeRef> roots(handles.begin(), handles.end());
  std::set<uint64_t> leaves;
  for (const Node* node : ir::topological_order(roots)) {
    if (node->is_leaf()) leaves.insert(node->id());
  }
  return leaves;
}

// A random program: it calls operations on what it holds, forgets handles, and looks at values.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) handles_.emplace_back(numbers(i));
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const int what = below(10);
      if (what < 6) call();
      else if (what < 8 && handles_.size() > 3) handles_.erase(handles_.begin() + below(static_cast<int>(handles_.size())));
      else look();
    }
  }
  int runs_of_the_busiest() const {
    int most = 0;
    for (const auto& [node, count] : runs_) most = std::max(most, count);
    return most;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  NodeRef any() { return handles_[static_cast<size_t>(below(static_cast<int>(handles_.size())))]; }

  // One expression; only some of the values inside are held.
  void call() {
    NodeRef x = any();
    for (int i = below(3); i >= 0; --i) {
      x = operation(x);
      if (below(4) == 0) handles_.emplace_back(operation(x));
    }
    handles_.emplace_back(std::move(x));
  }
  NodeRef operation(const NodeRef& x) {
    switch (below(9)) {
      case 0: return ir::unary(Op::Exp, ir::unary(Op::Neg, x));
      case 1: return ir::dot(x, any());
      case 2: return ir::binary(Op::Mul, x, any());
      case 3: return ir::expand(ir::reduce(Op::Sum, x, Shape{1}), kSquare);
      case 4: return ir::scan(Op::ScanSum, x, 0);
      case 5: return ir::permute(x, Shape{1, 0});
      case 6: {
        const NodeRef both[] = {x, any()};
        return ir::slice(ir::cat(both, 0), Shape{2, 0}, Shape{1, 1}, kSquare);
      }
      case 7: return ir::update(any(), ir::slice(x, Shape{0, 0}, Shape{1, 1}, Shape{1, 4}), Shape{4, 1}, 4);
      default: return ir::binary(Op::Add, x, scalar(below(5) + 0.5, kSquare));
    }
  }

  void look() {
    const Pending before = pending_behind(handles_);
    evaluate({any()});
    std::vector<uint64_t> stack;
    for (uint64_t node : leaves_behind(handles_)) {
      if (before.contains(node)) stack.push_back(node);  // it was pending: this evaluation stored it
    }
    std::set<uint64_t> ran;
    while (!stack.empty()) {
      const uint64_t node = stack.back();
      stack.pop_back();
      const auto known = before.find(node);
      if (known == before.end() || !ran.insert(node).second) continue;
      if (!is_view(known->second.first)) ++runs_[node];
      for (uint64_t operand : known->second.second) stack.push_back(operand);
    }
  }

  std::mt19937_64 random_;
  std::vector<Held> handles_;
  std::map<uint64_t, int> runs_;
};

}  // namespace

TEST_CASE("once: random programs that look at values in between run no operation twice") {
  WithOptions options([](runtime::Options& o) { o.backend = runtime::Options::Backend::Interpreter; });
  int ran = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Program program(seed);
    program.run(40);
    CHECK(program.runs_of_the_busiest() <= 1);
    ran += program.runs_of_the_busiest();
  }
  CHECK(ran > 100);
}

TEST_CASE("once: what is held beside an evaluation is computed with it if it is light, else what it reads is stored") {
  WithOptions options;
  const NodeRef x = numbers(1), w = numbers(2);
  const auto shared = [&] { return ir::dot(x, w); };
  const auto is_pending = [](const Held& h) { return !h.get()->is_leaf(); };
  SUBCASE("a view, a reduction and a few elements of the same") {
    NodeRef y = shared();
    Held root(ir::unary(Op::Exp, y)), view(ir::reshape(y, Shape{16})), mean(ir::reduce(Op::Sum, y, Shape{0, 1}));
    Held sum(ir::binary(Op::Add, mean, ir::reduce(Op::ReduceMax, y, Shape{0, 1})));
    y = {};
    evaluate({root});
    CHECK_FALSE(is_pending(mean));
    CHECK_FALSE(is_pending(sum));
    CHECK(view.get()->inputs().size() == 1);
    CHECK(view.get()->inputs()[0]->op() == Op::Input);
  }
  SUBCASE("a product stays pending, and so does what needs other work or is larger") {
    NodeRef y = shared();
    Held root(ir::reduce(Op::Sum, y, Shape{1})), product(ir::dot(y, w)), other(ir::binary(Op::Add, y, ir::dot(w, w)));
    const NodeRef column = ir::reduce(Op::ReduceMax, ir::unary(Op::Exp, x), Shape{1});
    Held small(ir::unary(Op::Neg, column)), large(ir::binary(Op::Mul, ir::expand(column, Shape{4, 4}), w));
    y = {};
    evaluate({root, small});
    CHECK(is_pending(product));
    CHECK(is_pending(other));
    CHECK(is_pending(large));
    CHECK(product.get()->inputs()[0]->op() == Op::Input);
  }
  SUBCASE("nothing is stored for what nobody holds") {
    NodeRef y = shared();
    const NodeRef unheld = ir::dot(y, w);
    Held root(ir::reduce(Op::Sum, y, Shape{1}));
    evaluate({root});
    CHECK(y->op() == Op::Dot);
  }
}

TEST_CASE("once: a look at what is held beside leaves the key as it is from step to step") {
  WithOptions options;
  const NodeRef w = numbers(0.01);
  Held state(numbers(0.02));
  std::vector<std::vector<uint64_t>> keys;
  for (int step = 0; step < 30; ++step) {
    const NodeRef next = ir::unary(Op::Exp, ir::unary(Op::Neg, ir::dot(state, w)));
    Held seen(ir::reduce(Op::Sum, next, Shape{0, 1}));
    state = Held(ir::reshape(ir::reshape(next, Shape{16}), kSquare));
    runtime::GraphKey key;
    const NodeRef root = seen;
    key.read({&root, 1}, 0);
    keys.push_back(key.words);
    key.let_go();
    evaluate({seen});
  }
  CHECK(keys[2] == keys[29]);
}
