// evaluate(): which nodes get buffers, what is computed again and what is not, memory that is handed on,
// failure.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/base/compile_behind.h"
#include "runtime/cpu/allocator.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/evaluation_support.h"
#include "runtime/temp_directory.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

double ramp(int64_t i) { return static_cast<double>(i % 1000) * 0.25 - 20; }

// exp-free chain of `length` ops: x*1.5 + 0.25 - x ...
NodeRef chain(NodeRef x, int length, double factor = 1.5) {
  NodeRef y = x;
  for (int i = 0; i < length; ++i) {
    NodeRef c = scalar(factor + i * 0.125, x->shape());
    y = ir::binary(i % 3 == 0 ? Op::Mul : i % 3 == 1 ? Op::Add : Op::Sub, y, i % 3 == 2 ? x : c);
  }
  return y;
}

struct Held {  // as a user's tensor holds a node
  NodeRef node;
  explicit Held(NodeRef n) : node(std::move(n)) { ++node->holders; }
  ~Held() {
    if (node) --node->holders;
  }
  void drop() {
    --node->holders;
    node = NodeRef();
  }
  Held(const Held&) = delete;
};

void check_same(const NodeRef& a, const NodeRef& b) { CHECK(same_elements(value_of(*a), value_of(*b))); }

}  // namespace

TEST_CASE("evaluate: a chain is one kernel and gives the interpreter's bits") {
  WithOptions options;
  Shape shape{1000};
  NodeRef x = input_of(shape, ramp);
  NodeRef y = chain(x, 10);
  ir::Graph graph = ir::Graph::of(std::vector<NodeRef>{y});
  codegen::HostTensor expected = codegen::interpret(graph, {value_of(*x)})[0];
  clear_kernel_history();
  evaluate({y});
  CHECK(y->op() == Op::Input);
  CHECK(same_elements(value_of(*y), expected));
  std::vector<KernelRecord> history = kernel_history();
  REQUIRE(history.size() == 1);
  CHECK(history[0].schedule == "pointwise");
  CHECK(history[0].ops == 10);
  CHECK(history[0].bytes == 8000);
  CHECK(history[0].flops == 10000);
  CHECK(history[0].run_us > 0);
  CHECK(history[0].hash != 0);
}

TEST_CASE("evaluate: the same form again runs no pass and no compiler; scalars and sizes are arguments") {
  WithOptions options;
  clear_caches();
  reset_counters();
  auto run = [](int64_t n, double factor) {
    NodeRef x = input_of(Shape{n}, ramp);
    NodeRef y = chain(x, 6, factor);
    NodeRef expected = y;
    ir::Graph graph = ir::Graph::of(std::vector<NodeRef>{y});
    codegen::HostTensor reference = codegen::interpret(graph, {value_of(*x)})[0];
    evaluate({y});
    CHECK(same_elements(value_of(*y), reference));
  };
  run(100, 1.5);
  CHECK(counters().plans_built == 1);
  CHECK(counters().kernels_compiled == 1);
  run(100, 1.5);
  CHECK(counters().plans_built == 1);
  CHECK(counters().plan_hits == 1);
  run(100, 7.25);  // other scalars
  CHECK(counters().plans_built == 1);
  CHECK(counters().plan_hits == 2);
  run(160, 1.5);  // another size
  CHECK(counters().kernels_compiled == 1);
  CHECK(counters().memory_hits == 1);
  CHECK(counters().launches == 4);
}

TEST_CASE("evaluate: a plan that runs often is made again, for the length of its short rows, unless they take no time") {
  WithOptions options([](Options& o) { o.often = 3; });
  const auto run = [](int64_t rows, int64_t columns) {
    const NodeRef x = input_of(Shape{rows, columns}, ramp), sums = ir::reduce(Op::Sum, ir::binary(Op::Mul, x, x), Shape{1});
    const ir::Graph graph = ir::Graph::of(std::vector<NodeRef>{sums});
    const codegen::HostTensor expected = codegen::interpret(graph, {value_of(*x)})[0];
    evaluate({sums});
    CHECK(same_elements(value_of(*sums), expected));
  };
  struct Case {
    int64_t rows, columns, plans;
  };
  for (const auto& [rows, columns, plans] :
       {Case{600, 9, 2}, {600, 32, 2}, {2000, 3, 2}, {600, 200, 2}, {9000, 3, 1}, {1, 200, 1}, {10, 3, 1}}) {
    CAPTURE(rows);
    CAPTURE(columns);
    clear_caches();
    reset_counters();
    for (int i = 0; i < 3; ++i) run(rows, columns);
    CHECK(counters().plans_built == 1);
    run(rows, columns);
    CompileBehind::global().wait();
    for (int i = 0; i < 5; ++i) run(rows, columns);
    CHECK(counters().plans_built == plans);
    CHECK(counters().plan_hits == 8);
    CHECK(counters().kernels_compiled == plans);
  }
}

#if !defined(__SANITIZE_THREAD__)  // tsan does not follow a fork of a threaded program
TEST_CASE("evaluate: plans that are made again while many threads run them, and over forks, have the same bits") {
  WithOptions options([](Options& o) { o.often = 3; });
  const auto sums_of = [](int64_t rows, int64_t columns) {
    const NodeRef x = input_of(Shape{rows, columns}, ramp), sums = ir::reduce(Op::Sum, ir::binary(Op::Mul, x, x), Shape{1});
    evaluate({sums});
    return value_of(*sums);
  };
  clear_caches();
  std::vector<codegen::HostTensor> expected;
  for (int64_t columns = 3; columns < 11; ++columns) expected.push_back(sums_of(600, columns));
  std::atomic<int> wrong = 0;
  const auto many = [&](int64_t turn) {
    for (int64_t i = 0; i < 160; ++i) {
      const int64_t which = (i + turn) % 8;
      if (!same_elements(sums_of(600, 3 + which), expected[static_cast<size_t>(which)])) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 3; ++t) threads.emplace_back(many, t);
  for (int fork_number = 0; fork_number < 3; ++fork_number) {
    const pid_t child = fork();
    if (child == 0) {
      many(fork_number);
      _exit(wrong == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
  CompileBehind::global().wait();
  const int64_t compiled = counters().kernels_compiled;
  many(0);
  CHECK(wrong == 0);
  CHECK(counters().kernels_compiled == compiled);
}
#endif

TEST_CASE("evaluate: a plan does not take the value of a constant for granted") {
  // Unfolded, so that the passes meet them: 0 and 1 may change the code, and a plan made with one must not
  // serve another.
  WithOptions options;
  for (double c : {1.0, 2.0, 0.0, 1.0, 3.0, -1.0, 0.5, 0.0}) {
    CAPTURE(c);
    NodeRef x = input_of(Shape{64}, ramp);
    NodeRef operands[] = {x, scalar(c, Shape{64})};
    NodeRef product = ir::make_node(Op::Mul, operands, {}, DType::F32, ir::Folding::Off);
    NodeRef sums[] = {product, scalar(c, Shape{64})};
    NodeRef y = ir::make_node(Op::Add, sums, {}, DType::F32, ir::Folding::Off);
    evaluate({y});
    for (int64_t i = 0; i < 64; ++i) REQUIRE(element(y, i) == ramp(i) * c + c);
  }
}

TEST_CASE("evaluate: constants fold to constants, and the fold is not kept for other values") {
  WithOptions options;
  for (double c : {8.0, 5.0, 0.125}) {
    CAPTURE(c);
    NodeRef operands[] = {scalar(c, Shape{8}), scalar(c + 1, Shape{8})};
    NodeRef y = ir::make_node(Op::Mul, operands, {}, DType::F32, ir::Folding::Off);
    NodeRef z_operands[] = {input_of(Shape{8}, ramp), y};
    NodeRef z = ir::make_node(Op::Add, z_operands, {}, DType::F32, ir::Folding::Off);
    evaluate({z});
    CHECK(element(z, 3) == ramp(3) + c * (c + 1));
  }
}

TEST_CASE("evaluate: roots of every kind") {
  WithOptions options;
  NodeRef x = input_of(Shape{4, 3}, [](int64_t i) { return static_cast<double>(i); });
  SUBCASE("already there") {
    evaluate({x, x});
    CHECK(element(x, 5) == 5);
  }
  SUBCASE("a constant") {
    NodeRef c = scalar(2.5, Shape{3});
    evaluate({c});
    CHECK(element(c, 2) == 2.5);
    NodeRef again = scalar(2.5, Shape{3});  // equal constants made later are constants
    CHECK(again->op() == Op::Const);
  }
  SUBCASE("an iota") {
    NodeRef i = ir::make_iota(Shape{2, 5}, 1);
    evaluate({i});
    CHECK(element(i, 9) == 4);
  }
  SUBCASE("views") {
    NodeRef t = ir::permute(x, Shape{1, 0});
    NodeRef r = ir::reshape(x, Shape{12});
    NodeRef f = ir::flip(x, Shape{0, 1});
    evaluate({t, r, f});
    CHECK(element(t, 1) == 3);
    CHECK(element(r, 7) == 7);
    CHECK(element(f, 0) == 11);
  }
  SUBCASE("the same root twice, and a root inside another") {
    NodeRef a = ir::binary(Op::Add, x, x);
    NodeRef b = ir::unary(Op::Neg, a);
    evaluate({b, a, b});
    CHECK(element(a, 2) == 4);
    CHECK(element(b, 2) == -4);
  }
  SUBCASE("roots that the passes find to be an input, or each other") {
    NodeRef ones[] = {x, scalar(1, x->shape())};
    NodeRef same = ir::make_node(Op::Mul, ones, {}, DType::F32, ir::Folding::Off);
    NodeRef a_operands[] = {same, x};
    NodeRef b_operands[] = {x, same};
    NodeRef a = ir::make_node(Op::Add, a_operands, {}, DType::F32, ir::Folding::Off);
    NodeRef b = ir::make_node(Op::Add, b_operands, {}, DType::F32, ir::Folding::Off);
    evaluate({same, a, b});
    CHECK(element(same, 7) == 7);
    CHECK(element(a, 7) == 14);
    CHECK(element(b, 7) == 14);
  }
  SUBCASE("no elements") {
    NodeRef nothing = input_of(Shape{0, 3}, ramp);
    NodeRef y = ir::unary(Op::Exp, nothing);
    NodeRef sum = ir::reduce(Op::Sum, nothing, Shape{0});
    evaluate({y, sum});
    CHECK(y->op() == Op::Input);
    CHECK(buffer_of(*y)->bytes() == 0);
    CHECK(element(sum, 2) == 0);
  }
  SUBCASE("one element of rank 0") {
    NodeRef s = input_of(Shape{}, [](int64_t) { return 3.0; });
    NodeRef y = ir::binary(Op::Mul, s, s);
    evaluate({y});
    CHECK(element(y) == 9);
  }
  SUBCASE("no roots") { CHECK_NOTHROW(evaluate({})); }
}

TEST_CASE("evaluate: bad graphs are errors and stay as they were") {
  WithOptions options;
  NodeRef placeholder = ir::make_input(DType::F32, Shape{4});
  NodeRef y = ir::unary(Op::Neg, placeholder);
  CHECK_THROWS_AS(evaluate({y}), std::runtime_error);
  CHECK(y->op() == Op::Neg);
  NodeRef gpu = ir::unary(Op::Neg, ir::make_input(DType::F32, Shape{4}, Buffer::allocate(16), 1));
  CHECK_THROWS_AS(evaluate({gpu}), std::runtime_error);
  CHECK_THROWS_AS(evaluate({NodeRef()}), std::runtime_error);
}

TEST_CASE("evaluate: a held intermediate becomes an output and is not computed again") {
  WithOptions options;
  NodeRef x = input_of(Shape{500}, ramp);
  Held middle(ir::unary(Op::Sqrt, ir::unary(Op::Abs, x)));
  NodeRef y = ir::binary(Op::Mul, middle.node, x);
  clear_kernel_history();
  evaluate({y});
  CHECK(middle.node->op() == Op::Input);
  CHECK(element(middle.node, 0) == doctest::Approx(std::sqrt(20.0)));
  CHECK(kernel_history().size() == 1);
  NodeRef z = ir::unary(Op::Neg, middle.node);
  evaluate({z});
  CHECK(kernel_history().back().ops == 1);
}

TEST_CASE("evaluate: a held view of a computed value stores the value, not a copy through the view") {
  WithOptions options;
  NodeRef x = input_of(Shape{4, 6}, ramp);
  NodeRef base = ir::binary(Op::Add, x, x);
  Held view(ir::permute(base, Shape{1, 0}));
  Held big(ir::expand(ir::reshape(x, Shape{1, 4, 6}), Shape{100, 4, 6}));  // of an input: free to keep pending
  NodeRef y = ir::unary(Op::Neg, view.node);
  NodeRef z = ir::reduce(Op::Sum, big.node, Shape{0});
  evaluate({y, z});
  CHECK(base->op() == Op::Input);
  CHECK(view.node->op() == Op::Permute);
  CHECK(big.node->op() != Op::Input);
  CHECK(element(y, 1) == -2 * ramp(6));
  evaluate({view.node});
  CHECK(element(view.node, 1) == 2 * ramp(6));
}

TEST_CASE("evaluate: an output takes over an input that nobody else needs") {
  WithOptions options;
  Shape shape{3000};
  auto make = [&] { return input_of(shape, ramp); };
  auto expect = [&](const NodeRef& y) {
    for (int64_t i : {0, 1, 1499, 2999}) CHECK(element(y, i) == static_cast<double>(static_cast<float>(ramp(i) * ramp(i))));
  };
  SUBCASE("a dead input is taken over, at any size") {
    for (int64_t n : {1, 3, 17, 64, 1000, 4096, 5003, 70001}) {
      CAPTURE(n);
      NodeRef x = input_of(Shape{n}, ramp);
      void* memory = buffer_of(*x)->data();
      NodeRef y = ir::binary(Op::Mul, x, x);
      x = NodeRef();
      evaluate({y});
      CHECK(buffer_of(*y)->data() == memory);
      codegen::HostTensor seen = value_of(*y);
      for (int64_t i = 0; i < n; ++i) REQUIRE(ir::to_double(seen.get(i)) == static_cast<double>(static_cast<float>(ramp(i) * ramp(i))));
    }
  }
  SUBCASE("through a chain of kernels and a dying intermediate") {
    NodeRef x = make();
    void* memory = buffer_of(*x)->data();
    NodeRef y = ir::unary(Op::Neg, ir::binary(Op::Mul, x, x));
    x = NodeRef();
    evaluate({y});
    CHECK(buffer_of(*y)->data() == memory);
    CHECK(element(y, 7) == -ramp(7) * ramp(7));
  }
  SUBCASE("a referenced input stays") {
    NodeRef x = make();
    NodeRef y = ir::binary(Op::Mul, x, x);
    evaluate({y});
    CHECK(buffer_of(*y)->data() != buffer_of(*x)->data());
    CHECK(element(x, 5) == ramp(5));
    expect(y);
  }
  SUBCASE("an input of another pending expression stays") {
    NodeRef x = make();
    NodeRef y = ir::binary(Op::Mul, x, x), other = ir::unary(Op::Neg, x);
    x = NodeRef();
    evaluate({y});
    expect(y);
    evaluate({other});
    CHECK(element(other, 9) == -ramp(9));
  }
  SUBCASE("an input below a pending reader of an inner node stays") {
    NodeRef x = make();
    NodeRef inner = ir::unary(Op::Abs, x);
    NodeRef y = ir::unary(Op::Neg, inner), other = ir::binary(Op::Add, inner, inner);
    x = inner = NodeRef();
    evaluate({y});
    evaluate({other});
    CHECK(element(y, 3) == -std::abs(ramp(3)));
    CHECK(element(other, 3) == 2 * std::abs(ramp(3)));
  }
  SUBCASE("a buffer that somebody else holds stays") {
    NodeRef x = make();
    std::shared_ptr<Buffer> mine = buffer_of(*x);
    NodeRef y = ir::binary(Op::Mul, x, x);
    x = NodeRef();
    evaluate({y});
    CHECK(buffer_of(*y) != mine);
    CHECK(static_cast<float*>(mine->data())[4] == static_cast<float>(ramp(4)));
  }
  SUBCASE("a buffer behind two inputs stays") {
    auto buffer = buffer_of(*make());
    NodeRef a = ir::make_input(DType::F32, shape, buffer), b = ir::make_input(DType::F32, shape, buffer);
    buffer.reset();
    NodeRef y = ir::binary(Op::Mul, a, ir::flip(b, Shape{0}));
    a = b = NodeRef();
    evaluate({y});
    CHECK(element(y, 10) == static_cast<double>(static_cast<float>(ramp(10) * ramp(2989))));
  }
  SUBCASE("adopted memory stays") {
    std::vector<float> mine(3000, 2.0f);
    NodeRef x = ir::make_input(DType::F32, shape, Buffer::adopt(mine.data(), 12000, {}));
    NodeRef y = ir::binary(Op::Mul, x, x);
    x = NodeRef();
    evaluate({y});
    CHECK(element(y, 1) == 4);
    CHECK(mine[1] == 2.0f);
  }
  SUBCASE("an input read at other places too is not written over") {
    NodeRef x = make();
    NodeRef y = ir::binary(Op::Sub, x, ir::flip(x, Shape{0}));
    x = NodeRef();
    evaluate({y});
    for (int64_t i : {0, 1, 1500, 2999}) CHECK(element(y, i) == ramp(i) - ramp(2999 - i));
  }
  SUBCASE("a softmax over its own input") {
    NodeRef x = input_of(Shape{40, 77}, [](int64_t i) { return static_cast<double>(i * 31 % 17); });
    NodeRef keep = input_of(value_of(*x));
    auto softmax = [](const NodeRef& v) {
      NodeRef m = ir::expand(ir::reduce(Op::ReduceMax, v, Shape{1}), v->shape());
      NodeRef e = ir::unary(Op::Exp, ir::binary(Op::Sub, v, m));
      return ir::binary(Op::Div, e, ir::expand(ir::reduce(Op::Sum, e, Shape{1}), v->shape()));
    };
    NodeRef y = softmax(x), reference = softmax(keep);
    x = NodeRef();
    evaluate({y});
    evaluate({reference});
    check_same(y, reference);
  }
  SUBCASE("switched off") {
    WithOptions off([](Options& o) { o.donation = false; });
    NodeRef x = make();
    void* memory = buffer_of(*x)->data();
    NodeRef y = ir::binary(Op::Mul, x, x);
    x = NodeRef();
    evaluate({y});
    CHECK(buffer_of(*y)->data() != memory);
    expect(y);
  }
}

TEST_CASE("evaluate: out of memory leaves the graph pending and usable") {
  WithOptions options;
  NodeRef x = input_of(Shape{1 << 16}, ramp);
  NodeRef y = chain(x, 4);
  evaluate({y});  // the plan exists; only memory is missing below
  y = chain(x, 4);
  Allocator::Source nothing{[](size_t) -> void* { return nullptr; }, [](void* p, size_t n) { Allocator::system_source().release(p, n); }};
  Allocator::Source old = Allocator::global().set_source(nothing);
  CHECK_THROWS_AS(evaluate({y}), OutOfMemory);
  Allocator::global().set_source(old);
  CHECK(y->op() != Op::Input);
  evaluate({y});
  CHECK(y->op() == Op::Input);
  check_same(y, [&] {
    NodeRef again = chain(x, 4);
    evaluate({again});
    return again;
  }());
}

TEST_CASE("evaluate: the memory limit of the options is kept") {
  WithOptions options([](Options& o) { o.memory_limit_mb = memory_stats().allocated / (1 << 20) + 2; });
  NodeRef x = input_of(Shape{1 << 17}, ramp);
  NodeRef y = ir::expand(ir::reshape(x, Shape{1, 1 << 17}), Shape{64, 1 << 17});
  CHECK_THROWS_AS(evaluate({y}), OutOfMemory);
  NodeRef z = ir::unary(Op::Neg, x);
  evaluate({z});
  CHECK(element(z, 1) == -ramp(1));
}

TEST_CASE("evaluate: results are the same bits with 1 and 4 threads") {
  Shape shape{300, 1111};
  std::vector<codegen::HostTensor> results[2];
  int which = 0;
  for (int threads : {1, 4}) {
    WithOptions options([&](Options& o) { o.threads = threads; });
    NodeRef x = input_of(shape, [](int64_t i) { return static_cast<double>(i * 7919 % 10007) * 1e-3; });
    NodeRef rows = ir::reduce(Op::Sum, x, Shape{1}), columns = ir::reduce(Op::Sum, x, Shape{0});
    NodeRef all = ir::reduce(Op::Sum, x, Shape{0, 1}), t = ir::unary(Op::Exp, ir::permute(ir::unary(Op::Neg, x), Shape{1, 0}));
    evaluate({rows, columns, all, t});
    CHECK(ThreadPool::global().threads() == threads);
    for (const NodeRef& n : {rows, columns, all, t}) results[which].push_back(value_of(*n));
    ++which;
  }
  for (size_t i = 0; i < results[0].size(); ++i) CHECK(same_elements(results[0][i], results[1][i]));
}

TEST_CASE("evaluate: the interpreter is a backend too") {
  WithOptions options([](Options& o) { o.backend = Options::Backend::Interpreter; });
  NodeRef x = input_of(Shape{30}, ramp);
  NodeRef y = chain(x, 5);
  codegen::HostTensor expected = codegen::interpret(ir::Graph::of(std::vector<NodeRef>{y}), {value_of(*x)})[0];
  clear_kernel_history();
  evaluate({y});
  CHECK(same_elements(value_of(*y), expected));
  CHECK(kernel_history().back().schedule == "interpreter");
}

TEST_CASE("evaluate: each switch leaves the bits as they are") {
  auto run = [] {
    NodeRef x = input_of(Shape{33, 65}, ramp);
    NodeRef s = ir::expand(ir::reduce(Op::Sum, x, Shape{1}), x->shape());
    NodeRef y = ir::binary(Op::Mul, ir::binary(Op::Sub, x, s), ir::unary(Op::Tanh, x));
    evaluate({y});
    return value_of(*y);
  };
  codegen::HostTensor expected = [&] {
    WithOptions options;
    return run();
  }();
  auto check = [&](auto change) {
    WithOptions options(change);
    CHECK(same_elements(run(), expected));
  };
  check([](Options& o) { o.fusion = false; });
  check([](Options& o) { o.simplify = false; });
  check([](Options& o) { o.plan_cache = false; });
  check([](Options& o) { o.donation = false; });
  check([](Options& o) { o.vector_bits = 128; });
  check([](Options& o) { o.vector_bits = 256; });
}

TEST_CASE("evaluate: compiled kernels come back from the disk; damage means compiling again") {
  TempDirectory directory;
  WithOptions options([&](Options& o) {
    o.disk_cache = true;
    o.cache_dir = directory.path + "/cache";
    o.first_tier = 0;
  });
  auto run = [] {
    clear_caches();  // as a new process would
    reset_counters();
    NodeRef x = input_of(Shape{50}, ramp);
    NodeRef y = ir::unary(Op::Exp, ir::unary(Op::Neg, x)), z = ir::reduce(Op::Sum, x, Shape{0});
    clear_kernel_history();
    evaluate({y});
    evaluate({z});
    CHECK(element(y, 0) == doctest::Approx(std::exp(20.0)));
    return counters();
  };
  CHECK(run().kernels_compiled == 2);
  CHECK(kernel_history()[0].cache == CacheState::Compiled);
  CHECK(kernel_history()[0].compile_ms > 0);
  Counters warm = run();
  CHECK(warm.kernels_compiled == 0);
  CHECK(warm.disk_hits == 2);
  CHECK(kernel_history()[0].cache == CacheState::Disk);
  for (const auto& file : std::filesystem::directory_iterator(directory.path + "/cache")) {
    std::string bytes = read_file(file.path());
    bytes[bytes.size() / 2] ^= 1;
    write_file(file.path(), bytes);
  }
  CHECK(run().kernels_compiled == 2);
  CHECK(run().disk_hits == 2);
}

TEST_CASE("evaluate: two threads evaluate and drop graphs that share nodes") {
  WithOptions options;
  NodeRef x = input_of(Shape{256}, ramp);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&x, t] {
      for (int i = 0; i < 60; ++i) {
        NodeRef y = chain(x, 3 + (i + t) % 4);
        evaluate({y});
        if (element(y, 0) != element(y, 0)) std::abort();
      }
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST_CASE("evaluate: a loop that carries a value leaks no node and no memory") {
  WithOptions options;
  NodeRef x = input_of(Shape{1000}, ramp);
  auto round = [&] {
    x = ir::binary(Op::Add, ir::binary(Op::Mul, x, scalar(0.5, x->shape())), scalar(1, x->shape()));
    NodeRef sum = ir::reduce(Op::Sum, x, Shape{0});
    ++x->holders;
    evaluate({sum});
    --x->holders;
  };
  for (int i = 0; i < 5; ++i) round();
  int64_t nodes = ir::live_node_count(), bytes = memory_stats().reserved;
  reset_counters();
  for (int i = 0; i < 100; ++i) round();
  CHECK(ir::live_node_count() == nodes);
  CHECK(memory_stats().reserved == bytes);
  CHECK(counters().plan_hits == 100);
  CHECK(counters().plans_built == 0);
}

TEST_CASE("evaluate: a deep chain") {
  WithOptions options;
  NodeRef x = input_of(Shape{8}, [](int64_t i) { return static_cast<double>(i); });
  NodeRef y = x;
  for (int i = 0; i < 20000; ++i) y = ir::binary(Op::Add, y, x);
  evaluate({y});
  CHECK(element(y, 3) == 3.0 * 20001);
}

TEST_CASE("evaluate: a cached plan of 20 operations on 16 elements costs microseconds") {
  WithOptions options;
  NodeRef x = input_of(Shape{16}, ramp);
  double best = 1e9;
  for (int i = 0; i < 300; ++i) {
    NodeRef y = chain(x, 20);
    auto begin = std::chrono::steady_clock::now();
    evaluate({y});
    best = std::min(best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  MESSAGE("20 operations on 16 elements: " << best << " us");
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  CHECK(best <= 15);
#endif
}
