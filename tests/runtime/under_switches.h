// A graph through evaluate() under every switch that must not change a bit.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "runtime/evaluation_support.h"
#include "support/random_graph.h"

namespace tenon::test {

struct Switch {
  const char* name;
  void (*change)(runtime::Options&);
};
inline constexpr Switch kSwitches[] = {
    {"as it is", [](runtime::Options&) {}},
    {"compiled before it runs", [](runtime::Options& o) { o.first_tier = 0; }},
    {"unfused", [](runtime::Options& o) { o.fusion = false; }},
    {"unsimplified", [](runtime::Options& o) { o.simplify = false; }},
    {"interpreter", [](runtime::Options& o) { o.backend = runtime::Options::Backend::Interpreter; }},
    {"one thread", [](runtime::Options& o) { o.threads = 1; }},
    {"every launch split",
     [](runtime::Options& o) {
       o.threads = 2;
       o.inline_us = 0;
     }},
    {"no donation", [](runtime::Options& o) { o.donation = false; }},
    {"made for many runs", [](runtime::Options& o) { o.often = 0; }},
    {"a plan for each value", [](runtime::Options& o) { o.batch = 1; }},
    {"128 bits", [](runtime::Options& o) { o.vector_bits = 128; }},
};

// Evaluates the graph under every switch; all must give what the graph interpreter gives.
inline void check(const std::string& text) {
  CAPTURE(text);
  ir::Graph graph = ir::parse_graph(text);
  std::vector<codegen::HostTensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {  // integers are indices of a dim of 5
    const ir::Node& node = *graph.inputs[i];
    codegen::HostTensor t = codegen::HostTensor::zeros(node.dtype(), node.shape());
    for (int64_t e = 0; e < t.numel(); ++e) {
      const auto mixed = static_cast<int64_t>((static_cast<uint64_t>(e) * 0x9E3779B97F4A7C15u) >> 40);
      t.set(e, node.dtype() == ir::DType::I64 ? ir::constant(ir::DType::I64, mixed % 5)
                                              : ir::constant(node.dtype(), static_cast<double>(mixed % 19) / 4 - 2));
    }
    inputs.push_back(std::move(t));
  }
  std::vector<codegen::HostTensor> expected = codegen::interpret(graph, inputs);
  for (const Switch& s : kSwitches) {
    CAPTURE(s.name);
    WithOptions options(s.change);
    std::vector<ir::NodeRef> outputs = test::bind(graph, inputs);
    runtime::evaluate(std::span<const ir::NodeRef>(outputs));
    for (size_t k = 0; k < outputs.size(); ++k) CHECK(same_elements(value_of(*outputs[k]), expected[k]));
  }
}

}  // namespace tenon::test
