// The key of a graph: equal exactly when one plan serves both.
#include "runtime/plan/graph_key.h"

#include <doctest/doctest.h>

#include <set>

#include "runtime/evaluation_support.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::test;
using runtime::GraphKey;

namespace {

std::vector<uint64_t> key_of(std::vector<NodeRef> roots, uint64_t salt = 0) {
  GraphKey key;
  key.read(roots, salt);
  return key.words;
}

NodeRef vector_of(int64_t n) {
  return input_of(Shape{n}, [](int64_t i) { return static_cast<double>(i); });
}

}  // namespace

TEST_CASE("graph key: built again, the same form has the same key, whatever its buffers and scalars") {
  auto build = [](double c) {
    NodeRef x = vector_of(8), y = vector_of(8);
    return ir::binary(Op::Add, ir::binary(Op::Mul, x, scalar(c, Shape{8})), y);
  };
  CHECK(key_of({build(2.5)}) == key_of({build(2.5)}));
  CHECK(key_of({build(2.5)}) == key_of({build(-17.25)}));
}

TEST_CASE("graph key: whatever changes the plan changes the key") {
  NodeRef x = vector_of(8), y = vector_of(8), z = vector_of(9);
  NodeRef sum = ir::binary(Op::Add, x, y);
  std::vector<std::vector<uint64_t>> keys = {
      key_of({sum}),
      key_of({sum}, 1),
      key_of({ir::binary(Op::Sub, x, y)}),
      key_of({ir::binary(Op::Add, x, x)}),
      key_of({ir::binary(Op::Add, z, vector_of(9))}),
      key_of({ir::binary(Op::Add, ir::cast(x, DType::F64), ir::cast(y, DType::F64))}),
      key_of({sum, ir::unary(Op::Neg, sum)}),
      key_of({ir::unary(Op::Neg, sum)}),
      key_of({ir::unary(Op::Neg, sum), sum}),
      key_of({ir::binary(Op::Mul, x, scalar(2.5, Shape{8}))}),
      key_of({scalar(0, Shape{8})}),
      key_of({scalar(1, Shape{8})}),
      key_of({scalar(-1, Shape{8})}),
      key_of({scalar(3, Shape{8})}),
      key_of({scalar(3, Shape{2, 4})}),
      key_of({scalar(3, Shape{8}, DType::I64)}),
      key_of({ir::reshape(sum, Shape{2, 4})}),
      key_of({ir::reshape(sum, Shape{4, 2})}),
      key_of({ir::make_iota(Shape{8, 8}, 0)}),
      key_of({ir::make_iota(Shape{8, 8}, 1)}),
  };
  ++sum->holders;
  keys.push_back(key_of({ir::unary(Op::Neg, sum)}));
  --sum->holders;
  CHECK(std::set<std::vector<uint64_t>>(keys.begin(), keys.end()).size() == keys.size());
}

TEST_CASE("graph key: the fill of a pad is in the key") {
  NodeRef x = vector_of(8);
  auto padded = [&](double fill) { return ir::pad(x, scalar(fill, Shape{}), Shape{1}, Shape{2}); };
  CHECK(key_of({padded(2.5)}) == key_of({padded(2.5)}));
  CHECK(key_of({padded(2.5)}) != key_of({padded(3.5)}));
}

TEST_CASE("graph key: nodes are numbered operands first, roots in the order given") {
  NodeRef x = vector_of(4), y = ir::unary(Op::Neg, x), z = ir::binary(Op::Mul, y, x);
  GraphKey key;
  std::vector<NodeRef> roots{z, y, z};
  key.read(roots, 0);
  REQUIRE(key.nodes.size() == 3);
  CHECK(key.nodes[0] == x.get());
  CHECK(key.nodes[1] == y.get());
  CHECK(key.roots == std::vector<int32_t>{2, 1, 2});
  CHECK(key.number(z.get()) == 2);
  CHECK(key.number(vector_of(4).get()) == -1);
  CHECK(key.pending);
  std::vector<NodeRef> done{x};
  key.read(done, 0);
  CHECK_FALSE(key.pending);
}

TEST_CASE("graph key: two random graphs share a key only if they print the same") {
  std::set<std::vector<uint64_t>> keys;
  std::set<std::string> texts;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomGraphOptions shape;
    shape.operations = 1 + static_cast<int>(seed % 5);
    ir::Graph graph = random_graph(seed, shape);
    GraphKey key;
    key.read(graph.outputs, 0);
    bool new_key = keys.insert(key.words).second;
    bool new_text = texts.insert(ir::print(ir::Graph::of(graph.outputs))).second;
    if (new_key) CHECK(new_text);
  }
}
