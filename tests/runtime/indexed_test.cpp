// Updates, indexed access, scans and sorting through evaluate(), against the graph interpreter: alone, between
// other operations, through views, and under every switch.
#include <doctest/doctest.h>

#include "runtime/evaluation_support.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using codegen::HostTensor;

namespace {

struct Switch {
  const char* name;
  void (*change)(Options&);
};
constexpr Switch kSwitches[] = {
    {"as it is", [](Options&) {}},
    {"unfused", [](Options& o) { o.fusion = false; }},
    {"unsimplified", [](Options& o) { o.simplify = false; }},
    {"interpreter", [](Options& o) { o.backend = Options::Backend::Interpreter; }},
    {"one thread", [](Options& o) { o.threads = 1; }},
    {"every launch split",
     [](Options& o) {
       o.threads = 2;
       o.inline_us = 0;
     }},
    {"no donation", [](Options& o) { o.donation = false; }},
    {"128 bits", [](Options& o) { o.vector_bits = 128; }},
};

// Evaluates the graph under every switch; all must give what the graph interpreter gives.
void check(const std::string& text) {
  CAPTURE(text);
  ir::Graph graph = ir::parse_graph(text);
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {  // integers are indices of a dim of 5
    const ir::Node& node = *graph.inputs[i];
    HostTensor t = HostTensor::zeros(node.dtype(), node.shape());
    for (int64_t e = 0; e < t.numel(); ++e) {
      const auto mixed = static_cast<int64_t>((static_cast<uint64_t>(e) * 0x9E3779B97F4A7C15u) >> 40);
      t.set(e, node.dtype() == ir::DType::I64 ? ir::constant(ir::DType::I64, mixed % 5)
                                              : ir::constant(node.dtype(), static_cast<double>(mixed % 19) / 4 - 2));
    }
    inputs.push_back(std::move(t));
  }
  std::vector<HostTensor> expected = codegen::interpret(graph, inputs);
  for (const Switch& s : kSwitches) {
    CAPTURE(s.name);
    WithOptions options(s.change);
    std::vector<ir::NodeRef> outputs = test::bind(graph, inputs);
    evaluate(std::span<const ir::NodeRef>(outputs));
    for (size_t k = 0; k < outputs.size(); ++k) CHECK(same_elements(value_of(*outputs[k]), expected[k]));
  }
}

}  // namespace

TEST_CASE("each indexed operation, alone and between others") {
  check(R"(graph @g(%x: f32[4,5], %y: f32[2,3]) {
    %0 = neg %x : f32[4,5]
    %1 = exp %y : f32[2,3]
    %2 = update %0, %1 strides=[5,1] offset=6 : f32[4,5]
    %3 = add %2, %0 : f32[4,5]
    return %3
  })");
  for (const char* op : {"scatter.set", "scatter.add", "scatter.mul", "scatter.max", "scatter.min"}) {
    check(std::string("graph @g(%x: f32[5,3], %i: i64[4,3], %v: f32[4,3]) {\n  %0 = ") + op +
          " %x, %i, %v dim=0 : f32[5,3]\n  %1 = mul %0, %0 : f32[5,3]\n  return %0, %1\n}");
    check(std::string("graph @g(%x: f32[3,5], %i: i64[3,4], %v: f32[3,4]) {\n  %n = neg %x : f32[3,5]\n  %0 = ") + op +
          " %n, %i, %v dim=1 : f32[3,5]\n  %1 = mul %0, %n : f32[3,5]\n  return %1\n}");
  }
  check(R"(graph @g(%x: f32[5,3], %i: i64[4,3]) {
    %0 = neg %x : f32[5,3]
    %1 = gather %0, %i dim=0 : f32[4,3]
    %2 = exp %1 : f32[4,3]
    return %2
  })");
}

TEST_CASE("scans along the last dim, another one, and of one line") {
  for (const char* op : {"scan.sum", "scan.prod", "scan.max", "scan.min"}) {
    for (const char* type : {"f32", "f16", "i32"}) {
      for (const char* shape : {"[37]", "[6,70]", "[6,1]"}) {
        for (int dim = 0; dim < (shape[2] == ',' ? 2 : 1); ++dim) {
          const std::string t = std::string(type) + shape;
          check("graph @g(%x: " + t + ") {\n  %0 = neg %x : " + t + "\n  %1 = " + op + " %0 dim=" +
                std::to_string(dim) + " : " + t + "\n  %2 = mul %1, %x : " + t + "\n  return %1, %2\n}");
        }
      }
    }
  }
}

TEST_CASE("sorting, through views and constants") {
  for (const char* attributes : {"dim=0 descending=0", "dim=1 descending=0", "dim=0 descending=1", "dim=1 descending=1"}) {
    check(std::string(R"(graph @g(%x: f32[7,40]) {
    %0 = permute %x [1,0] : f32[40,7]
    %1 = sort %0 )") + attributes + R"( : i64[40,7]
    %2 = neg %x : f32[7,40]
    %3 = reshape %2 [40,7] : f32[40,7]
    %4 = sort %3 )" + attributes + R"( : i64[40,7]
    %5 = add %1, %4 : i64[40,7]
    return %1, %5
  })");
  }
}

TEST_CASE("a routine reads what the kernel that reads its result reads too") {
  check(R"(graph @g(%x: f32[5,8]) {
    %0 = neg %x : f32[5,8]
    %1 = sort %0 dim=1 descending=0 : i64[5,8]
    %2 = cast %1 : f32[5,8]
    %3 = add %0, %2 : f32[5,8]
    %4 = sort %3 dim=0 descending=0 : i64[5,8]
    %5 = add %4, %1 : i64[5,8]
    return %5, %0
  })");
}
