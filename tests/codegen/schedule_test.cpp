// Every CPU schedule against the kernel interpreter, bit for bit, at every vector width; and every kernel and
// loop tree met on the way prints, parses and prints the same. Graphs are written as text here; random ones
// follow.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <tuple>

#include "codegen/bytecode/handlers.h"
#include "codegen/interpreter/interpreter.h"
#include "codegen/llvm/jit.h"
#include "ir/graph/graph.h"
#include "passes/fusion/fusion.h"
#include "passes/passes.h"
#include "passes/schedule/schedule.h"
#include "support/fuzz_cases.h"
#include "support/launch.h"
#include "support/random_graph.h"

namespace tenon {
namespace {

using codegen::HostTensor;

HostTensor random_tensor(std::mt19937& rng, ir::DType dtype, std::span<const int64_t> shape) {
  HostTensor t = HostTensor::zeros(dtype, shape);
  std::uniform_real_distribution<double> real(-3, 3);
  for (int64_t i = 0; i < t.numel(); ++i) {
    t.set(i, ir::is_float(dtype) ? ir::constant(dtype, real(rng)) : ir::constant(dtype, static_cast<int64_t>(rng() % 7) - 3));
  }
  return t;
}

struct Values {
  std::vector<std::pair<const ir::Node*, HostTensor>> list;
  HostTensor& of(const ir::Node* node) {
    for (auto& [n, t] : list) {
      if (n == node) return t;
    }
    FAIL("a kernel reads a node that no kernel before it computes");
    return list.front().second;
  }
};

// What a routine of the library computes is for its own tests; here others only read it.
void compute_call(const passes::FusedKernel& fused, Values& values) {
  std::vector<HostTensor> results;
  for (size_t k = 0; k < fused.outputs.size(); ++k) {
    const ir::Node& node = *fused.outputs[k];
    results.push_back(k < fused.bases.size() ? values.of(fused.bases[k]) : HostTensor::zeros(node.dtype(), node.shape()));
    results.back().shape = node.shape();
  }
  std::vector<void*> buffers;
  std::vector<uint64_t> scalars;
  for (const ir::Node* node : fused.inputs) buffers.push_back(values.of(node).data.data());
  for (const ir::Node* node : fused.scalars) scalars.push_back(node->bits());
  for (HostTensor& result : results) buffers.push_back(result.data.data());
  codegen::interpret(fused.work, buffers.data(), scalars.data());
  for (size_t k = 0; k < results.size(); ++k) values.list.emplace_back(fused.outputs[k], std::move(results[k]));
}

// Runs one fused kernel by interpreter and by the schedules of every target, in slow builds of one; the results must be the same bits.
void check_kernel(const passes::FusedKernel& fused, Values& values) {
  if (fused.call()) return compute_call(fused, values);
  ir::Kernel kernel = passes::run_kernel_passes(fused.kernel());
  std::string text = ir::print(kernel);
  CHECK(ir::print(ir::parse_kernel(text)) == text);
  std::vector<void*> buffers;
  std::vector<uint64_t> scalars;
  for (const ir::Node* node : fused.inputs) buffers.push_back(values.of(node).data.data());
  for (const ir::Node* node : fused.scalars) scalars.push_back(node->bits());
  std::vector<HostTensor> expected;
  for (const ir::Node* node : fused.outputs) expected.push_back(HostTensor::zeros(node->dtype(), node->shape()));
  size_t inputs = buffers.size();
  for (HostTensor& t : expected) buffers.push_back(t.data.data());
  codegen::interpret(kernel, buffers.data(), scalars.data());
  using Code = decltype(codegen::llvm_backend::load_object({}, 0));
  static std::map<std::string, Code> compiled;  // a kernel is often the same fused and not, or at two widths
  // With a small cache the panels of products go chain by chain of k, with one a bit larger several tiles of columns at once.
  constexpr int64_t kSmall = 4 << 10, kMedium = 128 << 10, kLarge = 1 << 20;
  constexpr std::tuple<int, bool, int64_t> kTargets[] = {{256, true, kLarge},  {128, false, kSmall}, {256, false, kLarge},
                                                         {512, false, kLarge}, {512, true, kSmall},  {512, false, kMedium}};
  const auto targets = static_cast<size_t>(test::fuzz_cases(std::size(kTargets)));
  for (const auto& [bits, often, cache] : std::span(kTargets, targets)) {
    passes::Lowered lowered = passes::lower(kernel, ir::CpuTarget{.vector_bits = bits, .l2_bytes = cache, .often = often});
    std::string tree = ir::print(lowered.tree);
    INFO(tree);
    ir::verify(lowered.tree);
    CHECK(ir::print(ir::parse_looptree(tree)) == tree);
    if (!codegen::llvm_backend::available() || bits > codegen::llvm_backend::host_vector_bits()) continue;
    auto& code = compiled[tree];
    if (!code)
      code = codegen::llvm_backend::load_object(codegen::llvm_backend::compile_object(lowered.tree),
                                                static_cast<int>(lowered.tree.phases.size()));
    struct Way {
      int64_t piece;
      const codegen::bytecode::Handlers* handlers;  // of bytecode; null: compiled
    };
    std::vector<Way> ways{{1, nullptr}, {1000000, nullptr}};
    for (const auto* handlers : codegen::bytecode::all_handlers()) ways.push_back({1000000, handlers});
    for (const auto& [piece, handlers] : ways) {
      std::vector<HostTensor> got;
      for (const ir::Node* node : fused.outputs) got.push_back(HostTensor::zeros(node->dtype(), node->shape()));
      for (size_t i = 0; i < got.size(); ++i) buffers[inputs + i] = got[i].data.data();
      if (handlers) {
        const auto bytecode = codegen::Bytecode::of(lowered.tree, *handlers);
        REQUIRE(bytecode);
        test::launch(lowered, *bytecode, buffers, scalars, piece);
      } else {
        test::launch(lowered, *code, buffers, scalars, piece);
      }
      for (size_t i = 0; i < got.size(); ++i) {
        INFO(text << "\nbits " << bits << (handlers ? " bytecode" : " compiled") << " piece " << piece << " schedule " << lowered.schedule
                  << " output " << i);
        if (got[i].data == expected[i].data) continue;
        for (int64_t e = 0; e < got[i].numel(); ++e) {
          ir::Constant a = got[i].get(e), b = expected[i].get(e);
          bool nans = ir::is_float(a.dtype) && std::isnan(ir::to_double(a)) && std::isnan(ir::to_double(b));
          INFO("element " << e << ": " << ir::print(a) << ", interpreter " << ir::print(b));
          if (!nans) REQUIRE(a.bits == b.bits);
        }
      }
    }
  }
  for (size_t i = 0; i < expected.size(); ++i) values.list.emplace_back(fused.outputs[i], std::move(expected[i]));
}

void check(const std::string& text) {
  ir::Graph graph = ir::parse_graph(text);
  std::mt19937 rng(7);
  for (bool enabled : {true, false}) {
    Values values;
    for (const ir::NodeRef& input : graph.inputs) values.list.emplace_back(input.get(), random_tensor(rng, input->dtype(), input->shape()));
    passes::FusionOptions options;
    options.enabled = enabled;
    for (const passes::FusedKernel& fused : passes::fuse(graph.outputs, options).kernels) check_kernel(fused, values);
  }
}

TEST_CASE("a reduction, scan or product whose result nobody needs leaves its axis behind") {
  // Which element of one is gathered does not matter.
  const std::string gather =
      "  %z = const 0 : i64[8,1,31]\n  %p = min %n, %z : i64[8,1,31]\n"
      "  %g = gather %x, %p dim=1 : f32[8,1,31]\n  %r = neg %g : f32[8,1,31]\n  return %r\n}\n";
  const std::string head = "graph @g(%x: f32[8,1,31], %y: i64[8,1,31]) {\n";
  check(head + "  %0 = reduce.min %y dims=[0,2] : i64[1,1,1]\n  %n = expand %0 [8,1,31] : i64[8,1,31]\n" + gather);
  check(head + "  %0 = reduce.min %y dims=[0] : i64[1,1,31]\n  %n = expand %0 [8,1,31] : i64[8,1,31]\n" + gather);
  check(head + "  %n = scan.sum %y dim=2 : i64[8,1,31]\n" + gather);
  check("graph @g(%x: f32[8,1,31], %y: i64[8,1,5], %w: i64[8,5,31]) {\n  %n = dot %y, %w : i64[8,1,31]\n" + gather);
}

TEST_CASE("scans: along lines longer than a chunk, across them, of every width, beside each other") {
  const char* types[] = {"f32", "i64", "f16", "u8"};
  size_t next = 0;
  for (const char* shape : {"[1]", "[2500]", "[3,1100]", "[70,31]", "[4,33,17]", "[300,2]", "[64,65]", "[2,4500]", "[130,129]"}) {
    const std::string s = shape;
    const auto rank = 1 + std::count(s.begin(), s.end(), ',');
    for (int64_t dim = 0; dim < rank; ++dim) {
      const std::string d = " dim=" + std::to_string(dim) + " : ";
      const std::string t = types[next++ % 4] + s;
      check("graph @g(%x: " + t + ", %y: " + t + ") {\n  %0 = mul %x, %y : " + t + "\n  %1 = scan.sum %0" + d + t + "\n  %2 = scan.max %0" +
            d + t + "\n  %3 = mul %1, %2 : " + t + "\n  %4 = scan.prod %3" + d + t + "\n  %5 = mul %4, %x : " + t +
            "\n  return %1, %5\n}\n");
    }
  }
  for (const char* shape : {"[265000]", "[9000,5]", "[2,12500]"}) {  // several blocks, and spans
    const std::string t = "f32" + std::string(shape), d = " dim=0 : " + t;
    check("graph @g(%x: " + t + ") {\n  %1 = scan.sum %x" + d + "\n  %2 = scan.sum %1" + d + "\n  %3 = sub %2, %x : " + t +
          "\n  return %1, %3\n}\n");
    check("graph @g(%x: " + t + ") {\n  %1 = scan.sum %x" + d + "\n  return %1\n}\n");
  }
  check("graph @g(%x: bool[40,3]) {\n  %0 = scan.min %x dim=0 : bool[40,3]\n  return %0\n}\n");
  check(
      "graph @g(%x: f32[6,1]) {\n  %0 = expand %x [6,50] : f32[6,50]\n  %1 = scan.sum %0 dim=1 : f32[6,50]\n  "
      "%2 = add %1, %0 : f32[6,50]\n  return %2\n}\n");
}

TEST_CASE("pointwise: contiguous, broadcast, strided, guarded, tiny") {
  check(
      "graph @g(%x: f32[67,33], %b: f32[33]) {\n  %1 = reshape %b [1,33] : f32[1,33]\n  %2 = expand %1 "
      "[67,33] : f32[67,33]\n"
      "  %3 = add %x, %2 : f32[67,33]\n  %4 = max %3, %x : f32[67,33]\n  return %4\n}\n");
  check(
      "graph @g(%x: f32[9000]) {\n  %1 = mul %x, %x : f32[9000]\n  %2 = sqrt %1 : f32[9000]\n  return "
      "%2\n}\n");
  check("graph @g(%x: f32[]) {\n  %1 = neg %x : f32[]\n  return %1\n}\n");
  check("graph @g(%x: f64[3]) {\n  %1 = neg %x : f64[3]\n  return %1\n}\n");
  check(
      "graph @g(%x: f32[40,50], %y: f32[50,40]) {\n  %1 = permute %y [1,0] : f32[40,50]\n  %2 = add %x, %1 : "
      "f32[40,50]\n  return %2\n}\n");
  check(
      "graph @g(%x: i32[5,6]) {\n  %v = const 9 : i32[]\n  %1 = pad %x, %v lo=[1,0] hi=[0,2] : i32[6,8]\n  "
      "return %1\n}\n");
  check(
      "graph @g(%x: f32[5,6], %y: f32[5,3]) {\n  %1 = cat %x, %y dim=1 : f32[5,9]\n  %2 = flip %1 dims=[0,1] "
      ": f32[5,9]\n  return %2\n}\n");
  check(
      "graph @g(%x: f32[20,30]) {\n  %1 = slice %x starts=[1,2] steps=[3,2] sizes=[6,14] : f32[6,14]\n  %2 = "
      "neg %1 : f32[6,14]\n  return %2\n}\n");
  check(
      "graph @g(%x: f16[100], %y: bf16[100]) {\n  %1 = mul %x, %x : f16[100]\n  %2 = cast %1 : f32[100]\n  "
      "%3 = cast %y : f32[100]\n"
      "  %4 = add %2, %3 : f32[100]\n  %5 = cast %4 : bf16[100]\n  return %5\n}\n");
  check(
      "graph @g(%x: i64[100]) {\n  %i = iota dim=0 : i64[100]\n  %1 = mul %x, %i : i64[100]\n  %2 = lt %1, "
      "%i : bool[100]\n  return %1, %2\n}\n");
  check(
      "graph @g(%x: f32[12,10]) {\n  %1 = permute %x [1,0] : f32[10,12]\n  %2 = reshape %1 [8,15] : "
      "f32[8,15]\n  %3 = neg %2 : f32[8,15]\n  return %3\n}\n");
}

std::string reduce_text(const std::string& op, const std::string& dtype, const std::string& shape, const std::string& dims,
                        const std::string& out, const std::string& out_dtype) {
  return "graph @g(%x: " + dtype + "[" + shape + "]) {\n  %1 = " + op + " %x dims=[" + dims + "] : " + out_dtype + "[" + out +
         "]\n  return %1\n}\n";
}

TEST_CASE("reductions of every kind, over rows, columns, both, and long rows") {
  for (const char* op : {"reduce.sum", "reduce.prod", "reduce.max", "reduce.min", "reduce.argmax", "reduce.argmin"}) {
    bool arg = std::string(op).find("arg") != std::string::npos;
    for (const char* dtype : {"f32", "f64", "i32", "i64", "u8", "f16"}) {
      std::string out = arg ? "i64" : dtype;
      check(reduce_text(op, dtype, "5,70", "1", "5,1", out));
      check(reduce_text(op, dtype, "37,20", "0", "1,20", out));
    }
    std::string out = arg ? "i64" : "f32";
    for (const char* n : {"1", "3", "16", "63", "64", "65", "1000", "1025", "1300", "3000", "4095"})
      check(reduce_text(op, "f32", "2," + std::string(n), "1", "2,1", out));
    for (const char* n : {"15", "16", "17", "18", "19", "250", "259"})
      check(reduce_text(op, "f32", std::string(n) + ",40", "0", "1,40", out));
    for (const char* n : {"16", "17"}) check(reduce_text(op, "f32", std::string(n) + ",3,60", "0,2", "1,3,1", out));
    check(reduce_text(op, "f32", "5,3,700", "0,2", "1,3,1", out));
    check(reduce_text(op, "f32", "3,5,7", "0,2", "1,5,1", out));
    check(reduce_text(op, "f32", "30,4,50", "0,2", "1,4,1", out));
    check(reduce_text(op, "f32", "20,9000", "1", "20,1", out));
    check(reduce_text(op, "f32", "70000", "0", "1", out));
    check(reduce_text(op, "f32", "700,3,200", "0,2", "1,3,1", out));
    check(reduce_text(op, "f32", "1000,5", "0", "1,5", out));
    check(reduce_text(op, "f32", "1000,3,2", "0", "1,3,2", out));
    // Tall columns, split over blocks: fewer than a vector, more, planes; blocks side by side and those left over.
    check(reduce_text(op, "f32", "6000,3", "0", "1,3", out));
    check(reduce_text(op, "f32", "5120,20", "0", "1,20", out));
    check(reduce_text(op, "f16", "4100,33", "0", "1,33", arg ? "i64" : "f16"));
    check(reduce_text(op, "f32", "4100,26", "0", "1,26", out));
    check(reduce_text(op, "f64", "2,4100,13", "1", "2,1,13", out == "f32" ? "f64" : out));
    check(reduce_text(op, "f32", "3,4400,2", "1", "3,1,2", out));
  }
  for (const char* op : {"reduce.any", "reduce.all"}) {
    check(reduce_text(op, "bool", "5,70", "1", "5,1", "bool"));
    check(reduce_text(op, "bool", "70,5", "0", "1,5", "bool"));
  }
}

std::string softmax(const std::string& s, const std::string& m, const std::string& d) {
  return "graph @softmax(%x: f32[" + s + "]) {\n  %m = reduce.max %x dims=[" + d + "] : f32[" + m + "]\n  %1 = expand %m [" + s +
         "] : f32[" + s + "]\n  %2 = sub %x, %1 : f32[" + s + "]\n  %3 = exp %2 : f32[" + s + "]\n  %4 = reduce.sum %3 dims=[" + d +
         "] : f32[" + m + "]\n  %5 = expand %4 [" + s + "] : f32[" + s + "]\n  %6 = div %3, %5 : f32[" + s + "]\n  return %6\n}\n";
}

TEST_CASE("softmax by rows, by columns, over everything, split over blocks") {
  check(softmax("10,100", "10,1", "1"));
  check(softmax("100,10", "1,10", "0"));
  check(softmax("300,70", "1,70", "0"));
  check(softmax("4,5,6", "1,1,1", "0,1,2"));
  check(softmax("4,5,6", "1,5,1", "0,2"));
  check(softmax("2,5000", "2,1", "1"));
  check(softmax("2,80000", "2,1", "1"));
  check(softmax("4999,3", "1,3", "0"));
  check(softmax("5000,18", "1,18", "0"));
  check(softmax("2,4100,26", "2,1,26", "1"));
  check(softmax("3,300,40", "3,1,40", "1"));
  check(softmax("2,2,257,9", "2,2,1,9", "2"));
  check(softmax("7,1", "7,1", "1"));
}

TEST_CASE("rows of a few elements: reductions, what stands around them, several rows to a vector") {
  for (int n : {1, 2, 3, 7, 8, 16, 17}) {
    const std::string s = std::to_string(n);
    check(softmax("16," + s, "16,1", "1"));  // one vector of rows; some and a rest; a rest across dims
    check(softmax("70," + s, "70,1", "1"));
    check(reduce_text("reduce.argmax", "f32", "3,21," + s, "2", "3,21,1", "i64"));
    for (const char* dtype : {"f64", "u8", "i64", "f16"}) {
      if (n > 1 && n < 8) check(reduce_text("reduce.sum", dtype, "45," + s, "1", "45,1", dtype));
      if (n >= 8) check(reduce_text("reduce.min", dtype, "45," + s, "1", "45,1", dtype));
    }
    check(reduce_text("reduce.any", "bool", "45," + s, "1", "45,1", "bool"));
    // a row of weights, a row-level chain after the reduction, planes
    check("graph @g(%x: f32[50," + s + "], %w: f32[" + s + "]) {\n  %1 = reshape %w [1," + s + "] : f32[1," + s +
          "]\n  %2 = expand %1 [50," + s + "] : f32[50," + s + "]\n  %3 = mul %x, %2 : f32[50," + s +
          "]\n  %4 = reduce.sum %3 dims=[1] : f32[50,1]\n  %5 = tanh %4 : f32[50,1]\n  %6 = exp %5 : f32[50,1]\n"
          "  return %3, %6\n}\n");
    check("graph @g(%x: f32[" + s + ",50]) {\n  %1 = permute %x [1,0] : f32[50," + s + "]\n  %2 = flip %1 dims=[1] : f32[50," + s +
          "]\n  %3 = reduce.sum %2 dims=[1] : f32[50,1]\n  %4 = expand %3 [50," + s + "] : f32[50," + s + "]\n  %5 = div %2, %4 : f32[50," +
          s + "]\n  return %5\n}\n");
  }
  check(reduce_text("reduce.sum", "f32", "2,20,4", "0,2", "1,20,1", "f32"));
  check(reduce_text("reduce.argmin", "f32", "3,20,5", "0,2", "1,20,1", "i64"));
  check(reduce_text("reduce.prod", "f32", "2,3,40,2", "0,1,3", "1,1,40,1", "f32"));
}

TEST_CASE("rows that share an operand: matrices times vectors, whole groups of rows and some left over") {
  for (const char* op : {"reduce.sum", "reduce.argmax", "reduce.prod"}) {
    const std::string to = std::string(op) == "reduce.argmax" ? "i64" : "f32";
    for (const char* rows : {"1", "3", "4", "22"}) {
      for (const char* n : {"20", "64", "300", "4096", "5000"}) {
        const std::string s = rows + (std::string(",") + n), r = std::string(rows) + ",1";
        check("graph @g(%x: f32[" + s + "], %v: f32[1," + n + "], %b: " + to + "[" + r + "]) {\n  %0 = expand %v [" + s + "] : f32[" + s +
              "]\n  %1 = mul %x, %0 : f32[" + s + "]\n  %2 = " + op + " %1 dims=[1] : " + to + "[" + r + "]\n  %3 = add %2, %b : " + to +
              "[" + r + "]\n  return %3\n}\n");
      }
    }
  }
  check(
      "graph @g(%x: f64[3,10,100], %v: f64[3,1,100]) {\n  %0 = expand %v [3,10,100] : f64[3,10,100]\n"
      "  %1 = mul %x, %0 : f64[3,10,100]\n  %2 = reduce.sum %1 dims=[2] : f64[3,10,1]\n"
      "  %3 = reduce.max %0 dims=[2] : f64[3,10,1]\n  %4 = sub %2, %3 : f64[3,10,1]\n  return %4\n}\n");
}

TEST_CASE("columns that come from memory: whole runs and some left over, rows left over, planes") {
  for (auto [rows, columns] : {std::pair{"264", "1024"}, {"259", "1033"}, {"437", "602"}, {"9", "20000"}, {"18", "8000"}, {"278", "601"}}) {
    const std::string s = rows + (std::string(",") + columns);
    check("graph @g(%x: f64[" + s + "], %v: f64[" + rows + ",1]) {\n  %0 = expand %v [" + s + "] : f64[" + s +
          "]\n  %1 = mul %x, %0 : f64[" + s + "]\n  %2 = reduce.sum %1 dims=[0] : f64[1," + columns + "]\n  %3 = neg %2 : f64[1," +
          columns + "]\n  return %3\n}\n");
  }
  check(reduce_text("reduce.max", "i64", "2,260,601", "1", "2,1,601", "i64"));
}

TEST_CASE("what is reduced over an axis of no elements is the identity") {
  for (const char* rows : {"1", "37"}) {
    for (const char* reduce : {"reduce.sum %0 lanes", "reduce.max %0 lanes", "reduce.sum %0 columns", "reduce.prod %0 columns"}) {
      const std::string text = std::string("kernel @none(x: f32 in[64], y: f32 out[") + rows + "]) {\n  axes r: " + rows +
                               " parallel, c: 0 inner\n  map r c : %0 = load x[r + c] : f32\n  reduce r|c : %1 = " + reduce +
                               " : f32\n  map r : store y[r], %1\n}\n";
      CAPTURE(text);
      const ir::Kernel kernel = ir::parse_kernel(text);
      std::vector<float> x(64, 3), want(37, -1), got(37, -1);
      std::vector<void*> buffers{x.data(), want.data()};
      codegen::interpret(kernel, buffers.data(), nullptr);
      buffers[1] = got.data();
      const passes::Lowered lowered = passes::lower(kernel, ir::CpuTarget{256});
      ir::verify(lowered.tree);
      ir::verify(passes::lower(kernel, ir::GpuTarget{}).tree);
      if (!codegen::llvm_backend::available()) continue;
      const auto code = codegen::llvm_backend::load_object(codegen::llvm_backend::compile_object(lowered.tree),
                                                           static_cast<int>(lowered.tree.phases.size()));
      test::launch(lowered, *code, buffers, {}, 1);
      CHECK(got == want);
    }
  }
}

// The operand of the product is read again after it, in a loop over the rows of a tile.
TEST_CASE("a contraction whose long epilogue reads its left operand") {
  check(
      "graph @g(%x: f32[50,1], %b: f32[9,70]) {\n  %0 = expand %x [50,9] : f32[50,9]\n  %1 = dot %0, %b : f32[50,70]\n"
      "  %2 = expand %x [50,70] : f32[50,70]\n  %3 = mul %1, %2 : f32[50,70]\n  %4 = tanh %3 : f32[50,70]\n"
      "  %5 = sub %4, %2 : f32[50,70]\n  return %5\n}\n");
}

// A weight whose place is the point of both reduced dims as it stands; blocks side by side each have a point of their own.
TEST_CASE("columns over two dims with a weight for each point") {
  for (const char* n : {"64", "59"}) {
    const std::string s = std::string(n) + ",3,96,32";
    check("graph @g(%x: f32[" + s + "], %w: f32[" + n + ",1,96,1]) {\n  %0 = expand %w [" + s + "] : f32[" + s +
          "]\n  %1 = mul %x, %0 : f32[" + s + "]\n  %2 = reduce.sum %1 dims=[0,2] : f32[1,3,1,32]\n  return %2\n}\n");
  }
}

TEST_CASE("columns of several blocks: constants in two loops, sums that are the same for all columns") {
  for (const char* n : {"256", "257", "700", "4100"}) {
    const std::string s = std::string(n) + ",7", x = ": f32[" + s + "]\n", m = ": f32[1,7]\n";
    check("graph @log_softmax(%x: f32[" + s + "]) {\n  %c = const 0.5 : f32[" + s + "]\n  %0 = mul %x, %c " + x +
          "  %1 = reduce.max %0 dims=[0] " + m + "  %2 = expand %1 [" + s + "] " + x + "  %3 = sub %0, %2 " + x + "  %4 = exp %3 " + x +
          "  %5 = reduce.sum %4 dims=[0] " + m + "  %6 = log %5 " + m + "  %7 = expand %6 [" + s + "] " + x + "  %8 = sub %3, %7 " + x +
          "  %9 = mul %8, %c " + x + "  return %9\n}\n");
    check("graph @same(%x: f32[" + std::string(n) + ",1], %y: f32[" + s + "]) {\n  %0 = expand %x [" + s + "] " + x +
          "  %1 = reduce.sum %0 dims=[0] " + m + "  %2 = reduce.sum %y dims=[0] " + m + "  %3 = sub %2, %1 " + m + "  return %1, %3\n}\n");
  }
}

TEST_CASE("maps of rows of a few elements: a column, a row, channels to and from planes") {
  for (int n : {2, 3, 7, 16}) {
    const std::string s = std::to_string(n);
    for (const char* dtype : {"f32", "u8", "f64"}) {
      const std::string t = dtype, x = t + "[75," + s + "]";
      check("graph @g(%x: " + x + ", %c: " + t + "[75,1], %r: " + t + "[" + s + "]) {\n  %1 = expand %c [75," + s + "] : " + x +
            "\n  %2 = mul %x, %1 : " + x + "\n  %3 = reshape %r [1," + s + "] : " + t + "[1," + s + "]\n  %4 = expand %3 [75," + s +
            "] : " + x + "\n  %5 = add %2, %4 : " + x + "\n  %6 = flip %5 dims=[1] : " + x + "\n  return %2, %6\n}\n");
    }
    for (const char* order : {"[1,2,0]", "[2,0,1]", "[0,2,1]"}) {
      const std::string o = order, shape = "[" + s + ",5,40]";
      const std::string to = o == "[1,2,0]" ? "[5,40," + s + "]" : o == "[2,0,1]" ? "[40," + s + ",5]" : "[" + s + ",40,5]";
      check("graph @g(%x: u8" + shape + ") {\n  %1 = permute %x " + o + " : u8" + to + "\n  %2 = cast %1 : f32" + to +
            "\n  %3 = sqrt %2 : f32" + to + "\n  return %3\n}\n");
    }
    check("graph @g(%x: f32[5,40," + s + "]) {\n  %1 = permute %x [2,0,1] : f32[" + s + ",5,40]\n  %2 = neg %1 : f32[" + s +
          ",5,40]\n  return %2\n}\n");
  }
}

TEST_CASE("a value that is the same along a short row may come from a block of memory") {
  check(
      "graph @g(%x: f32[7,9]) {\n  %0 = strided %x sizes=[3,21] strides=[0,3] offset=0 : f32[3,21]\n"
      "  %1 = sqrt %0 : f32[3,21]\n  return %1\n}\n");
}

TEST_CASE("a chain after the rows' last reduction runs across rows") {
  for (const char* rows : {"64", "77", "3,70"}) {
    const std::string r = rows, d = r.size() > 2 ? "2" : "1";
    check("graph @g(%x: f32[" + r + ",20], %b: f32[" + r + ",1]) {\n  %m = reduce.max %x dims=[" + d + "] : f32[" + r +
          ",1]\n  %1 = expand %m [" + r + ",20] : f32[" + r + ",20]\n  %2 = sub %x, %1 : f32[" + r + ",20]\n  %3 = exp %2 : f32[" + r +
          ",20]\n  %4 = reduce.sum %3 dims=[" + d + "] : f32[" + r + ",1]\n  %5 = log %4 : f32[" + r + ",1]\n  %6 = add %5, %m : f32[" + r +
          ",1]\n  %7 = tanh %b : f32[" + r + ",1]\n  %8 = pow %6, %7 : f32[" + r + ",1]\n  return %8, %m\n}\n");
  }
}

TEST_CASE("elements of several sizes in one kernel: wide ones take two vectors") {
  check(
      "graph @g(%x: f32[300], %y: f64[300], %n: i64[300]) {\n  %1 = mul %x, %x : f32[300]\n  %2 = exp %1 : f32[300]\n"
      "  %3 = cast %2 : f64[300]\n  %4 = add %3, %y : f64[300]\n  %5 = cast %4 : f32[300]\n  %6 = lt %n, %n : bool[300]\n"
      "  %7 = where %6, %5, %2 : f32[300]\n  return %7, %4\n}\n");
  check(
      "graph @g(%a: f32[20,30], %b: f32[30,40], %c: f64[20,40]) {\n  %d = dot %a, %b : f32[20,40]\n  %1 = cast %d : "
      "f64[20,40]\n  %2 = add %1, %c : f64[20,40]\n  %3 = sin %d : f32[20,40]\n  return %2, %3\n}\n");
}

TEST_CASE("mean and variance together, with an epilogue") {
  for (const char* n : {"50", "6000", "70000"}) {
    std::string s = "3," + std::string(n);
    check("graph @g(%x: f32[" + s + "]) {\n  %n = const " + n +
          " : f32[3,1]\n  %s = reduce.sum %x dims=[1] : f32[3,1]\n  %mean = div %s, %n : f32[3,1]\n"
          "  %1 = expand %mean [" +
          s + "] : f32[" + s + "]\n  %2 = sub %x, %1 : f32[" + s + "]\n  %3 = mul %2, %2 : f32[" + s +
          "]\n"
          "  %4 = reduce.sum %3 dims=[1] : f32[3,1]\n  %var = div %4, %n : f32[3,1]\n  %5 = sqrt %var : "
          "f32[3,1]\n  return %mean, %5\n}\n");
  }
}

TEST_CASE("long bodies, which stand once: masked throughout, sums in memory") {
  for (const char* dtype : {"f32", "f64", "u8"}) {
    // `pairs` times x = x * y + y, then a sum over `dim` of shape, or none.
    const auto chain = [&](const std::string& shape, int pairs, int dim, const std::string& result) {
      const std::string type = std::string(" : ") + dtype + "[" + shape + "]\n";
      std::string text = "graph @g(%x: " + (dtype + ("[" + shape)) + "], %y: " + dtype + "[" + shape + "]) {\n", last = "%x";
      for (int i = 0; i < pairs; ++i) {
        const std::string product = "%p" + std::to_string(i), sum = "%s" + std::to_string(i);
        text += "  " + product + " = mul " + last + ", %y" + type + "  " + sum + " = add " + product + ", %y" + type;
        last = sum;
      }
      if (dim >= 0) text += "  %r = reduce.sum " + last + " dims=[" + std::to_string(dim) + "] : " + dtype + "[" + result + "]\n";
      check(text + "  return " + (dim >= 0 ? "%r" : last) + "\n}\n");
    };
    for (int pairs : {30, 90}) {  // of bodies that stand twice, and once
      chain("3,70", pairs, -1, "");
      chain("5,150", pairs, 1, "5,1");
      chain("3,64", pairs, 1, "3,1");
      chain("2,9000", pairs, 1, "2,1");
      chain("70,37", pairs, 0, "1,37");
      chain("70,32", pairs, 0, "1,32");
    }
  }
}

// A convolution of 3x3 without a border: images [n, channels, rows + 2, width + 2], `filters` results.
std::string convolution(int n, int rows, int width, int filters, const std::string& dtype, int channels = 3) {
  const int line = width + 2, plane = (rows + 2) * line, places = rows * width, k = 9 * channels;
  const auto dims = [](std::initializer_list<int> sizes) {
    std::string text;
    for (const int size : sizes) text += (text.empty() ? "" : ",") + std::to_string(size);
    return "[" + text + "]";
  };
  const std::string windows = dims({n, channels, 3, 3, rows, width}), strides = dims({channels * plane, plane, line, 1, line, 1});
  return "graph @g(%x: " + dtype + dims({n, channels, rows + 2, line}) + ", %w: " + dtype + dims({1, filters, k}) + ", %b: " + dtype +
         dims({1, filters, 1}) + ") {\n  %0 = strided %x sizes=" + windows + " strides=" + strides + " offset=0 : " + dtype + windows +
         "\n  %1 = reshape %0 " + dims({n, k, places}) + " : " + dtype + dims({n, k, places}) + "\n  %2 = expand %w " +
         dims({n, filters, k}) + " : " + dtype + dims({n, filters, k}) + "\n  %3 = dot %2, %1 : " + dtype + dims({n, filters, places}) +
         "\n  %4 = expand %b " + dims({n, filters, places}) + " : " + dtype + dims({n, filters, places}) +
         "\n  %5 = add %3, %4 : " + dtype + dims({n, filters, places}) + "\n  return %5\n}\n";
}

TEST_CASE("vectors reach over the ends of lines: windows of images of every width, one image and several") {
  for (const int width : {3, 5, 6, 7, 8, 9, 14, 15, 16, 17, 18, 31}) check(convolution(1, 5, width, 20, "f32"));
  for (const int width : {6, 7, 14}) check(convolution(3, width, width, 24, "f32"));  // as one line of columns where it runs often
  for (const char* dtype : {"f64", "f16", "bf16", "i32", "i64"}) check(convolution(2, 4, 7, 17, dtype));
}

// The gradient of their weights for each image: windows times what is [n, places, filters].
std::string weight_gradient(int n, int rows, int width, int filters, const std::string& dtype) {
  const auto of = [&](int a, int b) { return dtype + "[" + std::to_string(n) + "," + std::to_string(a) + "," + std::to_string(b) + "]"; };
  std::string text = convolution(n, rows, width, filters, dtype);
  const int places = rows * width;
  text = text.substr(0, text.find("  %2"));
  text.replace(text.find("%w"), text.find(")") - text.find("%w"), "%w: " + of(places, filters));
  return text + "  %3 = dot %1, %w : " + of(27, filters) + "\n  return %3\n}\n";
}

TEST_CASE("the gradient of a convolution's weights: steps of places, in one chain and in several") {
  for (const int width : {7, 8, 33}) check(weight_gradient(2, 9, width, 40, "f32"));
  check(weight_gradient(1, 70, 66, 20, "f32"));
  for (const char* dtype : {"f64", "bf16", "i32"}) check(weight_gradient(1, 9, 8, 20, dtype));
}

TEST_CASE("convolutions of many channels: rows are places, whole blocks and what is left; one chain of k, several, and groups") {
  for (const int width : {3, 7, 8, 13}) check(convolution(8, 9, width, 32, "f32"));
  for (const int filters : {33, 64, 80}) check(convolution(1, 12, 11, filters, "f32", 30));
  check(convolution(3, 9, 7, 96, "f32", 2));
  check(convolution(1, 13, 10, 34, "f32", 460));
  for (const char* dtype : {"f64", "f16", "i32", "u8"}) check(convolution(2, 9, 8, 35, dtype));
}

TEST_CASE("vectors reach over the ends of lines: parts of lines") {
  for (const int width : {5, 7, 8, 13, 16, 21}) {
    for (const char* dtype : {"f32", "f64", "i16", "u8"}) {
      const std::string w = std::to_string(width), line = std::to_string(width + 3), of = std::string(dtype) + "[";
      const std::string all = std::to_string(9 * width), shape = of + all + "]";
      check("graph @g(%x: " + of + "9," + line + "], %y: " + shape + ") {\n  %0 = strided %x sizes=[9," + w + "] strides=[" + line +
            ",1] offset=2 : " + of + "9," + w + "]\n  %1 = reshape %0 [" + all + "] : " + shape + "\n  %2 = add %1, %y : " + shape +
            "\n  return %2\n}\n");
    }
  }
}

// Windows of `taps` x `taps` over planes with a border of `pad` zeros, which move by `step`: each channel's with weights of its own, or the
// greatest of each. One sample of one plane, or three of several.
std::string padded_windows(int height, int width, int taps, int pad, int step, const std::string& dtype, const std::string& op,
                           int planes = 4) {
  const std::string channels = std::to_string(planes), number = (planes == 1 ? "1," : "3,") + channels;
  const int tall = height + 2 * pad, wide = width + 2 * pad, down = (tall - taps) / step + 1, across = (wide - taps) / step + 1;
  const std::string n = std::to_string(taps), k = std::to_string(taps * taps), p = std::to_string(pad), s = std::to_string(step);
  const std::string line = std::to_string(wide), plane = std::to_string(tall * wide), h = std::to_string(down), w = std::to_string(across);
  const auto of = [&](const std::string& dims) { return " : " + dtype + "[" + dims + "]\n"; };
  const std::string padded = number + "," + std::to_string(tall) + "," + line, places = h + "," + w, all = number + "," + k + "," + places;
  const std::string windows = number + "," + n + "," + n + "," + places, edge = dtype[0] == 'f' || dtype[0] == 'b' ? "0.5" : "1";
  return "graph @g(%x: " + dtype + "[" + number + "," + std::to_string(height) + "," + std::to_string(width) + "], %w: " + dtype + "[1," +
         channels + "," + k + ",1,1]) {\n  %c = const " + edge + of("") + "  %0 = pad %x, %c lo=[0,0," + p + "," + p + "] hi=[0,0," + p +
         "," + p + "]" + of(padded) + "  %1 = strided %0 sizes=[" + windows + "] strides=[" + std::to_string(planes * tall * wide) + "," +
         plane + "," + line + ",1," + std::to_string(step * wide) + "," + s + "] offset=0" + of(windows) + "  %2 = reshape %1 [" + all +
         "]" + of(all) + "  %3 = expand %w [" + all + "]" + of(all) + "  %4 = mul %2, %3" + of(all) + "  %5 = reduce." + op +
         " %4 dims=[2]" + of(number + ",1," + places) + "  %6 = neg %5" + of(number + ",1," + places) + "  return %6\n}\n";
}

TEST_CASE("windows over one plane are taken in bands of its lines") {
  for (const int height : {9, 17, 24, 47, 61}) {
    for (const int step : {1, 2, 3}) check(padded_windows(height, 21, 3, 1, step, "f32", "sum", 1));
  }
}

TEST_CASE("windows over planes with a border: lines of every width, steps, borders on one side of all") {
  for (const int width : {5, 7, 8, 15, 16, 17, 28, 33, 49}) check(padded_windows(6, width, 3, 1, 1, "f32", "sum"));
  for (const int height : {3, 7, 11, 13}) check(padded_windows(height, 20, 3, 1, 1, "f32", "max"));
  for (const int step : {2, 3, 4, 5}) {
    for (const int width : {9, 16, 35, 70}) check(padded_windows(9, width, 3, 1, step, "f32", "sum"));
  }
  for (const int taps : {2, 4, 5, 7}) check(padded_windows(9, 18, taps, taps / 2, 1, "f32", "sum"));  // totals from 17 on
  for (const char* dtype : {"f64", "f16", "bf16", "i32", "i64", "u8"}) check(padded_windows(6, 21, 3, 2, 2, dtype, "sum"));
  check(padded_windows(2, 1, 5, 2, 1, "f32", "sum"));
}

TEST_CASE("windows over two planes, one with a border along its lines alone: it begins elsewhere for each line") {
  for (const std::string h : {"12", "40"}) {
    const std::string tall = h == "12" ? "14" : "42", planes = h == "12" ? "742" : "2226", lines = h == "12" ? "96" : "320";
    check("graph @g(%x: f32[1,8," + h + ",51], %y: f32[1,8," + h + ",51]) {\n  %0 = const 0.0 : f32[]\n" +
          "  %1 = pad %x, %0 lo=[0,0,1,1] hi=[0,0,1,1] : f32[1,8," + tall + ",53]\n  %2 = strided %1 sizes=[8,3," + h + ",3,51] strides=[" +
          planes + ",53,53,1,1] offset=0 : f32[8,3," + h + ",3,51]\n  %3 = permute %2 [0,1,3,2,4] : f32[8,3,3," + h +
          ",51]\n  %4 = reshape %3 [8,9," + h + ",51] : f32[8,9," + h + ",51]\n  %5 = pad %y, %0 lo=[0,0,0,4] hi=[0,0,0,4] : f32[1,8," + h +
          ",59]\n  %6 = strided %5 sizes=[" + lines + ",9,51] strides=[59,1,1] offset=0 : f32[" + lines + ",9,51]\n  %7 = reshape %6 [8," +
          h + ",9,51] : f32[8," + h + ",9,51]\n  %8 = permute %7 [0,2,1,3] : f32[8,9," + h + ",51]\n  %9 = mul %4, %8 : f32[8,9," + h +
          ",51]\n  %10 = reduce.sum %9 dims=[1] : f32[8,1," + h + ",51]\n  return %10\n}\n");
  }
}

TEST_CASE("squares of differences: a contraction that takes them in, of rows and columns of every class") {
  const auto distances = [](int batch, int rows, int columns, int depth, const std::string& dtype) {
    const auto n = [](int x) { return std::to_string(x); };
    const std::string b = n(batch), p = n(rows), r = n(columns), k = n(depth), all = b + "," + p + "," + r + "," + k;
    const auto of = [&](const std::string& dims) { return " : " + dtype + "[" + dims + "]\n"; };
    const std::string left = b + "," + p + ",1," + k, right = b + ",1," + r + "," + k, row = b + "," + p + "," + r + ",1," + k;
    const std::string of_pairs = b + "," + p + "," + r;
    return "graph @g(%a: " + dtype + "[" + b + "," + p + "," + k + "], %b: " + dtype + "[" + b + "," + r + "," + k +
           "]) {\n  %0 = reshape %a [" + left + "]" + of(left) + "  %1 = expand %0 [" + all + "]" + of(all) + "  %2 = reshape %b [" +
           right + "]" + of(right) + "  %3 = expand %2 [" + all + "]" + of(all) + "  %4 = sub %1, %3" + of(all) + "  %5 = reshape %4 [" +
           row + "]" + of(row) + "  %6 = reshape %4 [" + all + ",1]" + of(all + ",1") + "  %7 = dot %5, %6" + of(of_pairs + ",1,1") +
           "  %8 = reshape %7 [" + of_pairs + "]" + of(of_pairs) + "  %9 = sqrt %8" + of(of_pairs) + "  return %9\n}\n";
  };
  for (const int columns : {1, 7, 33, 64, 130}) {
    for (const int rows : {1, 5, 24}) check(distances(1, rows, columns, 9, "f32"));
  }
  for (const int depth : {1, 40, 256, 300, 600}) check(distances(2, 13, 40, depth, "f32"));
  check(distances(3, 9, 20, 12, "f64"));
}

TEST_CASE("16 bits are widened as a product packs them") {
  for (const char* dtype : {"f16", "bf16"}) {
    const std::string half = dtype;
    for (const int rows : {1, 5, 23, 24, 40}) {
      const std::string m = std::to_string(rows);
      check("graph @g(%a: f32[" + m + ",70], %b: " + half + "[70,50], %c: " + half + "[50,70]) {\n  %0 = cast %b : f32[70,50]\n" +
            "  %1 = dot %a, %0 : f32[" + m + ",50]\n  %2 = permute %c [1,0] : " + half + "[70,50]\n  %3 = cast %2 : f32[70,50]\n" +
            "  %4 = dot %a, %3 : f32[" + m + ",50]\n  return %1, %4\n}\n");
    }
  }
}

TEST_CASE("contractions: plain, transposed operands, batches, epilogues, one row, one column") {
  auto dot = [](const std::string& a, const std::string& b, const std::string& o, const std::string& t = "f32") {
    check("graph @g(%a: " + t + "[" + a + "], %b: " + t + "[" + b + "]) {\n  %1 = dot %a, %b : " + t + "[" + o + "]\n  %2 = neg %1 : " + t +
          "[" + o + "]\n  return %2\n}\n");
  };
  dot("7,5", "5,40", "7,40");
  dot("50,30", "30,17", "50,17");
  dot("100,20", "20,70", "100,70");
  dot("2,3,4", "2,4,5", "2,3,5");
  dot("1,30", "30,40", "1,40");
  dot("30,40", "40,1", "30,1");
  dot("1,40", "40,1", "1,1");
  dot("50,300", "300,300", "50,300");
  // Tiles of two, three and four vectors, whole and with columns and rows left over.
  for (const char* rows : {"5", "7", "12", "24", "31"}) {
    for (const char* columns : {"33", "48", "64", "112"}) {
      dot(rows + std::string(",9"), std::string("9,") + columns, rows + std::string(",") + columns);
    }
  }
  // One chain of k, two, several and a rest, one group, several (ir/op/sum_order.h); short and long epilogues; integers, which have none.
  const auto deep = [&](const char* rows, const char* k, const char* columns, const char* type = "f32") {
    dot(rows + std::string(",") + k, k + std::string(",") + columns, rows + std::string(",") + columns, type);
  };
  for (const char* k : {"255", "256", "257", "1100", "4096", "8300"}) deep("3", k, "5");
  deep("13", "520", "70");
  deep("30", "4500", "33");
  dot("2,20,300", "2,300,41", "2,20,41");
  for (const char* type : {"f64", "f16", "i32"}) deep("4", "300", "20", type);
  check(
      "graph @g(%a: f32[14,600], %b: f32[600,40]) {\n  %1 = dot %a, %b : f32[14,40]\n  %2 = tanh %1 : f32[14,40]\n  %3 = exp %2 : "
      "f32[14,40]\n  return %3\n}\n");
  // An operand that is the same along rows, columns or both: the axis that it leaves out makes the tile all the same.
  const auto same = [&](const std::string& a, const std::string& b, const std::string& to_a, const std::string& to_b) {
    check("graph @g(%a: f32[" + a + "], %b: f32[" + b + "]) {\n  %0 = expand %a [" + to_a + "] : f32[" + to_a + "]\n  %1 = expand %b [" +
          to_b + "] : f32[" + to_b +
          "]\n  %2 = dot %0, %1 : f32[21,50]\n  %3 = neg %2 : f32[21,50]\n  %4 = const 0.5 : f32[21,50]\n  %5 = sub %3, %4 : f32[21,50]\n  "
          "return %2, %5\n}\n");
  };
  for (const char* k : {"9", "300"}) {
    const std::string rows = std::string("21,") + k, columns = k + std::string(",50");
    same(rows, "1,1", rows, columns);
    same(rows, k + std::string(",1"), rows, columns);
    same("1,1", columns, rows, columns);
    same(std::string("1,") + k, columns, rows, columns);
    same("1,1", "1,1", rows, columns);
  }
  check("graph @g(%a: f32[3,21,9]) {\n  %c = const 0.5 : f32[3,9,50]\n  %0 = dot %a, %c : f32[3,21,50]\n  return %0\n}\n");
  check("graph @g(%b: f32[3,9,50]) {\n  %c = const 0.5 : f32[3,21,9]\n  %0 = dot %c, %b : f32[3,21,50]\n  return %0\n}\n");
  dot("9,8", "8,9", "9,9", "i32");
  dot("9,8", "8,9", "9,9", "f16");
  dot("9,8", "8,9", "9,9", "f64");
  check(
      "graph @g(%a: f32[20,30], %w: f32[40,30], %b: f32[40]) {\n  %t = permute %w [1,0] : f32[30,40]\n  %d = "
      "dot %a, %t : f32[20,40]\n"
      "  %b1 = reshape %b [1,40] : f32[1,40]\n  %1 = expand %b1 [20,40] : f32[20,40]\n  %2 = add %d, %1 : "
      "f32[20,40]\n  return %2\n}\n");
  check(
      "graph @g(%a: f32[30,20], %w: f32[40,30]) {\n  %s = permute %a [1,0] : f32[20,30]\n  %t = permute %w "
      "[1,0] : f32[30,40]\n"
      "  %d = dot %s, %t : f32[20,40]\n  return %d\n}\n");
}

TEST_CASE("contractions of long k whose left operand lies along its rows: blocks that are turned, and what is left over") {
  const auto dot = [](const std::string& k, const std::string& rows, const std::string& columns, const std::string& batch = "",
                      const std::string& t = "f32") {
    const std::string order = batch.empty() ? "1,0" : "0,2,1";
    check("graph @g(%a: " + t + "[" + batch + k + "," + rows + "], %b: " + t + "[" + batch + k + "," + columns +
          "]) {\n  %s = permute %a [" + order + "] : " + t + "[" + batch + rows + "," + k + "]\n  %d = dot %s, %b : " + t + "[" + batch +
          rows + "," + columns + "]\n  %1 = " + (t == "i32" ? "neg" : "tanh") + " %d : " + t + "[" + batch + rows + "," + columns +
          "]\n  return %d, %1\n}\n");
  };
  for (const char* k : {"600", "768", "4500"}) dot(k, "20", "70");
  dot("700", "33", "200");
  dot("530", "530", "17");
  dot("600", "20", "150", "2,");
  for (const char* type : {"f64", "f16", "i32"}) dot("520", "21", "40", "", type);
}

}  // namespace
}  // namespace tenon
