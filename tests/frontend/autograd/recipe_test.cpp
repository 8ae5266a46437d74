// Recipes: whatever was evaluated meanwhile, the operations between the operands of a scope and its outputs can be
// recorded again and give the same bits.
#include <tenon/tenon.h>

#include <doctest/doctest.h>
#include <random>
#include <set>
#include <thread>

#include "frontend/golden.h"
#include "frontend/python/compare.h"
#include "frontend/python/python.h"
#include "frontend/src/autograd/grad.h"
#include "frontend/src/tensor/pending.h"
#include "runtime/base/options.h"
#include "support/fuzz_cases.h"
#include "support/same_bits.h"

using namespace tenon;
using tenon::test::same_bits;

namespace {

const GradFn& fn_of(const Tensor& x) { return dynamic_cast<const GradFn&>(*x.grad_fn()); }
const ir::Recipe& recipe_of(const Tensor& x) { return fn_of(x).recipe; }

// The operand's value, if the gradients read it.
NodeRef saved_operand(const Tensor& x, size_t i) {
  for (const SavedValue& s : fn_of(x).saved) {
    if (s.of == SavedValue::Of::Operand && s.number == i) return s.value.node();
  }
  return {};
}

Tensor parameter(IntArrayRef shape) { return rand(shape).requires_grad_(); }
Tensor contents(const Tensor& x) { return x.detach().clone(); }

// The recipe's output over these operands; tensors stand for what the scope was given.
Tensor again(const Tensor& x, const std::vector<Tensor>& operands) {
  std::vector<NodeRef> nodes;
  for (const Tensor& operand : operands) nodes.push_back(operand.defined() ? node_of(operand) : NodeRef());
  const std::vector<NodeRef> outputs = ir::replay(recipe_of(x), nodes);
  return Tensor(new TensorImpl(outputs.at(static_cast<size_t>(x.output_nr()))), false);
}

// Does the output depend on the operand, by the steps?
bool uses(const Tensor& x, size_t operand) { return recipe_of(x).operands()[operand] != ir::Recipe::kUnused; }

std::string body(const Tensor& x) {
  const std::string text = recipe_text(x);
  return text.substr(text.find("{\n") + 2);
}

}  // namespace

TEST_CASE("a recipe reads as a graph") {
  const Tensor a = parameter({2, 3}), b = rand({3});
  const Tensor y = a * b;
  CHECK(recipe_text(y) ==
        "graph @MulBackward0(%a0: f32[2,3], %a1: f32[3]) {\n"
        "  %0 = reshape %a1 [1,3] : f32[1,3]\n"
        "  %1 = expand %0 [2,3] : f32[2,3]\n"
        "  %2 = mul %a0, %1 : f32[2,3]\n"
        "  return %2\n"
        "}\n");
  CHECK(recipe_text(a).empty());
  CHECK(ir::print(ir::parse_graph(recipe_text(y))) == recipe_text(y));
}

TEST_CASE("a look at a value leaves its recipe as it is") {
  const Tensor w = parameter({4, 3}), b = parameter({4}), x = rand({5, 3});
  const Tensor h = linear(x, w, b), loss = (h.relu() - 1).square().mean();
  const std::string before = recipe_text(h);
  CHECK(before.find("dot") != std::string::npos);
  const float seen = loss.item<float>();
  eval(h);
  CHECK(recipe_text(h) == before);
  CHECK(same_bits(again(h, {x, w, b}), h));
  CHECK(loss.item<float>() == seen);
}

TEST_CASE("a constant that requires grad is an operand, and not folded away") {
  const Tensor x = rand({2, 3}), w = ones({3}, requires_grad()), b = zeros({3}, requires_grad());
  const Tensor y = x * w, z = relu(b);
  CHECK(body(y).find("mul") != std::string::npos);
  CHECK(body(z).find("max") != std::string::npos);
  CHECK(uses(y, 1));
  CHECK(uses(z, 0));
}

TEST_CASE("operands with one node are told apart") {
  const Tensor x = parameter({3});
  const Tensor y = x * x.detach(), z = x.detach() * x, square = x * x;
  CHECK(body(y).find("mul %a0, %a1") != std::string::npos);
  CHECK(body(z).find("mul") != std::string::npos);
  CHECK(uses(z, 0));
  CHECK(uses(z, 1));
  CHECK(fn_of(z).edges.size() == 1);
  CHECK(fn_of(z).edges[0].operand == 1);
  CHECK(body(square).find("mul %a0, %a0") != std::string::npos);
  const Tensor gram = matmul(x.view({3, 1}), x.view({3, 1}).t());
  CHECK(uses(gram, 0));
  CHECK(uses(gram, 1));
  CHECK(same_bits(gram, matmul(contents(x).view({3, 1}), contents(x).view({1, 3}))));
}

TEST_CASE("a fold that looks behind an operand does not show in its recipe") {
  const Tensor x = parameter({3});
  const Tensor minus = -x, plus = -minus;
  CHECK(body(plus) == "  %0 = neg %a0 : f32[3]\n  return %0\n}\n");
  CHECK(same_bits(plus, x));
  const Tensor both = minus - plus;  // x is known by two names
  CHECK(uses(both, 0));
  CHECK(uses(both, 1));
}

TEST_CASE("views of views are functions of the view") {
  const Tensor x = parameter({4, 6});
  const Tensor t = x.t(), row = t[2], part = x.slice(1, 1, 4), corner = part[1], flat = x.view({24});
  for (const auto& [view, of] : {std::pair{t, x}, {row, t}, {corner, part}, {flat, x}}) {
    CAPTURE(recipe_text(view));
    CHECK(uses(view, 0));
    CHECK(same_bits(again(view, {of}), view));
    CHECK(recipe_of(view).leaves().empty());
    CHECK_FALSE(saved_operand(view, 0));  // no derivative of a view reads values
  }
  const Tensor y = linear(rand({2, 4}), t);  // whose transpose is x
  CHECK(uses(y, 1));
  CHECK(recipe_of(y).leaves().empty());
  const Tensor window = part.as_strided({2, 2}, {1, 1}, 0);  // outside of part
  CHECK(same_bits(again(window, {part}), window));
}

TEST_CASE("what is kept are the values that a derivative reads") {
  const Tensor x = parameter({3}), c = rand({3}), w = parameter({3});
  CHECK_FALSE(saved_operand(x + c, 0));
  CHECK_FALSE(saved_operand(x + c, 1));
  CHECK_FALSE(saved_operand(x * c, 0));
  CHECK(saved_operand(x * c, 1));
  CHECK(saved_operand(x * w, 0));
  CHECK(saved_operand(x * w, 1));
  CHECK_FALSE(saved_operand(x.exp(), 0));  // its result is read
  CHECK_FALSE(saved_operand(x.sum(), 0));
  const int64_t nodes = ir::live_node_count();
  for (int i = 0; i < 100; ++i) (x * w + c).exp().sum().item<float>();
  CHECK(ir::live_node_count() <= nodes + 8);
}

TEST_CASE("writes") {
  const Tensor a = parameter({2, 3}), b = parameter({3});
  const Tensor y = a * 1.5, before = contents(y);
  const Tensor held = y;
  y.mul_(b);
  CHECK(same_bits(again(y, {before, b}), y));
  const Tensor whole = contents(y);
  y[1].add_(b);
  CHECK(y.grad_fn()->name() == "CopySlices");
  CHECK(fn_of(y).edges.size() == 2);
  const Tensor added = whole[1] + contents(b);
  CHECK(same_bits(again(y, {whole, added}), y));
  eval(y);
  CHECK(same_bits(again(y, {whole, added}), y));
  const Tensor row = y[0];
  y.mul_(2);
  CHECK(row.grad_fn()->name() == "AsStridedBackward0");
  CHECK(same_bits(again(row, {y}), row));
  Tensor z = rand({2, 3});
  z.copy_(a);
  CHECK(same_bits(again(z, {z.detach(), a}), z));
  Tensor u = rand({2, 3}, kDouble);
  u.add_(a);  // float32 in float64
  CHECK(recipe_of(u).steps()[recipe_of(u).outputs()[0]].dtype == DType::F64);
}

TEST_CASE("what others may write, and what is drawn, are leaves") {
  std::vector<float> memory{1, 2, 3};
  const Tensor outside = from_blob(memory.data(), {3}).requires_grad_();
  const Tensor y = outside * 2;
  memory[0] = 5;
  CHECK(uses(y, 0));
  CHECK(same_bits(again(y, {tensor({1., 2., 3.}, kFloat)}), y));
  const Tensor x = parameter({64}), dropped = dropout(x, 0.5, true);
  CHECK(uses(dropped, 0));
  CHECK(saved_operand(dropped, 1));  // the mask that was drawn
  const NodeRef values[] = {node_of(x), saved_operand(dropped, 1)};
  const Tensor z(new TensorImpl(ir::replay(recipe_of(dropped), values)[0]), false);
  CHECK(same_bits(z, dropped));
}

TEST_CASE("no cap evaluates inside a scope") {
  const Tensor x = parameter({8});
  set_pending_caps(50, int64_t{1} << 40);
  Tensor middle, end;
  {
    const GradScope scope("LongBackward0", x);
    middle = record(ir::unary(Op::Exp, node_of(x)));
    end = middle;
    for (int i = 0; i < 200; ++i) end = record(ir::unary(i % 2 ? Op::Sin : Op::Cos, node_of(end)));
    CHECK(node_of(middle)->op() == Op::Exp);
    CHECK_FALSE(node_of(end)->is_leaf());
  }
  set_pending_caps(runtime::options().max_pending_nodes, runtime::options().max_pending_bytes);
  CHECK(node_of(end)->op() == Op::Input);  // at its end, and what is still held with it
  CHECK(node_of(middle)->op() == Op::Input);
  CHECK(recipe_of(end).steps().size() == 202);
  CHECK(same_bits(again(end, {x}), end));
  CHECK(same_bits(again(middle, {x}), middle));
}

TEST_CASE("what an operation evaluates itself, or computes without gradients") {
  const Tensor x = parameter({6});
  Tensor y;
  {
    const GradScope scope("LookBackward0", x);
    const Tensor middle = record(ir::unary(Op::Exp, node_of(x)));
    eval(middle);
    CHECK(node_of(middle)->op() == Op::Input);
    const Tensor factor = [&] {
      const NoGradGuard no_grad;
      return record(ir::unary(Op::Sin, node_of(middle)));
    }();
    y = record(ir::binary(Op::Mul, node_of(middle), node_of(factor)));
  }
  CHECK(body(y) == "  %0 = exp %a0 : f32[6]\n  %1 = mul %0, %l0 : f32[6]\n  return %1\n}\n");
  CHECK(same_bits(again(y, {x}), y));
  const Tensor positive = x.index({x > 0.5});  // which counts them
  CHECK(uses(positive, 0));
  CHECK(positive.sum().item<float>() == doctest::Approx((x * (x > 0.5)).sum().item<float>()));
}

TEST_CASE("other threads evaluate what this one records") {
  const Tensor x = parameter({64});
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) {
      const Tensor e = x.detach().exp();
      eval(e.sin(), e);
    }
  });
  for (int i = 0; i < 300; ++i) {
    const Tensor y = x.sigmoid(), z = x.softmax(0), u = x.exp();
    for (const Tensor& t : {y, z, u}) CHECK(recipe_of(t).leaves().empty());
  }
  done = true;
  other.join();
}

TEST_CASE("a chain of a million operations dies without recursion") {
  Tensor x = parameter({1});
  {
    Tensor t = x;
    for (int i = 0, operations = tenon::test::fuzz_cases(1'000'000); i < operations; ++i) t = t + 1;
    CHECK(t.grad_fn()->name() == "AddBackward0");
  }
}

// --- all operators

TEST_CASE("golden: every operator's recipe gives its bits again") {
  const nlohmann::json cases = golden::load("ops.json");
  std::string blob = golden::read("ops.bin");
  const std::vector<std::string> names = {"bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"};
  size_t replayed = 0, opaque = 0;
  std::set<std::string> without;
  for (const auto& c : cases) {
    const std::string name = c["name"], expression = c["expr"];
    CAPTURE(name);
    CAPTURE(expression);
    python::Variables variables;
    for (size_t i = 0; i < c["inputs"].size(); ++i) {
      const auto& entry = c["inputs"][i];
      const auto type = std::find(names.begin(), names.end(), entry["dtype"].get<std::string>()) - names.begin();
      const std::vector<int64_t> shape = entry["shape"];
      Tensor x = from_blob(blob.data() + entry["at"].get<size_t>(), shape, static_cast<ScalarType>(type)).clone();
      if (x.is_floating_point()) x.requires_grad_();
      variables["x" + std::to_string(i)] = x;
    }
    std::vector<Tensor> got;
    try {
      got = python::flat(python::run(expression, variables));
    } catch (const std::exception& e) {
      continue;  // a write to a leaf
    }
    for (const Tensor& y : got) {
      if (name.starts_with("batch_norm") && y.dim() == 1) continue;  // a running mean: written while nothing is recorded
      if (!y.defined() || !y.requires_grad() || y.is_leaf()) continue;
      const GradFn& fn = fn_of(y);
      if (fn.recipe.outputs().empty()) {
        without.insert(expression);
        continue;
      }
      bool reached = false;
      for (const Edge& edge : fn.edges) reached |= uses(y, edge.operand);
      if (!reached) {
        ++opaque;
        without.insert(expression);
      }
      const std::string text = recipe_text(y);
      eval(y);
      CHECK(recipe_text(y) == text);
      // The operands as they were read: saved, or leaves that can still be asked.
      std::vector<NodeRef> operands(fn.recipe.operands().size());
      for (size_t i = 0; i < operands.size(); ++i) operands[i] = saved_operand(y, i);
      bool known = true;
      for (size_t i = 0; i < operands.size(); ++i) {
        if (operands[i] || fn.recipe.operands()[i] == ir::Recipe::kUnused) continue;
        for (const Edge& edge : fn.edges) {
          if (edge.operand == i && edge.leaf.defined()) operands[i] = node_of(edge.leaf);
        }
        known &= static_cast<bool>(operands[i]);
      }
      if (!known) continue;
      const auto outputs = ir::replay(fn.recipe, operands);
      const Tensor z(new TensorImpl(outputs.at(static_cast<size_t>(y.output_nr()))), false);
      CHECK_MESSAGE(same_bits(y, z), text);
      ++replayed;
    }
  }
  MESSAGE("recipes replayed: " << replayed);
  CHECK(opaque == 10);  // tensors without elements, and x ** 0, which is 1
  CHECK(without.size() == 9);
  CHECK(replayed == 863);  // those of losses with weights are refused: no derivative by a weight
}

// --- random programs

namespace {

// Tensors of [3,4], some of which are views, changed by random operations. After each, its recipe is tried.
class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) live_.push_back(rand({3, 4}) * 1.0);
    live_.push_back(parameter({3, 4}));
    live_.push_back(rand({4, 3}).requires_grad_() * 2);
  }

  void step() {
    const Tensor a = pick(), b = pick();
    switch (random_() % 10) {
      case 0: return keep(a * b, {a, b});
      case 1: return keep(a.sigmoid(), {a});
      case 2: return keep(a - b, {a, b});
      case 3: return keep(a.softmax(1), {a});
      case 4: return keep(-a, {a});
      case 5: return keep(where(a > b, a, b), {});
      case 6: return keep(a.t().contiguous().t(), {});
      case 7: return write(a, b);
      case 8: return write(a.slice(1, 1, 3), b.slice(1, 0, 2));
      default: eval(a); return;
    }
  }

 private:
  Tensor pick() {
    Tensor x = live_[random_() % live_.size()];
    return x.size(0) == 3 ? x : x.t();
  }
  void keep(const Tensor& y, const std::vector<Tensor>& operands) {
    std::vector<Tensor> then;
    for (const Tensor& x : operands) then.push_back(contents(x));
    if (random_() % 3 == 0) eval(y);
    if (y.grad_fn() && !operands.empty()) {
      CAPTURE(recipe_text(y));
      CHECK(same_bits(again(y, then), y));
    }
    live_[random_() % live_.size()] = y;
  }
  void write(const Tensor& a, const Tensor& b) {
    const Tensor before = contents(a), with = contents(b), whole = a.is_view() ? a._base() : a;
    const Tensor whole_before = contents(whole);
    try {
      a.mul_(b);
    } catch (const Error&) {
      return;  // a leaf, or a view of one
    }
    const Tensor product = before * with;
    if (random_() % 3 == 0) eval(a);
    CHECK(same_bits(a, product));
    if (!a.grad_fn()) return;
    CAPTURE(recipe_text(a));
    if (!a.is_view()) {
      CHECK(same_bits(again(a, {before, with}), a));
      return;
    }
    CHECK(same_bits(again(a, {whole}), a));
    CAPTURE(recipe_text(whole));
    CHECK(same_bits(again(whole, {whole_before, product}), whole));
  }

  std::mt19937 random_;
  std::vector<Tensor> live_;
};

}  // namespace

TEST_CASE("random programs") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    Program program(seed);
    for (int i = 0; i < 25; ++i) program.step();
  }
}
