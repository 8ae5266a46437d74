// Fusion: which nodes share a kernel, and why others do not. What the kernels look like is in tests/filecheck/fuse.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "ir/graph/graph.h"
#include "passes/fusion/fusion.h"

namespace tenon::passes {
namespace {

struct Fused : FusionResult {
  ir::Graph graph;  // keeps the nodes that the kernels name
};

Fused fuse_text(const std::string& text) {
  Fused result;
  result.graph = ir::parse_graph(text);
  static_cast<FusionResult&>(result) = fuse(result.graph.outputs);
  for (const FusedKernel& k : result.kernels) {
    ir::verify(k.work);
    const std::string printed = ir::print(k.work);
    CHECK((k.call() ? ir::print(ir::parse_call(printed)) : ir::print(ir::parse_kernel(printed))) == printed);
  }
  return result;
}

size_t count(const std::string& body, const std::string& inputs = "%x: f32[64,256]") {
  return fuse_text("graph @g(" + inputs + ") {\n" + body + "}\n").kernels.size();
}

const std::string kSoftmax = R"(
  %m = reduce.max %x dims=[1] : f32[64,1]
  %1 = expand %m [64,256] : f32[64,256]
  %2 = sub %x, %1 : f32[64,256]
  %3 = exp %2 : f32[64,256]
  %4 = reduce.sum %3 dims=[1] : f32[64,1]
  %5 = expand %4 [64,256] : f32[64,256]
  %6 = div %3, %5 : f32[64,256]
  return %6
)";

TEST_CASE("scans along different dims, before a reduction or behind a view are kernels of their own") {
  CHECK(count(R"(
  %0 = scan.sum %x dim=1 : f32[64,256]
  %1 = scan.sum %0 dim=0 : f32[64,256]
  return %1
)") == 2);
  CHECK(count(R"(
  %0 = scan.sum %x dim=1 : f32[64,256]
  %1 = reduce.max %0 dims=[1] : f32[64,1]
  return %1
)") == 2);
  CHECK(count(R"(
  %0 = scan.sum %x dim=1 : f32[64,256]
  %1 = flip %0 dims=[1] : f32[64,256]
  %2 = exp %1 : f32[64,256]
  return %2
)") == 2);
  CHECK(count(R"(
  %0 = scan.sum %x dim=1 : f32[64,256]
  %1 = scan.max %x dim=1 : f32[64,256]
  return %0, %1
)") == 1);
}

TEST_CASE("a routine of the library stands alone, and what it reads is in memory") {
  const ir::Graph graph = ir::parse_graph(R"(graph @g(%x: f32[64,256]) {
  %0 = exp %x : f32[64,256]
  %1 = permute %0 [1,0] : f32[256,64]
  %2 = sort %1 dim=0 descending=0 : i64[256,64]
  %3 = cast %2 : f32[256,64]
  %4 = mul %3, %1 : f32[256,64]
  return %4
}
)");
  const FusionResult result = fuse(graph.outputs);
  REQUIRE(result.kernels.size() == 3);  // exp with its transpose, sort, the product
  CHECK(result.kernels[0].outputs.size() == 2);
  REQUIRE(result.kernels[1].call());
  CHECK(result.kernels[1].name() == "sort");
  CHECK(result.kernels[1].inputs[0]->op() == ir::Op::Permute);
}

TEST_CASE("a chain of elementwise ops is one kernel") {
  CHECK(count("  %1 = neg %x : f32[64,256]\n  %2 = exp %1 : f32[64,256]\n  %3 = mul %2, %x : f32[64,256]\n  "
              "return %3\n") == 1);
}

TEST_CASE("softmax over the first dim, over both dims, and of a transposed tensor are one kernel each") {
  CHECK(count(R"(
  %m = reduce.max %x dims=[0] : f32[1,256]
  %1 = expand %m [64,256] : f32[64,256]
  %2 = sub %x, %1 : f32[64,256]
  %3 = exp %2 : f32[64,256]
  %4 = reduce.sum %3 dims=[0] : f32[1,256]
  %5 = expand %4 [64,256] : f32[64,256]
  %6 = div %3, %5 : f32[64,256]
  return %6
)") == 1);
  CHECK(count(R"(
  %m = reduce.max %x dims=[0,1] : f32[1,1]
  %1 = expand %m [64,256] : f32[64,256]
  %2 = sub %x, %1 : f32[64,256]
  %4 = reduce.sum %2 dims=[0,1] : f32[1,1]
  return %4
)") == 1);
  CHECK(count("  %t = permute %x [1,0] : f32[256,64]\n  %1 = reduce.sum %t dims=[1] : f32[256,1]\n  return "
              "%1\n") == 1);
}

TEST_CASE("mean and variance together, layer norm: one kernel") {
  const std::string norm = R"(
  %n = const 256 : f32[64,1]
  %s = reduce.sum %x dims=[1] : f32[64,1]
  %mean = div %s, %n : f32[64,1]
  %1 = expand %mean [64,256] : f32[64,256]
  %2 = sub %x, %1 : f32[64,256]
  %3 = mul %2, %2 : f32[64,256]
  %4 = reduce.sum %3 dims=[1] : f32[64,1]
  %var = div %4, %n : f32[64,1]
)";
  CHECK(count(norm + "  return %mean, %var\n") == 1);
  CHECK(count(norm + R"(
  %eps = const 1e-05 : f32[64,1]
  %5 = add %var, %eps : f32[64,1]
  %6 = sqrt %5 : f32[64,1]
  %7 = expand %6 [64,256] : f32[64,256]
  %8 = div %2, %7 : f32[64,256]
  %w1 = reshape %w [1,256] : f32[1,256]
  %9 = expand %w1 [64,256] : f32[64,256]
  %10 = mul %8, %9 : f32[64,256]
  return %10
)",
              "%x: f32[64,256], %w: f32[256]") == 1);
}

TEST_CASE("a product summed, a bias in an activation, a transposed addition: one kernel") {
  CHECK(count("  %1 = mul %x, %y : f32[64,256]\n  %2 = reduce.sum %1 dims=[0,1] : f32[1,1]\n  return %2\n",
              "%x: f32[64,256], %y: f32[64,256]") == 1);
  CHECK(count("  %b1 = reshape %b [1,256] : f32[1,256]\n  %1 = expand %b1 [64,256] : f32[64,256]\n  %2 = add "
              "%x, %1 : f32[64,256]\n"
              "  %3 = erf %2 : f32[64,256]\n  %4 = mul %3, %2 : f32[64,256]\n  return %4\n",
              "%x: f32[64,256], %b: f32[256]") == 1);
  CHECK(count("  %t = permute %y [1,0] : f32[64,256]\n  %1 = add %x, %t : f32[64,256]\n  return %1\n",
              "%x: f32[64,256], %y: f32[256,64]") == 1);
}

TEST_CASE("siblings that read the same tensor share a kernel; ones that follow each other do not loop") {
  CHECK(count("  %1 = neg %x : f32[64,256]\n  %2 = exp %x : f32[64,256]\n  return %1, %2\n") == 1);
  CHECK(count("  %1 = reduce.sum %x dims=[1] : f32[64,1]\n  %2 = reduce.max %x dims=[1] : f32[64,1]\n  "
              "return %1, %2\n") == 1);
  CHECK(count("  %1 = neg %x : f32[64,256]\n  %2 = reduce.sum %x dims=[1] : f32[64,1]\n  return %1, %2\n") == 1);
}

TEST_CASE("a loss over all dims and what is computed from the same elements share a kernel") {
  const std::string loss = "  %1 = mul %x, %x : f32[64,256]\n  %2 = reduce.sum %1 dims=[0,1] : f32[1,1]\n";
  CHECK(count(loss + "  %3 = add %x, %x : f32[64,256]\n  return %2, %3\n") == 1);
  CHECK(count("  %3 = add %x, %x : f32[64,256]\n" + loss + "  return %3, %2\n") == 1);
  const Fused finer = fuse_text("graph @g(%x: f32[64,256]) {\n" + loss + R"(
  %3 = reshape %x [64,16,16] : f32[64,16,16]
  %4 = neg %3 : f32[64,16,16]
  return %2, %4
}
)");
  CHECK(finer.kernels.size() == 1);
  // A weight of each row or column would be read by remainders, and so would what another order of elements is written to.
  CHECK(count(loss + R"(
  %3 = expand %w [64,256] : f32[64,256]
  %4 = mul %x, %3 : f32[64,256]
  return %2, %4
)",
              "%x: f32[64,256], %w: f32[1,256]") == 2);
  CHECK(count(loss + "  %3 = permute %x [1,0] : f32[256,64]\n  %4 = exp %3 : f32[256,64]\n  return %2, %4\n") == 2);
  // A part of the elements is not all of them.
  CHECK(count(R"(
  %1 = slice %x starts=[0,0] steps=[1,1] sizes=[64,128] : f32[64,128]
  %2 = reduce.sum %1 dims=[0,1] : f32[1,1]
  %3 = reshape %x [64,2,128] : f32[64,2,128]
  %4 = exp %3 : f32[64,2,128]
  return %2, %4
)") == 2);
}

TEST_CASE("a norm whose deviation a gradient wants is one kernel, and a loss behind it another") {
  const std::string norm = R"(
  %n = const 256 : f32[64,1]
  %s = reduce.sum %x dims=[1] : f32[64,1]
  %mean = div %s, %n : f32[64,1]
  %1 = expand %mean [64,256] : f32[64,256]
  %2 = sub %x, %1 : f32[64,256]
  %3 = mul %2, %2 : f32[64,256]
  %4 = reduce.sum %3 dims=[1] : f32[64,1]
  %5 = sqrt %4 : f32[64,1]
  %6 = expand %5 [64,256] : f32[64,256]
  %7 = div %2, %6 : f32[64,256]
  %8 = expand %w [64,256] : f32[64,256]
  %9 = mul %7, %8 : f32[64,256]
)";
  const std::string inputs = "%x: f32[64,256], %w: f32[1,256]";
  CHECK(count(norm + "  return %5, %7, %9\n", inputs) == 1);
  const Fused fused = fuse_text("graph @g(" + inputs + ") {" + norm + R"(
  %10 = mul %9, %9 : f32[64,256]
  %11 = reduce.sum %10 dims=[0,1] : f32[1,1]
  return %5, %7, %11
}
)");
  REQUIRE(fused.kernels.size() == 2);
  CHECK(fused.kernels[0].outputs.size() == 3);  // the weighted values among them
  CHECK(fused.kernels[1].inputs.size() == 1);
}

TEST_CASE("a value of rows of another kernel, stored for others, does not change how its reader's own sums add") {
  const Fused fused = fuse_text(R"(graph @g(%x: f32[64,256], %y: f32[64,256]) {
  %columns = reduce.sum %y dims=[0] : f32[1,256]
  %1 = expand %columns [64,256] : f32[64,256]
  %2 = add %1, %y : f32[64,256]
  %s = reduce.sum %x dims=[1] : f32[64,1]
  %deviation = sqrt %s : f32[64,1]
  %3 = expand %deviation [64,256] : f32[64,256]
  %4 = sub %2, %3 : f32[64,256]
  %5 = exp %s : f32[64,1]
  return %4, %deviation, %5
}
)");
  REQUIRE(fused.kernels.size() == 2);
  CHECK(ir::print(fused.kernels[0].work).find("reduce.sum %0 lanes") != std::string::npos);
  CHECK(ir::print(fused.kernels[1].work).find("reduce.sum %0 columns") != std::string::npos);
}

TEST_CASE("a + b and b + a are the same code") {
  const std::string head = "graph @g(%x: f32[64,256], %w: f32[256,128], %b: f32[64,128]) {\n  %1 = dot %x, %w : f32[64,128]\n";
  const Fused one = fuse_text(head + "  %2 = add %1, %b : f32[64,128]\n  return %2\n}\n");
  const Fused other = fuse_text(head + "  %2 = add %b, %1 : f32[64,128]\n  return %2\n}\n");
  CHECK(ir::print(one.kernels[0].work) == ir::print(other.kernels[0].work));
}

TEST_CASE("a contraction keeps its epilogue and reads its operands from memory") {
  Fused result = fuse_text(R"(graph @linear(%a: f32[8,32], %w: f32[16,32], %b: f32[16]) {
  %e = exp %a : f32[8,32]
  %t = permute %w [1,0] : f32[32,16]
  %d = dot %e, %t : f32[8,16]
  %b1 = reshape %b [1,16] : f32[1,16]
  %1 = expand %b1 [8,16] : f32[8,16]
  %2 = add %d, %1 : f32[8,16]
  return %2
}
)");
  REQUIRE(result.kernels.size() == 2);
  CHECK(result.kernels[0].name() == "exp");
  CHECK(result.kernels[1].name() == "dot_add");
  REQUIRE(result.refusals.size() == 1);
  CHECK(result.refusals[0].reason == "the left operand of a contraction is read in its innermost loop: from memory");
}

TEST_CASE("what overlapping windows read is computed once; windows side by side read through") {
  auto windows = [](const char* strides) {
    return fuse_text(std::string("graph @g(%x: f32[64]) {\n  %1 = exp %x : f32[64]\n"
                                 "  %2 = strided %1 sizes=[8,4] strides=") +
                     strides + " offset=3 : f32[8,4]\n  %3 = neg %2 : f32[8,4]\n  return %3\n}\n");
  };
  CHECK(windows("[4,1]").kernels.size() == 1);
  FusionResult overlapping = windows("[2,1]");
  CHECK(overlapping.kernels.size() == 2);
  CHECK(overlapping.refusals.at(0).reason == "overlapping windows of its reader would compute it more than once");
}

TEST_CASE("a table that is computed, or seen through a reshape that cuts the gathered dim, is stored first") {
  const char* index = "  %1 = iota dim=0 : i64[8]\n";
  auto kernels = [&](const std::string& body) {
    return fuse_text("graph @g(%x: f32[64,100]) {\n" + std::string(index) + body + "}\n").kernels;
  };
  CHECK(kernels("  %2 = reshape %x [6400] : f32[6400]\n  %3 = gather %2, %1 dim=0 : f32[8]\n  return %3\n").size() == 1);
  CHECK(kernels("  %0 = exp %x : f32[64,100]\n  %2 = reshape %0 [6400] : f32[6400]\n"
                "  %3 = gather %2, %1 dim=0 : f32[8]\n  return %3\n")
            .size() == 2);
  CHECK(kernels("  %0 = permute %x [1,0] : f32[100,64]\n  %2 = reshape %0 [6400] : f32[6400]\n"
                "  %3 = gather %2, %1 dim=0 : f32[8]\n  return %3\n")
            .size() == 2);
}

TEST_CASE("x[3] += v writes the tensor in place") {
  Fused result = fuse_text(R"(graph @g(%x: f32[100,64], %v: f32[64]) {
  %0 = slice %x starts=[3,0] steps=[1,1] sizes=[1,64] : f32[1,64]
  %1 = reshape %0 [64] : f32[64]
  %2 = add %1, %v : f32[64]
  %3 = update %x, %2 strides=[1] offset=192 : f32[100,64]
  return %3
}
)");
  REQUIRE(result.kernels.size() == 1);
  CHECK(result.kernels[0].bases.at(0)->op() == ir::Op::Input);
}

TEST_CASE("a value that depends on other places of what is written is computed before the write") {
  auto names = [](const std::string& body, const std::string& inputs) {
    std::string text;
    for (const FusedKernel& k : fuse_text("graph @g(" + inputs + ") {\n" + body + "}\n").kernels) text += k.name() + " ";
    return text;
  };
  // y[1:] = y[:-1]
  CHECK(names("  %0 = slice %y starts=[0] steps=[1] sizes=[99] : f32[99]\n"
              "  %1 = update %y, %0 strides=[1] offset=1 : f32[100]\n  return %1\n",
              "%y: f32[100]") == "copy update ");
  // x[0] = x.sum(0): below a reduction
  CHECK(names("  %0 = reduce.sum %x dims=[0] : f32[1,5]\n"
              "  %1 = update %x, %0 strides=[5,1] offset=0 : f32[4,5]\n  return %1\n",
              "%x: f32[4,5]") == "sum update ");
  // A reduction of something else goes into the kernel of the write.
  CHECK(names("  %0 = reduce.sum %v dims=[0] : f32[1,5]\n"
              "  %1 = update %x, %0 strides=[5,1] offset=0 : f32[4,5]\n  return %1\n",
              "%x: f32[4,5], %v: f32[9,5]") == "sum_update ");
  // x.copy_(x.t()): the base itself, elsewhere. It is read from where it lies, and written in a copy.
  Fused turned = fuse_text(
      "graph @g(%x: f32[4,4]) {\n  %1 = update %x, %x strides=[1,4] offset=0 : f32[4,4]\n"
      "  return %1\n}\n");
  REQUIRE(turned.kernels.size() == 1);
  CHECK(turned.kernels[0].inputs.size() == 1);
}

TEST_CASE("who reads what a write replaces runs before the write") {
  Fused result = fuse_text(R"(graph @g(%a: f32[4,64], %v: f32[64]) {
  %x = exp %a : f32[4,64]
  %1 = update %x, %v strides=[1] offset=0 : f32[4,64]
  %2 = neg %1 : f32[4,64]
  %3 = reduce.sum %x dims=[0,1] : f32[1,1]
  return %2, %3
}
)");
  REQUIRE(result.kernels.size() == 4);
  CHECK(result.kernels[0].name() == "exp");
  CHECK(result.kernels[1].name() == "sum");
  CHECK(result.kernels[2].name() == "update");
}

TEST_CASE("what stays apart says why: who, for whom, and along which axis") {
  struct Case {
    const char* body;
    const char* reason;
    const char* where;
    size_t readers;
  };
  const Case cases[] = {
      {"%1 = exp %x : f32[64,256]\n %2 = reduce.sum %1 dims=[1] : f32[64,1]\n %3 = reduce.sum %2 dims=[0] : f32[1,1]\n return %3",
       "the two reductions run over different extents", "", 1},
      {"%1 = exp %x : f32[64,256]\n %2 = flip %1 dims=[1] : f32[64,256]\n %3 = mul %1, %2 : f32[64,256]\n return %3",
       "its readers want different elements at the same time", "dim 1", 1},
      {"%1 = exp %x : f32[64,256]\n %2 = slice %1 starts=[0,0] steps=[1,1] sizes=[64,1] : f32[64,1]\n %3 = permute %2 [1,0] : f32[1,64]\n"
       " %4 = expand %3 [256,64] : f32[256,64]\n %5 = permute %x [1,0] : f32[256,64]\n %6 = mul %4, %5 : f32[256,64]\n return %6",
       "computing it again for every element of its broadcast costs more than a load", "axis of 256", 1},
      {"%1 = scan.sum %x dim=1 : f32[64,256]\n %2 = scan.sum %1 dim=0 : f32[64,256]\n return %2", "the two scans run along different dims",
       "dim 1", 1},
      {"%1 = scan.sum %x dim=1 : f32[64,256]\n %2 = reduce.sum %1 dims=[1] : f32[64,1]\n return %2",
       "a scan stands beside no reduction or contraction: it walks its lines in order", "", 1},
      {"%1 = exp %x : f32[64,256]\n %2 = pad %1, %c lo=[0,1] hi=[0,1] : f32[64,258]\n return %2", "its reader loads it under a guard", "",
       1},
      {"%1 = reduce.sum %x dims=[1] : f32[64,1]\n %2 = reduce.max %x dims=[0] : f32[1,256]\n return %1, %2",
       "its readers reduce different dims", "", 2},
  };
  for (const Case& c : cases) {
    CAPTURE(c.body);
    const Fused r = fuse_text(std::string("graph @g(%x: f32[64,256]) {\n %c = const 0.0 : f32[]\n ") + c.body + "\n}\n");
    CHECK(r.kernels.size() == 2);
    REQUIRE(!r.refusals.empty());
    CHECK(r.refusals[0].reason == c.reason);
    CHECK(r.refusals[0].where == c.where);
    CHECK(r.refusals[0].readers.size() == c.readers);
  }
}

TEST_CASE("a product takes in what reads its rows as two dims, and not what reads a part of them or would leave its lines") {
  const auto kernels = [](const std::string& inputs, const std::string& readers) {
    return count("  %p = dot %a, %b : f32[128,32]\n" + readers, "%a: f32[128,48], %b: f32[48,32], " + inputs);
  };
  const std::string rows = "  %1 = reshape %p [64,2,32] : f32[64,2,32]\n";
  CHECK(kernels("%x: f32[64,2,32]", rows + "  %2 = add %x, %1 : f32[64,2,32]\n  return %2\n") == 1);
  CHECK(kernels("%x: f32[64,2,32]", rows + "  %2 = add %x, %1 : f32[64,2,32]\n  return %2, %p\n") == 1);
  // Of each second row's bias there is no line; the turned sum is stored by remainders.
  CHECK(kernels("%x: f32[1,2,32]", rows + "  %2 = expand %x [64,2,32] : f32[64,2,32]\n  %3 = add %2, %1 : f32[64,2,32]\n  return %3\n") ==
        2);
  CHECK(kernels("%x: f32[2,64,32]", rows + "  %2 = permute %1 [1,0,2] : f32[2,64,32]\n  %3 = add %2, %x : f32[2,64,32]\n  return %3\n") ==
        2);
  CHECK(kernels("%x: f32[128,16]",
                "  %2 = slice %p starts=[0,0] steps=[1,1] sizes=[128,16] : f32[128,16]\n"
                "  %3 = add %2, %x : f32[128,16]\n  return %3, %p\n") == 2);
  CHECK(kernels("%x: f32[32,2,32]",
                "  %1 = slice %p starts=[0,0] steps=[1,1] sizes=[64,32] : f32[64,32]\n  %2 = reshape %1 [32,2,32] : f32[32,2,32]\n"
                "  %3 = add %2, %x : f32[32,2,32]\n  return %3, %p\n") == 2);
}

TEST_CASE("a GPU's large products are calls of its library, and so nothing joins them; others are kernels with their readers") {
  FusionOptions options;
  ir::GpuTarget& target = std::get<ir::GpuTarget>(options.targets[0] = ir::GpuTarget{});
  const auto product = [&](int64_t n, const std::string& type, const std::string& reader) {
    const std::string square = type + "[" + std::to_string(n) + "," + std::to_string(n) + "]";
    const ir::Graph graph = ir::parse_graph("graph @g(%a: " + square + ", %b: " + square + ") {\n  %1 = dot %a, %b : " + square +
                                            "\n  %2 = " + reader + " %1 : " + square + "\n  return %2\n}\n");
    return fuse(graph.outputs, options);
  };
  target.compute = 90;
  const FusionResult large = product(2048, "f32", "neg");
  REQUIRE(large.kernels.size() == 2);
  CHECK(large.kernels[0].call()->op() == ir::Op::Dot);
  CHECK(large.refusals.at(0).reason == "a routine of the library computes it");
  CHECK(product(64, "f32", "neg").kernels.size() == 1);
  CHECK(product(4096, "i32", "neg").kernels.size() == 1);
  // Kernels on tensor cores, whose operands are copied asynchronously, are worth it for larger ones.
  CHECK(product(128, "f32", "neg").kernels.size() == 1);
  CHECK(product(512, "f32", "neg").kernels.size() == 2);
  CHECK(product(512, "f16", "neg").kernels.size() == 1);
  CHECK(product(2048, "f16", "neg").kernels.size() == 2);
  // A library that is not there computes nothing.
  target.library = {};
  REQUIRE(product(2048, "f32", "neg").kernels.size() == 1);
  CHECK(!product(2048, "f32", "neg").kernels[0].call());
}

TEST_CASE("a GPU's library reads a transposed operand where it lies") {
  FusionOptions options;
  options.targets[0] = ir::GpuTarget{};
  const auto kernels = [&](const char* permuted, const char* shape) {
    const ir::Graph graph = ir::parse_graph(std::string("graph @g(%a: f32[2,2048,2048], %w: f32") + shape + ") {\n  %1 = permute %w " +
                                            permuted + " : f32[2,2048,2048]\n  %2 = dot %a, %1 : f32[2,2048,2048]\n  return %2\n}\n");
    return fuse(graph.outputs, options).kernels;
  };
  const std::vector<FusedKernel> turned = kernels("[0,2,1]", "[2,2048,2048]");
  REQUIRE(turned.size() == 1);
  CHECK(turned[0].call()->operands[1].strides == ir::Dims{2048 * 2048, 1, 2048});
  CHECK(kernels("[1,0,2]", "[2048,2,2048]").size() == 2);  // the matrices themselves lie apart
}

TEST_CASE("a GPU's contraction computes cheap operands as it stages them, and dear ones not") {
  FusionOptions options;
  options.targets[0] = ir::GpuTarget{};
  const auto kernels = [&](const std::string& left) {
    const ir::Graph graph = ir::parse_graph("graph @g(%a: f32[64,32], %b: f32[32,48]) {\n  %1 = " + left +
                                            " %a : f32[64,32]\n  %2 = dot %1, %b : f32[64,48]\n  return %2\n}\n");
    return fuse(graph.outputs, options);
  };
  CHECK(kernels("neg").kernels.size() == 1);
  const FusionResult dear = kernels("tanh");
  CHECK(dear.kernels.size() == 2);
  CHECK(dear.refusals.at(0).reason == "the operand of a contraction is computed again for every tile: that costs more than a load");
}

TEST_CASE("an output that others read is one more output of the kernel that computes it") {
  ir::Graph graph = ir::parse_graph("graph @g(%x: f32[64,256]) {" + kSoftmax + "}\n");
  std::vector<ir::NodeRef> outputs = graph.outputs;
  for (const ir::NodeRef& node : graph.nodes) {
    if (node->op() == ir::Op::Exp || node->op() == ir::Op::ReduceMax) outputs.push_back(node);
  }
  FusionResult result = fuse(outputs);
  REQUIRE(result.kernels.size() == 1);
  CHECK(result.kernels[0].outputs.size() == 3);
}

TEST_CASE("constants, views of inputs and reductions over nothing can be outputs") {
  CHECK(count("  %1 = const 2.5 : f32[4]\n  return %1\n") == 1);
  CHECK(count("  %1 = permute %x [1,0] : f32[256,64]\n  return %1\n") == 1);
  CHECK(count("  %1 = reduce.sum %e dims=[0] : f32[1,3]\n  return %1\n", "%e: f32[0,3]") == 1);
  CHECK(count("  return %x\n") == 0);
  // Nothing summed is 0, but only inside the pad.
  Fused padded = fuse_text(
      "graph @g(%e: f32[0,3]) {\n  %1 = reduce.sum %e dims=[0] : f32[1,3]\n  %v = const 7.0 : f32[]\n"
      "  %2 = pad %1, %v lo=[0,1] hi=[0,0] : f32[1,4]\n  return %2\n}\n");
  CHECK(ir::print(padded.kernels.back().work).find("where") != std::string::npos);
}

// x0 + x1 + ... with so many additions, each x an input.
Fused long_sum(int additions) {
  std::string inputs = "%x0: f32[64]", body;
  for (int i = 1; i <= additions; ++i) {
    inputs += ", %x" + std::to_string(i) + ": f32[64]";
    body += "  %" + std::to_string(i) + " = add %" + (i == 1 ? "x0" : std::to_string(i - 1)) + ", %x" + std::to_string(i) + " : f32[64]\n";
  }
  return fuse_text("graph @g(" + inputs + ") {\n" + body + "  return %" + std::to_string(additions) + "\n}\n");
}

TEST_CASE("a sum of many terms is computed in pieces of few kinds") {
  std::set<size_t> kinds;  // by the number of their terms
  for (int additions = 1; additions <= 64; ++additions) {
    CAPTURE(additions);
    const Fused sum = long_sum(additions);
    const int left = additions % 8, pieces = additions / 8 + (left >> 2) + (left >> 1 & 1) + (left & 1);
    CHECK(sum.kernels.size() == static_cast<size_t>(additions <= 4 ? 1 : pieces));
    for (const FusedKernel& k : sum.kernels) kinds.insert(k.inputs.size());
  }
  CHECK(kinds == std::set<size_t>{2, 3, 4, 5, 9});
}

TEST_CASE("the points of a stencil are one kernel") {
  std::string body = "  %0 = strided %x sizes=[8,8] strides=[100,1] offset=0 : f32[8,8]\n";
  for (int i = 1; i < 25; ++i) {
    const std::string slice = std::to_string(2 * i - 1), sum = std::to_string(2 * i);
    body += "  %" + slice + " = strided %x sizes=[8,8] strides=[100,1] offset=" + std::to_string(i / 5 * 100 + i % 5) + " : f32[8,8]\n";
    body += "  %" + sum + " = add %" + std::to_string(2 * i - 2) + ", %" + slice + " : f32[8,8]\n";
  }
  CHECK(count(body + "  return %48\n", "%x: f32[10000]") == 1);
}

TEST_CASE("of many readers that do the same, eight are a kernel") {
  for (int readers : {1, 2, 3, 4, 5, 8, 16, 23}) {
    CAPTURE(readers);
    std::string inputs = "%x: f32[64]", body, results;
    for (int i = 0; i < readers; ++i) {
      const std::string n = std::to_string(i);
      inputs += ", %y" + n + ": f32[64]";
      body += "  %" + n + " = mul %x, %y" + n + " : f32[64]\n";
      results += (i ? ", %" : "%") + n;
    }
    const int left = readers % 8, teams = readers / 8 + (left >> 2) + (left >> 1 & 1) + (left & 1);
    CHECK(count(body + "  return " + results + "\n", inputs) == static_cast<size_t>(readers <= 4 ? 1 : teams));
  }
}

}  // namespace
}  // namespace tenon::passes
