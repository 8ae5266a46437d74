// Nodes: what builders check, sharing, lifetimes (a million deep), and many threads at once.
#include "ir/graph/graph.h"

#include <doctest/doctest.h>

#include <thread>

#include "ir/graph/indexed.h"
#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon::ir;
using tenon::test::fuzz_cases;

namespace {

NodeRef f32(Dims shape) { return make_input(DType::F32, shape); }

struct Flag : Payload {
  explicit Flag(int& count) : count(count) {}
  ~Flag() override { ++count; }
  int& count;
};

}  // namespace

TEST_CASE("equal nodes are one node") {
  const NodeRef x = f32({4}), y = f32({4});
  CHECK(x.get() != y.get());
  CHECK(binary(Op::Sub, x, y) == binary(Op::Sub, x, y));
  CHECK(binary(Op::Sub, x, y).get() != binary(Op::Sub, y, x).get());
  CHECK(binary(Op::Add, x, y) == binary(Op::Add, y, x));
  CHECK(make_const(constant(DType::F32, 2.0), Dims{4}) == make_const(constant(DType::F32, 2.0), Dims{4}));
  CHECK(make_const(constant(DType::F32, 2.0), Dims{4}).get() != make_const(constant(DType::F32, 2.0), Dims{2, 2}).get());
  CHECK(make_const(constant(DType::F32, 0.0), Dims{}).get() != make_const(constant(DType::F32, -0.0), Dims{}).get());
  CHECK(make_iota(Dims{2, 3}, 0).get() != make_iota(Dims{2, 3}, 1).get());
  CHECK(cast(x, DType::F64).get() != cast(x, DType::I64).get());
}

TEST_CASE("types and shapes are inferred") {
  const NodeRef x = f32({2, 3, 4});
  CHECK(reduce(Op::Sum, x, Dims{0, 2})->shape() == Dims{1, 3, 1});
  CHECK(reduce(Op::ArgMax, x, Dims{1})->dtype() == DType::I64);
  CHECK(binary(Op::Lt, x, x)->dtype() == DType::Bool);
  CHECK(permute(x, Dims{2, 0, 1})->shape() == Dims{4, 2, 3});
  CHECK(slice(x, Dims{1, 0, 0}, Dims{1, 2, 1}, Dims{1, 2, 4})->shape() == Dims{1, 2, 4});
  CHECK(pad(x, make_const(constant(DType::F32, 0.0), Dims{}), Dims{0, 1, 0}, Dims{0, 0, 2})->shape() == Dims{2, 4, 6});
  const NodeRef parts[] = {x, f32({2, 5, 4})};
  CHECK(cat(parts, 1)->shape() == Dims{2, 8, 4});
  CHECK(dot(f32({7, 2, 3}), f32({7, 3, 5}))->shape() == Dims{7, 2, 5});
}

TEST_CASE("malformed operations throw") {
  const NodeRef x = f32({2, 3}), i = make_input(DType::I32, Dims{2, 3});
  const NodeRef zero = make_const(constant(DType::F32, 0.0), Dims{});
  CHECK_THROWS_AS(binary(Op::Add, x, i), IrError);
  CHECK_THROWS_AS(binary(Op::Add, x, f32({3, 2})), IrError);
  CHECK_THROWS_AS(binary(Op::And, x, x), IrError);
  CHECK_THROWS_AS(unary(Op::Exp, i), IrError);
  CHECK_THROWS_AS(unary(Op::Add, x), IrError);
  CHECK_THROWS_AS(unary(Op::Input, x), IrError);
  CHECK_THROWS_AS(unary(Op::Get, x), IrError);
  CHECK_THROWS_AS(unary(Op::Neg, NodeRef()), IrError);
  CHECK_THROWS_AS(where(x, x, x), IrError);
  CHECK_THROWS_AS(reduce(Op::Sum, x, Dims{2}), IrError);
  CHECK_THROWS_AS(reduce(Op::Sum, x, Dims{1, 0}), IrError);
  CHECK_THROWS_AS(reduce(Op::Any, x, Dims{0}), IrError);
  CHECK_THROWS_AS(reshape(x, Dims{5}), IrError);
  CHECK_THROWS_AS(reshape(x, Dims{-2, -3}), IrError);
  CHECK_THROWS_AS(permute(x, Dims{0, 0}), IrError);
  CHECK_THROWS_AS(expand(x, Dims{2, 4}), IrError);
  CHECK_THROWS_AS(slice(x, Dims{0, 0}, Dims{1, 0}, Dims{1, 1}), IrError);
  CHECK_THROWS_AS(slice(x, Dims{0, 1}, Dims{1, 2}, Dims{1, 2}), IrError);
  CHECK_THROWS_AS(slice(x, Dims{0, 0}, Dims{1, INT64_MAX}, Dims{1, 2}), IrError);
  CHECK_THROWS_AS(flip(x, Dims{-1}), IrError);
  CHECK_THROWS_AS(pad(x, x, Dims{0, 0}, Dims{0, 0}), IrError);
  CHECK_THROWS_AS(pad(x, zero, Dims{0, -1}, Dims{0, 0}), IrError);
  CHECK_THROWS_AS(pad(x, zero, Dims{0, INT64_MAX}, Dims{0, 0}), IrError);
  CHECK_THROWS_AS(cat({&x, 1}, 2), IrError);
  CHECK_THROWS_AS(cat({}, 0), IrError);
  CHECK_THROWS_AS(dot(x, x), IrError);
  CHECK_THROWS_AS(make_node(Op::Bitcast, {&x, 1}, {}, DType::F64), IrError);
  CHECK_THROWS_AS(make_input(DType::F32, Dims{int64_t{1} << 40, int64_t{1} << 40}), IrError);
  CHECK_THROWS_AS(make_iota(Dims{}, 0), IrError);
  CHECK_THROWS_AS(binary(Op::Add, x, make_input(DType::F32, Dims{2, 3}, nullptr, 1)), IrError);
}

TEST_CASE("each operation on whole buffers has a row") {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const OpClass cls = info(op).cls;
    CHECK_MESSAGE((indexed_op(op) != nullptr) == (cls == OpClass::Indexed || cls == OpClass::Sort), info(op).text);
  }
}

TEST_CASE("dropping the last reference frees a chain of a million nodes without recursion") {
  const int64_t before = live_node_count();
  {
    const NodeRef y = f32({3});
    NodeRef x = f32({3});
    for (int i = 0; i < 1000000; ++i) x = binary(Op::Add, x, y);
    CHECK(live_node_count() == before + 1000002);
    CHECK(topological_order({&x, 1}).size() == 1000002);
  }
  CHECK(live_node_count() == before);
}

TEST_CASE("a doubling graph has as many nodes as lines") {
  NodeRef x = f32({});
  for (int i = 0; i < 200; ++i) x = binary(Op::Mul, x, x);
  CHECK(topological_order({&x, 1}).size() == 201);
}

TEST_CASE("materialising turns a node into an input and frees what only it needed") {
  const int64_t before = live_node_count();
  int freed = 0;
  {
    const NodeRef x = f32({4});
    const NodeRef y = unary(Op::Exp, unary(Op::Sin, x)), z = unary(Op::Cos, y);
    const uint64_t id = y->id();
    y->materialise(std::make_shared<Flag>(freed));
    CHECK(y->op() == Op::Input);
    CHECK(y->is_leaf());
    CHECK(y->id() == id);
    CHECK(y->payload());
    CHECK(live_node_count() == before + 3);
    CHECK(z->inputs()[0] == y.get());
    CHECK(unary(Op::Cos, y) == z);                              // found by its operand's identity
    CHECK(unary(Op::Exp, unary(Op::Sin, x)).get() != y.get());  // no longer found by what it computed
    CHECK(freed == 0);
  }
  CHECK(freed == 1);
  CHECK(live_node_count() == before);
}

TEST_CASE("what is computed from a volatile input is marked until it is materialised") {
  const NodeRef x = f32({4}), outside = make_volatile_input(DType::F32, Dims{4}, nullptr);
  CHECK_FALSE(x->reads_volatile());
  CHECK(outside->reads_volatile());
  const NodeRef sum = binary(Op::Add, x, reshape(reshape(outside, Dims{2, 2}), Dims{4}));
  const NodeRef y = unary(Op::Exp, sum);
  CHECK(y->reads_volatile());
  CHECK_FALSE(unary(Op::Exp, x)->reads_volatile());
  y->materialise(nullptr);
  CHECK_FALSE(y->reads_volatile());
  CHECK_FALSE(unary(Op::Sin, y)->reads_volatile());
}

TEST_CASE("materialising the end of a long chain is iterative") {
  NodeRef x = f32({3});
  const NodeRef y = f32({3});
  for (int i = 0; i < 300000; ++i) x = binary(Op::Sub, x, y);
  const int64_t before = live_node_count();
  x->materialise(nullptr);
  CHECK(live_node_count() == before - 300000);
}

TEST_CASE("threads that build and drop the same nodes get the same nodes") {
  const int64_t before = live_node_count();
  {
    const NodeRef x = f32({8}), y = f32({8});
    const int rounds = fuzz_cases(20000);
    std::atomic<int> wrong{0};
    const auto work = [&](int thread) {
      for (int i = 0; i < rounds; ++i) {
        const NodeRef a = binary(Op::Add, x, y), b = binary(Op::Sub, a, x);
        const NodeRef again = binary(Op::Sub, binary(Op::Add, x, y), x);
        if (!(again == b) || b->inputs()[0] != a.get()) ++wrong;
        const NodeRef own = binary(Op::Sub, b, make_const(constant(DType::F32, double(i % 7 + thread + 1)), Dims{8}));
        if (own->inputs()[0] != b.get()) ++wrong;
      }
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(live_node_count() == before + 2);
  }
  CHECK(live_node_count() == before);
}

TEST_CASE("a node may be materialised while other threads record on it") {
  const NodeRef x = f32({8});
  const int rounds = fuzz_cases(2000);
  for (int i = 0; i < rounds; ++i) {
    const NodeRef y = unary(Op::Neg, x);
    NodeRef read;
    std::thread recorder([&] { read = unary(Op::Neg, y); });
    y->materialise(nullptr);
    recorder.join();
    CHECK((read == x || read->inputs()[0] == y.get()));
  }
}

TEST_CASE("the order of a graph follows from its structure: operands first, each node once") {
  for (int seed = 0; seed < fuzz_cases(100); ++seed) {
    const Graph graph = tenon::test::random_graph(static_cast<uint64_t>(seed));
    CHECK_NOTHROW(verify(graph));
    const std::vector<Node*> order = topological_order(graph.outputs);
    REQUIRE(order.size() == graph.nodes.size());
    for (size_t i = 0; i < order.size(); ++i) CHECK(order[i] == graph.nodes[i].get());
  }
}
