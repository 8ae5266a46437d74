// Recurrent layers as operations of the graph: their text, what they refuse, and their values row by row.
#include "ir/graph/recurrence.h"

#include <doctest/doctest.h>

#include <string>

#include "ir/graph/graph_evaluate.h"

using namespace tenon::ir;

namespace {

NodeRef f64(Dims shape) { return make_input(DType::F64, shape); }

// A recurrent layer of T rows, batches of B and H columns.
struct Layer {
  RecurrentOperands operands;
  NodeRef x, bias;
  int64_t rows;

  Layer(RecurrentCell cell, bool backwards, int64_t rows, int64_t batch, int64_t hidden)
      : operands{cell, backwards, f64({batch, hidden}), {}, f64({gate_count(cell) * hidden, hidden})},
        x(f64({rows, batch, gate_count(cell) * hidden})),
        bias(f64({gate_count(cell) * hidden})),
        rows(rows) {
    if (cell == RecurrentCell::Lstm) operands.c = f64({batch, hidden});
  }
  NodeRef made(bool all = true) const { return recurrent(operands, x, bias, all); }
  NodeRef gradient(bool of_c = false) const {
    Dims shape{rows};
    for (int64_t size : operands.h->shape()) shape.push_back(size);
    return recurrent_gradient(operands, made(), f64(shape), of_c ? f64(shape) : NodeRef());
  }
};

constexpr RecurrentCell kCells[] = {RecurrentCell::Tanh, RecurrentCell::Relu, RecurrentCell::Lstm, RecurrentCell::Gru};

ElementBits bits(std::initializer_list<double> values) {
  ElementBits result;
  for (double value : values) result.push_back(constant(DType::F64, value).bits);
  return result;
}
std::vector<double> numbers(const ElementBits& bits) {
  std::vector<double> result;
  for (uint64_t value : bits) result.push_back(to_double({DType::F64, value}));
  return result;
}

}  // namespace

TEST_CASE("recurrent layers: their text is read again") {
  for (const RecurrentCell cell : kCells) {
    for (const bool backwards : {false, true}) {
      const Layer layer(cell, backwards, 3, 2, 4);
      std::vector<NodeRef> outputs{layer.made(true), layer.made(false), layer.gradient()};
      if (cell == RecurrentCell::Lstm) outputs.push_back(layer.gradient(true));
      const Graph graph = Graph::of(outputs);
      verify(graph);
      const std::string text = print(graph);
      CHECK(print(parse_graph(text)) == text);
    }
  }
}

TEST_CASE("recurrent layers: blocks have a row for each of the sequence") {
  const Layer lstm(RecurrentCell::Lstm, false, 3, 2, 4);
  for (const int64_t k : {0, 5, -1, -2}) CHECK(recurrent_block(lstm.made(), k)->shape() == Dims{3, 2, 4});
  CHECK(lstm.made(false)->shape() == Dims{2 * 3 * 2 * 4});
  CHECK(recurrent_block(lstm.gradient(), 0)->shape() == Dims{3, 2, 16});
  CHECK(recurrent_block(lstm.gradient(), -1)->shape() == Dims{3, 2, 4});
}

TEST_CASE("recurrent layers: operands that do not fit are refused") {
  const NodeRef x = f64({3, 2, 12}), h = f64({2, 4}), weight = f64({12, 4});
  struct Case {
    std::vector<NodeRef> operands;
    Dims ints;
    const char* what;
  };
  const Case cases[] = {
      {{x, h, weight}, {3, 0}, "takes a cell"},
      {{x, h, weight}, {4, 0, 0}, "takes a cell"},
      {{x, h}, {3, 0, 0}, "number of operands"},
      {{x, h, weight, f64({12}), h}, {3, 0, 0}, "number of operands"},
      {{x, f64({4}), weight}, {3, 0, 0}, "states [B, H]"},
      {{f64({0, 2, 12}), h, weight}, {3, 0, 0}, "T > 0"},
      {{x, h, f64({12, 5})}, {3, 0, 0}, "the weight is not"},
      {{f64({3, 1, 12}), h, weight}, {3, 0, 0}, "the sequence is not"},
      {{x, h, weight, f64({4})}, {3, 0, 0}, "the bias is not"},
      {{f64({3, 2, 16}), h, f64({1, 4}), f64({16, 4})}, {2, 0, 0}, "h and c differ"},
      {{x, h, make_input(DType::F32, Dims{12, 4})}, {3, 0, 0}, ""},
  };
  for (const Case& c : cases) CHECK_THROWS_WITH_AS(make_node(Op::Recurrent, c.operands, c.ints), doctest::Contains(c.what), IrError);
  CHECK_THROWS_WITH_AS(make_node(Op::RecurrentGrad, {{f64({7}), h, weight, f64({3, 2, 4}), h}}, Dims{3, 0, 0}),
                       doctest::Contains("all that was made"), IrError);
  CHECK_THROWS_WITH_AS(make_node(Op::RecurrentGrad, {{x, h, weight, f64({3, 2, 4}), f64({3, 2, 4}), h}}, Dims{3, 0, 1}),
                       doctest::Contains("only an LSTM"), IrError);
}

// h = relu(x + 2 h): 1, -9 and 1 on a state of 3 give 7, 5 and 11, from either end.
TEST_CASE("recurrent layers: each row takes up what the one before it gave") {
  const ElementBits x = bits({1, -9, 1}), h = bits({3}), weight = bits({2}), bias = bits({0}), g = bits({1, 1, 1}), zero = bits({0});
  const Layer forward(RecurrentCell::Relu, false, 3, 1, 1);
  const ElementBits* operands[] = {&x, &h, &weight, &bias};
  const ElementBits made = evaluate_node(*forward.made(), operands);
  CHECK(numbers(made) == std::vector<double>{7, 5, 11});
  const ElementBits* of_gradient[] = {&made, &h, &weight, &g, &zero};
  // Sums 7, 3, 1 from the last row on; then what h of the row before gets.
  CHECK(numbers(evaluate_node(*forward.gradient(), of_gradient)) == std::vector<double>{7, 3, 1, 14, 6, 2});
  const Layer backwards(RecurrentCell::Relu, true, 3, 1, 1);
  const ElementBits turned = evaluate_node(*backwards.made(), operands);
  CHECK(numbers(turned) == std::vector<double>{11, 5, 7});
  const ElementBits* of_turned[] = {&turned, &h, &weight, &g, &zero};
  CHECK(numbers(evaluate_node(*backwards.gradient(), of_turned)) == std::vector<double>{1, 3, 7, 2, 6, 14});
}
