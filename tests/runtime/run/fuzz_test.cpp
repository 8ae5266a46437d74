// Differential fuzzing of the whole pipeline: random graphs through evaluate() against the graph interpreter,
// and against themselves under every switch that must not change a bit. A failing graph is reduced and
// printed.
//
//   TENON_FUZZ_COUNT=5000 TENON_FUZZ_SEED=1 test_runtime -tc='fuzz*'
#include <doctest/doctest.h>

#include "runtime/evaluation_support.h"
#include "support/fuzz_cases.h"
#include "support/random_graph.h"

using namespace tenon;
using namespace tenon::runtime;
using namespace tenon::test;
using codegen::HostTensor;

namespace {

// The values of the outputs under the current options.
std::vector<HostTensor> run(const ir::Graph& graph, const std::vector<HostTensor>& inputs) {
  std::vector<ir::NodeRef> outputs = bind(graph, inputs);
  evaluate(std::span<const ir::NodeRef>(outputs));
  std::vector<HostTensor> values;
  for (const ir::NodeRef& output : outputs) values.push_back(value_of(*output));
  return values;
}

bool same(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same_elements(a[i], b[i])) return false;
  }
  return a.size() == b.size();
}

// Where two results differ first.
std::string difference(const std::vector<HostTensor>& got, const std::vector<HostTensor>& expected) {
  for (size_t k = 0; k < got.size(); ++k) {
    for (int64_t i = 0; i < got[k].numel(); ++i) {
      HostTensor a = HostTensor::zeros(got[k].dtype, std::vector<int64_t>{1}), b = a;
      a.set(0, got[k].get(i));
      b.set(0, expected[k].get(i));
      if (same_elements(a, b)) continue;
      return "output " + std::to_string(k) + " element " + std::to_string(i) + ": " + ir::print(got[k].get(i)) + " instead of " +
             ir::print(expected[k].get(i));
    }
  }
  return "no difference";
}

using Compare = std::function<std::string(const ir::Graph&)>;  // empty if all is well, else what is not

// Runs `compare`; an exception is a failure too, so that it reduces like one.
std::string outcome(const Compare& compare, const ir::Graph& graph) {
  try {
    return compare(graph);
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

void check_graph(const ir::Graph& graph, uint64_t seed, const Compare& compare) {
  std::string problem = outcome(compare, graph);
  if (problem.empty()) return;
  // A smaller graph must fail in the same way: an exception is no wrong value.
  auto kind = [](const std::string& text) { return text.starts_with("exception") ? 'e' : text.empty() ? 'o' : 'w'; };
  ir::Graph small = reduce_failing(graph, [&](const ir::Graph& g) { return kind(outcome(compare, g)) == kind(problem); });
  std::string report = "seed " + std::to_string(seed) + ": " + problem + "\nreduced: " + outcome(compare, small) + "\n" + ir::print(small);
  FAIL_CHECK(report);
}

struct Variant {
  const char* name;
  void (*change)(Options&);
};
constexpr Variant kVariants[] = {
    {"unfused", [](Options& o) { o.fusion = false; }},
    {"unsimplified", [](Options& o) { o.simplify = false; }},
    {"two threads",
     [](Options& o) {
       o.threads = 2;
       o.inline_us = 0;  // every phase with two iterations is split
     }},
    {"interpreter", [](Options& o) { o.backend = Options::Backend::Interpreter; }},
    {"no donation", [](Options& o) { o.donation = false; }},
    {"a plan for each value", [](Options& o) { o.batch = 1; }},
    {"128 bits", [](Options& o) { o.vector_bits = 128; }},
    {"256 bits", [](Options& o) { o.vector_bits = 256; }},
    {"512 bits", [](Options& o) { o.vector_bits = 512; }},
};

std::string compare_variants(const ir::Graph& graph, uint64_t seed) {
  std::vector<HostTensor> inputs = random_inputs(graph, seed);
  auto one_thread = [](Options& o) { o.threads = 1; };
  std::vector<HostTensor> expected = [&] {
    WithOptions options(one_thread);
    return run(graph, inputs);
  }();
  for (const Variant& v : kVariants) {
    WithOptions options([&](Options& o) {
      one_thread(o);
      v.change(o);
    });
    std::vector<HostTensor> got = run(graph, inputs);
    if (!same(got, expected)) return std::string(v.name) + ": " + difference(got, expected);
  }
  return {};
}

std::string compare_with_interpreter(const ir::Graph& graph, uint64_t seed) {
  std::vector<HostTensor> inputs = random_inputs(graph, seed);
  const std::vector<HostTensor> expected = codegen::interpret(graph, inputs);
  for (const int tier : {0, 2}) {
    WithOptions options([&](Options& o) { o.first_tier = tier; });
    clear_caches();
    const std::vector<HostTensor> got = run(graph, inputs);
    if (!same(got, expected)) return (tier == 0 ? "compiled: " : "bytecode: ") + difference(got, expected);
  }
  return {};
}

}  // namespace

TEST_CASE("fuzz: bytecode and compiled code give the interpreter's bits") {
  uint64_t first = first_seed();
  int64_t count = fuzz_count(60);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t seed = first + static_cast<uint64_t>(i);
    RandomGraphOptions shape;
    shape.operations = 5 + static_cast<int>(seed % 30);
    shape.folding = seed % 2 == 0 ? ir::Folding::On : ir::Folding::Off;
    check_graph(random_graph(seed, shape), seed, [&](const ir::Graph& g) { return compare_with_interpreter(g, seed); });
  }
  MESSAGE(count << " graphs against the interpreter, seeds from " << first);
}

TEST_CASE("fuzz: no switch changes a bit") {
  uint64_t first = first_seed() + 1'000'000;
  int64_t count = std::max<int64_t>(1, fuzz_count(60) / 10);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t seed = first + static_cast<uint64_t>(i);
    RandomGraphOptions shape;
    shape.operations = 5 + static_cast<int>(seed % 30);
    shape.transcendental = seed % 2 == 0;
    check_graph(random_graph(seed, shape), seed, [&](const ir::Graph& g) { return compare_variants(g, seed); });
  }
  MESSAGE(count << " graphs under " << std::size(kVariants) << " switches, seeds from " << first);
}
