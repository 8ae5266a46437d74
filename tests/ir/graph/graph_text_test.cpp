// The graph's text: every op round-trips, errors name their place, and random graphs print, parse and print
// the same.
#include <doctest/doctest.h>

#include <string>

#include "ir/graph/graph.h"
#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon::ir;
using tenon::test::fuzz_cases;

namespace {

const char* const kEverything =
    R"(graph @every.thing_1(%x: f32[4,6], %mask: bool[4,6], %far: f16[3]@1, %w: i32[]) {
  %0 = const -0.0 : f32[4,6]
  %1 = const nan(0xffc00001) : f32[]
  %2 = const true : bool[4,6]
  %row = iota dim=1 : i64[4,6]
  %3 = cast %x : f64[4,6]
  %4 = bitcast %x : i32[4,6]
  %5 = where %mask, %x, %0 : f32[4,6]
  %6 = reduce.sum %5 dims=[0,1] : f32[1,1]
  %7 = reduce.argmax %x dims=[1] : i64[4,1]
  %8 = reshape %x [2,12] : f32[2,12]
  %9 = permute %x [1,0] : f32[6,4]
  %10 = expand %6 [4,6] : f32[4,6]
  %11 = slice %x starts=[1,0] steps=[1,2] sizes=[3,3] : f32[3,3]
  %12 = flip %x dims=[0,1] : f32[4,6]
  %13 = pad %x, %1 lo=[0,1] hi=[2,0] : f32[6,7]
  %14 = cat %x, %12 dim=1 : f32[4,12]
  %15 = dot %x, %9 : f32[4,4]
  %16 = exp %far : f16[3]@1
  %17 = copy %16 device=0 : f16[3]
  %18 = copy %x device=64 : f32[4,6]@64
  %19 = reshape %w [1,1] : i32[1,1]
  %20 = reshape %19 [] : i32[]
  return %16, %15, %20, %mask
}
)";

std::string error_of(const std::string& text) {
  try {
    parse_graph(text, Folding::Off, "a.ir");
  } catch (const IrError& error) {
    return error.what();
  }
  return "no error";
}

std::string error_in_line(const std::string& line) {
  return error_of("graph @g(%x: f32[2,3], %i: i32[2,3]) {\n  " + line + "\n  return %x\n}\n");
}

}  // namespace

TEST_CASE("a text with every kind of op prints as it was written, dead nodes included") {
  const Graph graph = parse_graph(kEverything);
  CHECK_NOTHROW(verify(graph));
  CHECK(print(graph) == kEverything);
}

TEST_CASE("comments and layout are free; numbers are given anew; equal lines stay apart unless asked") {
  const std::string text =
      "// a comment\ngraph @g ( %7 : f32 [ 2 ] ) { %9=neg %7:f32[2] // another\n%5 = neg %7 : f32[2]\n"
      "%a = add %9 , %5 : f32[2] return %a,%a }";
  CHECK(print(parse_graph(text)) ==
        "graph @g(%x0: f32[2]) {\n  %0 = neg %x0 : f32[2]\n  %1 = neg %x0 : f32[2]\n  %a = add %0, %1 : f32[2]\n"
        "  return %a, %a\n}\n");
  CHECK(print(parse_graph(text, Folding::Off)) ==
        "graph @g(%x0: f32[2]) {\n  %0 = neg %x0 : f32[2]\n  %a = add %0, %0 : f32[2]\n  return %a, %a\n}\n");
}

TEST_CASE("names that programs give may clash; the printed ones do not") {
  const NodeRef x = make_input(DType::F32, Dims{2}), y = make_input(DType::F32, Dims{2});
  const NodeRef out[] = {binary(Op::Sub, x, y), unary(Op::Exp, x)};
  Graph graph = Graph::of(out);
  graph.names = {"x0", "", "a b", "x0"};
  const std::string text = print(graph);
  CHECK(text ==
        "graph @graph(%x0: f32[2], %x1: f32[2]) {\n  %0 = sub %x0, %x1 : f32[2]\n  %1 = exp %x0 : f32[2]\n"
        "  return %0, %1\n}\n");
  CHECK(print(parse_graph(text)) == text);
}

TEST_CASE("errors name file, line and column") {
  CHECK(error_of("graph g") == "a.ir:1:7: expected '@'");
  CHECK(error_of("") == "a.ir:1:1: expected 'graph'");
  CHECK(error_of("graph @g() { return } x") == "a.ir:1:23: text after the end of the graph");
  CHECK(error_of("graph @g(%x: f33[2]) {}") == "a.ir:1:17: unknown element type");
  CHECK(error_of("graph @g(%x: f32[2], %x: f32[2]) {}") == "a.ir:1:22: %x is defined twice");
  CHECK(error_of("graph @g(%x: f32[-2]) { return }") == "a.ir:1:14: input: a size is negative");
  CHECK(error_of("graph @g(%x: f32[2]@200) { return }") == "a.ir:1:24: a device number is 0 to 127");
  CHECK(error_in_line("%y = foo %x : f32[2,3]") == "a.ir:2:8: unknown operation foo");
  CHECK(error_in_line("%y = neg %z : f32[2,3]") == "a.ir:2:12: unknown name %z");
  CHECK(error_in_line("%y = neg %x : f32[2,4]") == "a.ir:2:17: the type is f32[2,3]");
  CHECK(error_in_line("%y = add %x, %i : f32[2,3]") == "a.ir:2:8: add: operands of different types, f32 and i32");
  CHECK(error_in_line("%y = add %x : f32[2,3]") == "a.ir:2:8: add: takes 2 operands, got 1");
  CHECK(error_in_line("%y = load %x : f32[2,3]") == "a.ir:2:8: load: not an op on tensors");
  CHECK(error_in_line("%y = input : f32[2,3]") == "a.ir:2:8: unknown operation input");
  CHECK(error_in_line("%y = const 1.5 : i32[2]") == "a.ir:2:8: '1.5' is not a value of i32");
  CHECK(error_in_line("%y = iota dim=2 : i64[2]") == "a.ir:2:8: iota: the dim is out of range");
  CHECK(error_in_line("%y = iota dim=0 : f32[2]") == "a.ir:2:21: the type is i64[2]");
  CHECK(error_in_line("%y = reduce.sum %x dims=[5] : f32[2,1]") == "a.ir:2:8: reduce.sum: a dim is out of range");
  CHECK(error_in_line("%y = slice %x starts=[0,0] steps=[1] sizes=[2,3] : f32[2,3]") == "a.ir:2:39: lists of different length");
  CHECK(error_in_line("%y = reshape %x [99999999999999999999] : f32[2,3]") == "a.ir:2:20: expected an integer");
  CHECK(error_in_line("%y = copy %x device=0 : f32[2,3]") == "a.ir:2:8: copy: the operand is on that device");
  CHECK(error_in_line("%y = copy %x device=128 : f32[2,3]") == "a.ir:2:8: copy: takes a device, 0 to 127");
  CHECK(error_in_line("%y = copy %x device=1 : f32[2,3]") == "a.ir:2:27: the type is f32[2,3]@1");
  CHECK(error_in_line("%y = neg %x") == "a.ir:3:3: expected ':'");
}

TEST_CASE("no prefix of a text and no damaged byte crashes the parser") {
  const std::string text = kEverything;
  for (size_t length = 0; length + 2 < text.size(); ++length) CHECK_THROWS_AS(parse_graph(text.substr(0, length)), IrError);
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'%', '9', ' ', '[', '\0', '-'}) {
      std::string damaged = text;
      damaged[i] = c;
      try {
        verify(parse_graph(damaged));
      } catch (const IrError&) {
      }
    }
  }
}

TEST_CASE("random graphs print, parse and print the same") {
  for (int seed = 0; seed < fuzz_cases(600); ++seed) {
    tenon::test::RandomGraphOptions options;
    options.transcendental = seed % 2;
    options.folding = seed % 3 ? Folding::On : Folding::Off;
    const std::string text = print(tenon::test::random_graph(static_cast<uint64_t>(seed), options));
    const Graph parsed = parse_graph(text);
    CHECK_NOTHROW(verify(parsed));
    if (print(parsed) != text) FAIL_CHECK("seed " << seed << "\n" << text << print(parsed));
  }
}

TEST_CASE("the verifier names what is wrong") {
  Graph graph = parse_graph("graph @g(%x: f32[2]) {\n %a = neg %x : f32[2]\n %b = exp %a : f32[2]\n return %b }");
  const auto complaint = [](const Graph& g) -> std::string {
    try {
      verify(g);
    } catch (const IrError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(complaint(graph) == "");
  Graph broken = graph;
  std::swap(broken.nodes[1], broken.nodes[2]);
  CHECK(complaint(broken) == "graph @g: node 1 %a: an operand is not defined before it");
  broken = graph;
  broken.names.pop_back();
  CHECK(complaint(broken) == "graph @g: the names are not parallel to the nodes");
  broken = graph;
  broken.inputs.clear();
  CHECK(complaint(broken) == "graph @g: node 0 %x: is an input but no parameter");
  broken = graph;
  broken.outputs.push_back(make_iota(Dims{3}, 0));
  CHECK(complaint(broken) == "graph @g: an output is not among the nodes");
  broken = graph;
  broken.nodes.push_back(broken.nodes[1]);
  broken.names.push_back("");
  CHECK(complaint(broken) == "graph @g: node 3: stands twice in the list of nodes");
}
