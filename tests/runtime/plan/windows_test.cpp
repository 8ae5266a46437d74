// Windows: slices of inputs and updates of parts, whose offsets are arguments of a plan. A plan made for one offset must
// be right for every other that finds it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "runtime/evaluation_support.h"
#include "runtime/plan/graph_key.h"
#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;

namespace {

constexpr int64_t kRows = 40, kColumns = 24;

NodeRef matrix() {
  return input_of(Shape{kRows, kColumns}, [](int64_t i) { return static_cast<double>(i); });
}
NodeRef rows(const NodeRef& x, int64_t first, int64_t count) { return ir::slice(x, Shape{first, 0}, Shape{1, 1}, Shape{count, kColumns}); }
NodeRef row(const NodeRef& x, int64_t i) { return ir::reshape(rows(x, i, 1), Shape{kColumns}); }
NodeRef with_row(const NodeRef& x, int64_t i, const NodeRef& value) { return ir::update(x, value, Shape{1}, i * kColumns); }
NodeRef sum(const NodeRef& x) { return ir::reduce(Op::Sum, x, Shape{0}); }
NodeRef twice(const NodeRef& x) { return ir::binary(Op::Mul, x, scalar(2.5, x->shape())); }

std::vector<uint64_t> key_of(const NodeRef& root) {
  GraphKey key;
  key.read({&root, 1}, 0);
  return key.words;
}

struct Form {
  const char* name;
  NodeRef (*make)(const NodeRef& x, int64_t i, int64_t j);
  bool independent;  // one key for all i and j; else for all with the same distance
};
const Form kForms[] = {
    {"a row", [](const NodeRef& x, int64_t i, int64_t) { return sum(row(x, i)); }, true},
    {"a copy of a row", [](const NodeRef& x, int64_t i, int64_t) { return row(x, i); }, true},
    {"an element",
     [](const NodeRef& x, int64_t i, int64_t) {
       return twice(ir::slice(x, Shape{i, 3}, Shape{1, 1}, Shape{1, 1}));
     },
     true},
    {"a column", [](const NodeRef& x, int64_t i, int64_t) { return sum(ir::strided(x, Shape{kRows}, Shape{kColumns}, i % kColumns)); },
     true},
    {"two rows", [](const NodeRef& x, int64_t i, int64_t j) { return ir::binary(Op::Sub, row(x, i), row(x, j)); }, true},
    {"all and a row", [](const NodeRef& x, int64_t i, int64_t) { return ir::binary(Op::Sub, x, ir::expand(rows(x, i, 1), x->shape())); },
     true},
    {"a write", [](const NodeRef& x, int64_t i, int64_t j) { return with_row(x, i, scalar(double(j) + 2, Shape{kColumns})); }, true},
    {"a write of what is there", [](const NodeRef& x, int64_t i, int64_t) { return with_row(x, i, twice(row(x, i))); }, true},
    {"a write of another row", [](const NodeRef& x, int64_t i, int64_t j) { return with_row(x, i, twice(row(x, j))); }, false},
    {"two writes",
     [](const NodeRef& x, int64_t i, int64_t j) {
       return with_row(with_row(x, i, scalar(7, Shape{kColumns})), j, scalar(8, Shape{kColumns}));
     },
     false},
    {"many rows",
     [](const NodeRef& x, int64_t i, int64_t j) {
       NodeRef total = row(x, i);
       for (int64_t k = 0; k < 7; ++k) total = ir::binary(Op::Sub, total, row(x, (j + 2 * k) % kRows));
       return total;
     },
     false},
    {"many rows side by side, read by nothing else",
     [](const NodeRef& x, int64_t i, int64_t j) {
       std::vector<NodeRef> parts;
       for (int64_t k = 0; k < 8; ++k) parts.push_back(ir::reshape(row(x, (i + k * (1 + j % 4)) % kRows), Shape{1, kColumns}));
       const NodeRef all = ir::reshape(sum(x), Shape{1, kColumns});
       return ir::binary(Op::Add, twice(ir::cat(parts, 0)), ir::expand(all, Shape{8, kColumns}));
     },
     true},
    {"many rows side by side and added",
     [](const NodeRef& x, int64_t i, int64_t j) {
       std::vector<NodeRef> parts;
       NodeRef total = row(x, i);
       for (int64_t k = 0; k < 8; ++k) {
         const NodeRef part = rows(x, i + k * (1 + (j - i + kRows) % 4), 1);
         parts.push_back(part);
         total = ir::binary(Op::Sub, total, ir::reshape(part, Shape{kColumns}));
       }
       return ir::binary(Op::Sub, ir::cat(parts, 0), ir::expand(ir::reshape(total, Shape{1, kColumns}), Shape{8, kColumns}));
     },
     false},
};

NodeRef copy_of(const NodeRef& x) { return input_of(value_of(*x)); }

}  // namespace

TEST_CASE("windows: graphs that differ in where their windows begin share a plan, and it is right for each") {
  for (const Form& form : kForms) {
    CAPTURE(form.name);
    const NodeRef x = matrix();
    auto result = [&](int64_t i, int64_t j, bool reference) {
      WithOptions options([&](Options& o) {
        o.plan_cache = !reference;
        o.windows = !reference;
        if (reference) o.backend = Options::Backend::Interpreter;
      });
      NodeRef made = form.make(copy_of(x), i, j);
      evaluate({made});
      return value_of(*made);
    };
    CHECK((key_of(form.make(x, 3, 8)) == key_of(form.make(x, 5, 10))));
    CHECK((key_of(form.make(x, 3, 8)) == key_of(form.make(x, 20, 4))) == form.independent);
    result(3, 8, false);
    reset_counters();
    for (auto [i, j] : {std::pair<int64_t, int64_t>{0, 5}, {1, 6}, {12, 17}, {20, 25}})
      CHECK(result(i, j, false).data == result(i, j, true).data);
    CHECK(counters().plans_built == 4);  // of the reference
  }
}

TEST_CASE("windows: what changes the code is in the key") {
  const NodeRef x = matrix();
  auto keys_differ = [](const NodeRef& a, const NodeRef& b) { return key_of(a) != key_of(b); };
  CHECK(keys_differ(sum(rows(x, 2, 3)), sum(rows(x, 2, 4))));
  CHECK(keys_differ(sum(row(x, 2)), sum(ir::strided(x, Shape{kColumns}, Shape{2}, 2 * kColumns))));
  // Written where it is read, and elsewhere.
  CHECK(keys_differ(with_row(x, 4, twice(row(x, 4))), with_row(x, 4, twice(row(x, 5)))));
  CHECK(keys_differ(with_row(x, 4, twice(row(x, 3))), with_row(x, 4, twice(row(x, 5)))));
  // All of what is written is read too.
  const NodeRef all = ir::reshape(ir::reduce(Op::Sum, x, Shape{0}), Shape{kColumns});
  CHECK(keys_differ(with_row(x, 4, all), with_row(x, 5, all)));
}

TEST_CASE("windows: a row written or read and written stays in its memory") {
  WithOptions options;
  NodeRef x = matrix();
  const void* before = buffer_of(*x)->data();
  reset_counters();
  for (int64_t i = 1; i < kRows; ++i) {
    x = with_row(x, i, ir::binary(Op::Add, row(x, i), row(x, i - 1)));
    evaluate({x});
  }
  CHECK(counters().plans_built == 1);
  CHECK(buffer_of(*x)->data() == before);
  double expected = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    expected += static_cast<double>(i * kColumns + 5);
    CHECK(element(x, i * kColumns + 5) == expected);
  }
}

// Operations that passes remove, between two updates: the second is not counted from the first one's origin.
TEST_CASE("windows: an update of what turns out to be an updated buffer writes where it says") {
  using Between = NodeRef (*)(const NodeRef&);
  static const auto make = [](Op op, std::initializer_list<NodeRef> operands, std::span<const int64_t> ints) {
    return ir::make_node(op, std::span(operands.begin(), operands.size()), ints, {}, ir::Folding::Off);
  };
  const Between betweens[] = {
      [](const NodeRef& x) {
        return make(Op::Min, {x, x}, {});
      },
      [](const NodeRef& x) {
        return make(Op::Mul, {scalar(1.0, x->shape()), x}, {});
      },
      [](const NodeRef& x) { return make(Op::Neg, {make(Op::Neg, {x}, {})}, {}); },
      [](const NodeRef& x) { return make(Op::Reshape, {make(Op::Reshape, {x}, Shape{kRows * kColumns})}, x->shape()); },
  };
  for (const Between between : betweens) {
    for (int64_t i : {0, 3, 17}) {
      WithOptions options;
      const NodeRef x = matrix();
      const NodeRef y = with_row(between(with_row(x, i, scalar(-1.0, Shape{kColumns}))), 20, scalar(-2.0, Shape{kColumns}));
      evaluate({y});
      for (int64_t k = 0; k < kRows * kColumns; ++k) {
        const int64_t row = k / kColumns;
        CHECK(element(y, k) == (row == 20 ? -2.0 : row == i ? -1.0 : static_cast<double>(k)));
      }
    }
  }
}

TEST_CASE("windows: of an input that only windows read the size is not in the key") {
  const auto input = [](int64_t rows) { return input_of(Shape{rows, 4}, [](int64_t i) { return static_cast<double>(i); }); };
  const auto two_rows = [](const NodeRef& x, int64_t first) { return ir::slice(x, Shape{first, 0}, Shape{1, 1}, Shape{2, 4}); };
  // As many elements as an input of four rows: that one's memory is not taken over for it, since another
  // one's would not fit.
  const auto graph = [&](const NodeRef& x) {
    const NodeRef parts[] = {twice(two_rows(x, 2)), two_rows(x, 0)};
    return ir::binary(Op::Add, ir::cat(parts, 0), ir::cat(parts, 0));
  };
  const NodeRef four = graph(input(4)), nine = graph(input(9));
  CHECK(key_of(four) == key_of(nine));
  CHECK(key_of(sum(input(4))) != key_of(sum(input(9))));
  const auto with_all = [&](const NodeRef& x) {
    return ir::binary(Op::Add, ir::reduce(Op::Sum, x, Shape{0, 1}), ir::slice(x, Shape{1, 1}, Shape{1, 1}, Shape{1, 1}));
  };
  CHECK(key_of(with_all(input(4))) != key_of(with_all(input(9))));
  for (int64_t rows : {4, 9, 5, 4}) {
    NodeRef result = graph(input(rows));
    evaluate({&result, 1});
    const auto& buffer = static_cast<const Buffer&>(*result->payload());
    CHECK(buffer.bytes() == 4 * 4 * sizeof(float));
    const auto* values = static_cast<const float*>(buffer.data());
    for (int64_t i = 0; i < 8; ++i) CHECK(values[i] == 2 * 2.5F * static_cast<float>(i + 8));
    for (int64_t i = 8; i < 16; ++i) CHECK(values[i] == 2 * static_cast<float>(i - 8));
  }
}

TEST_CASE("windows: where pads put single rows is no part of the key") {
  struct Form {
    Shape inner, outer;
    double fill;
  };
  const Form forms[] = {{{1}, {5}, 0}, {{1, 6}, {4, 6}, 0}, {{4, 1}, {4, 5}, 2.5}, {{1, 1}, {3, 2}, 0}, {{2, 1, 3}, {2, 4, 5}, -1}};
  std::mt19937 random(11);
  for (const Form& form : forms) {
    for (const auto backend : {Options::Backend::Llvm, Options::Backend::Interpreter}) {
      const WithOptions options([&](Options& o) { o.backend = backend; });
      const size_t rank = form.inner.size();
      std::vector<uint64_t> key;
      for (int round = 0; round < 6; ++round) {
        NodeRef total;
        std::vector<double> expected(static_cast<size_t>(ir::make_input(ir::DType::F32, form.outer)->numel()), 0.0);
        for (int k = 0; k < 5; ++k) {
          const NodeRef x = input_of(form.inner, [&](int64_t i) { return static_cast<double>(i + 10 * k + 1); });
          Shape lo(rank), hi(rank);
          for (size_t d = 0; d < rank; ++d) {
            const int64_t room = form.outer[d] - form.inner[d];
            lo[d] = form.inner[d] != 1 ? std::min<int64_t>(1, room)
                    : round == 0       ? 0
                                       : static_cast<int64_t>(random()) % (room + 1);  // at first all are equal
            hi[d] = room - lo[d];
          }
          const NodeRef padded = ir::pad(x, scalar(form.fill, {}), lo, hi);
          total = total ? ir::binary(Op::Add, total, padded) : padded;
          for (size_t i = 0; i < expected.size(); ++i) {
            int64_t rest = static_cast<int64_t>(i), at = 0;
            bool inside = true;
            Shape place(rank);
            for (size_t d = rank; d-- > 0; rest /= form.outer[d]) place[d] = rest % form.outer[d] - lo[d];
            for (size_t d = 0; d < rank; ++d) {
              inside = inside && place[d] >= 0 && place[d] < form.inner[d];
              at = at * form.inner[d] + place[d];
            }
            expected[i] += inside ? static_cast<double>(at + 10 * k + 1) : form.fill;
          }
        }
        const std::vector<uint64_t> words = key_of(total);
        if (round > 0) CHECK(words == key);
        key = words;
        evaluate({&total, 1});
        for (size_t i = 0; i < expected.size(); ++i) CHECK(element(total, static_cast<int64_t>(i)) == expected[i]);
      }
    }
  }
}

TEST_CASE("windows: an input that dies is not written over while a part of it is read") {
  WithOptions options;
  for (int64_t i : {3, 0, 39}) {
    NodeRef x = matrix();
    x = ir::binary(Op::Sub, x, ir::expand(rows(x, i, 1), x->shape()));
    evaluate({x});
    for (int64_t k = 0; k < kRows; ++k) CHECK(element(x, k * kColumns) == static_cast<double>((k - i) * kColumns));
  }
}

namespace {

// Programs of windows, sums and writes over a few tensors: the same statements round after round, at other places.
class Rounds {
 public:
  Rounds(uint64_t seed, bool reference) : seed_(seed), reference_(reference) {
    for (int64_t t = 0; t < kTensors; ++t) {
      state_.push_back(input_of(
          Shape{kCount / 6, 6}, [t](int64_t i) { return static_cast<double>((i * 7 + t * 5) % 31); }, DType::I32));
    }
  }

  // The values of all that this round computes.
  std::vector<codegen::HostTensor> next() {
    WithOptions options([&](Options& o) {
      o.plan_cache = o.windows = !reference_;
      if (reference_) o.backend = Options::Backend::Interpreter;
      o.donation = seed_ % 5 != 0;
      o.simplify = seed_ % 7 != 0;
      o.fusion = seed_ % 11 != 0;
    });
    form_.seed(seed_);
    place_.seed(seed_ * 1000 + ++round_);
    std::vector<NodeRef> results;
    const int64_t statements = 1 + form(6);
    for (int64_t s = 0; s < statements; ++s) {
      NodeRef& target = state_[static_cast<size_t>(form(kTensors))];
      shape_of_windows();
      const NodeRef value = expression();
      if (form(3) == 0) {
        results.push_back(form(2) == 0 ? value : ir::reduce(Op::Sum, value, Shape{0}));
      } else {
        target = ir::update(target, value, strides_, place());
      }
    }
    std::vector<NodeRef> roots = results;
    for (const NodeRef& t : state_) roots.push_back(t);
    evaluate(std::span<const NodeRef>(roots));
    std::vector<codegen::HostTensor> values;
    for (const NodeRef& root : roots) values.push_back(value_of(*root));
    return values;
  }

 private:
  static constexpr int64_t kTensors = 2, kCount = 96;

  int64_t form(int64_t end) { return static_cast<int64_t>(form_() % static_cast<uint64_t>(end)); }

  void shape_of_windows() {
    switch (form(4)) {
      case 0: sizes_ = {6}, strides_ = {1}; break;
      case 1: sizes_ = {3, 6}, strides_ = {6, 1}; break;
      case 2: sizes_ = {5}, strides_ = {6}; break;
      default: sizes_ = {2, 3}, strides_ = {12, 2};
    }
    span_ = 1;
    for (size_t d = 0; d < sizes_.size(); ++d) span_ += (sizes_[d] - 1) * strides_[d];
  }

  // Few places, so that some meet; now and then one that this statement has in every round.
  int64_t place() {
    const int64_t room = kCount - span_ + 1;
    if (form(6) == 0) return form(room);
    return std::min(static_cast<int64_t>(place_() % 3) * 6 + static_cast<int64_t>(place_() % 2) * (room / 2), room - 1);
  }

  NodeRef operand() {
    const NodeRef& x = state_[static_cast<size_t>(form(kTensors))];
    const int64_t kind = form(8);
    if (kind == 0) return ir::expand(ir::reshape(ir::reduce(Op::Sum, x, Shape{0, 1}), Shape(sizes_.size(), 1)), sizes_);
    if (kind == 1 && sizes_ == Shape{3, 6}) {
      const int64_t first = static_cast<int64_t>(place_() % 10);
      return ir::slice(x, Shape{first, 0}, Shape{1, 1}, sizes_);
    }
    if (kind == 2) return scalar(static_cast<double>(2 + form(5)), sizes_, DType::I32);
    const NodeRef window = ir::strided(x, sizes_, strides_, std::min(place(), kCount - span_));
    return kind == 3 ? ir::flip(window, Shape{0}) : window;
  }

  NodeRef expression() {
    NodeRef value = operand();
    for (int64_t n = form(form(6) == 0 ? 10 : 3); n > 0; --n) value = ir::binary(form(2) == 0 ? Op::Add : Op::Sub, value, operand());
    return value;
  }

  uint64_t seed_;
  bool reference_;
  uint64_t round_ = 0;
  std::mt19937_64 form_, place_;
  std::vector<NodeRef> state_;
  Shape sizes_, strides_;
  int64_t span_ = 1;
};

}  // namespace

TEST_CASE("windows: random programs round after round against the interpreter, which plans each round anew") {
  const char* count = std::getenv("TENON_FUZZ_COUNT");
  const uint64_t programs = count ? std::strtoull(count, nullptr, 10) / 10 : static_cast<uint64_t>(fuzz_cases(60));
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    Rounds compiled(seed, false), reference(seed, true);
    for (int round = 0; round < 8; ++round) {
      const auto got = compiled.next(), expected = reference.next();
      bool same = got.size() == expected.size();
      for (size_t i = 0; same && i < got.size(); ++i) same = got[i].data == expected[i].data;
      CAPTURE(seed);
      CAPTURE(round);
      REQUIRE(same);
    }
  }
}

TEST_CASE("windows: the history tells shapes as the program knows them") {
  WithOptions options;
  clear_kernel_history();
  NodeRef x = matrix();
  x = with_row(x, 7, twice(row(x, 7)));
  evaluate({x});
  NodeRef total = sum(row(x, 3));
  evaluate({total});
  REQUIRE(kernel_history().size() == 2);
  CHECK(kernel_history()[0].shapes == "-> f32[40,24]");
  CHECK(kernel_history()[1].shapes == "f32[1,24] -> f32[1]");
}

TEST_CASE("windows: an update that passes find to write what is there, or nothing, leaves all of its base") {
  const char* graphs[] = {R"(graph @itself(%x0: f32[17,1,3,2]) {
    %0 = strided %x0 sizes=[2,1,1,1] strides=[6,6,2,1] offset=95 : f32[2,1,1,1]
    %1 = update %x0, %0 strides=[6,6,2,1] offset=95 : f32[17,1,3,2]
    %2 = flip %1 dims=[0,3] : f32[17,1,3,2]
    return %2
  })",
                          R"(graph @permuted(%x0: f32[8,6]) {
    %0 = slice %x0 starts=[3,2] steps=[1,1] sizes=[2,3] : f32[2,3]
    %1 = permute %0 [1,0] : f32[3,2]
    %2 = update %x0, %1 strides=[1,6] offset=20 : f32[8,6]
    %3 = flip %2 dims=[0] : f32[8,6]
    return %3
  })",
                          R"(graph @part_of_a_part(%x0: f32[8,6]) {
    %0 = slice %x0 starts=[3,0] steps=[1,1] sizes=[4,6] : f32[4,6]
    %1 = slice %0 starts=[1,0] steps=[1,1] sizes=[1,6] : f32[1,6]
    %2 = update %x0, %1 strides=[6,1] offset=24 : f32[8,6]
    %3 = flip %2 dims=[0] : f32[8,6]
    return %3
  })",
                          R"(graph @times_one(%x0: f32[8,6]) {
    %0 = slice %x0 starts=[3,2] steps=[1,1] sizes=[2,3] : f32[2,3]
    %1 = const 1.0 : f32[2,3]
    %2 = mul %0, %1 : f32[2,3]
    %3 = update %x0, %2 strides=[6,1] offset=20 : f32[8,6]
    %4 = flip %3 dims=[0] : f32[8,6]
    return %4
  })",
                          R"(graph @second_of_a_chain(%x0: f32[8,6], %x1: f32[6]) {
    %0 = update %x0, %x1 strides=[1] offset=12 : f32[8,6]
    %1 = slice %x0 starts=[4,0] steps=[1,1] sizes=[2,6] : f32[2,6]
    %2 = permute %1 [1,0] : f32[6,2]
    %3 = neg %2 : f32[6,2]
    %4 = neg %3 : f32[6,2]
    %5 = update %0, %4 strides=[1,6] offset=24 : f32[8,6]
    %6 = flip %5 dims=[0] : f32[8,6]
    return %6
  })",
                          R"(graph @first_of_a_chain(%x0: f32[8,6], %x1: f32[6]) {
    %0 = slice %x0 starts=[4,0] steps=[1,1] sizes=[1,6] : f32[1,6]
    %1 = min %0, %0 : f32[1,6]
    %2 = update %x0, %1 strides=[6,1] offset=24 : f32[8,6]
    %3 = update %2, %x1 strides=[1] offset=36 : f32[8,6]
    return %3
  })",
                          R"(graph @nothing(%x0: f32[8,6], %x1: f32[0,6]) {
    %0 = update %x0, %x1 strides=[6,1] offset=24 : f32[8,6]
    %1 = flip %0 dims=[0] : f32[8,6]
    return %1
  })"};
  for (const char* text : graphs) {
    const ir::Graph graph = ir::parse_graph(text);
    CAPTURE(graph.name);
    const std::vector<codegen::HostTensor> inputs = random_inputs(graph, 3);
    clear_caches();
    const std::vector<NodeRef> outputs = bind(graph, inputs);
    evaluate(std::span<const NodeRef>(outputs));
    CHECK(value_of(*outputs[0]).data == codegen::interpret(graph, inputs)[0].data);
  }
}
