// Arms of choices behind branches: which go there, and what the tree looks like then. That the bits stay is tested wherever kernels are.
#include <doctest/doctest.h>

#include <string>

#include "passes/schedule/branches.h"

namespace tenon::passes {
namespace {

// A phase that loads %1 and chooses; statements begin with %2.
std::string tree_with(const std::string& statements) {
  return "looptree @t cpu lanes=8 {\n  params x: f32 in, y: f32 out, sizes 1\n  phase rows: parallel %0 in 0..s0 {\n"
         "    %1 = load x[%0] : f32x8\n" +
         statements + "  }\n}\n";
}

// `count` square roots, one of the other, from value `from` on.
std::string roots(int from, int count, int operand) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "    %" + std::to_string(from + i) + " = sqrt %" + std::to_string(i ? from + i - 1 : operand) + " : f32x8\n";
  }
  return text;
}

std::string branched(const std::string& statements) {
  const std::optional<ir::LoopTree> tree = branch_around_arms(ir::parse_looptree(tree_with(statements)));
  if (!tree) return "";
  ir::verify(*tree);
  return ir::print(*tree);
}

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// The text between the brace after `from` and its end.
std::string block(const std::string& text, const std::string& from) {
  const size_t begin = text.find(from);
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find("\n    }", begin) - begin);
}

}  // namespace

TEST_CASE("branches: a long arm that no other value needs goes behind one") {
  const std::string text = branched("    %2 = abs %1 : f32x8\n    %3 = gt %1, %2 : boolx8\n" + roots(4, 12, 1) +
                                    "    %16 = where %3, %15, %2 : f32x8\n    store y[%0], %16\n");
  const std::string body = block(text, "    if %3 {");
  CHECK(count(body, "sqrt") == 12);
  CHECK(count(text, "sqrt") == 12);
  CHECK(count(body, "set ") == 1);
  CHECK(count(text, "where %3, ") == 1);
  CHECK(text.find("if %3") < text.find("where"));
}

TEST_CASE("branches: the other arm goes where a lane does not have the condition") {
  const std::string text =
      branched("    %2 = gt %1, %1 : boolx8\n" + roots(3, 12, 1) + "    %15 = where %2, %1, %14 : f32x8\n    store y[%0], %15\n");
  CHECK(count(text, "not %2 : boolx8") == 1);
  CHECK(count(block(text, "    if %"), "sqrt") == 12);
}

TEST_CASE("branches: choices on one condition share one, and an arm may have one within") {
  const std::string text = branched("    %2 = gt %1, %1 : boolx8\n    %3 = lt %1, %1 : boolx8\n" + roots(4, 12, 1) + roots(16, 12, 1) +
                                    "    %28 = where %3, %15, %27 : f32x8\n    %29 = neg %27 : f32x8\n"
                                    "    %30 = where %2, %28, %1 : f32x8\n    %31 = where %2, %29, %1 : f32x8\n"
                                    "    store y[%0], %30\n    store y[%0], %31\n");
  CHECK(count(text, "if %") == 2);  // both of the inner choice would be two, but %27 is taken by %29 too
  CHECK(text.find("    if %2 {") != std::string::npos);
  CHECK(text.find("      if %3 {") > text.find("    if %2 {"));
  CHECK(count(text, "sqrt") == 24);
}

TEST_CASE("branches: what is short, loaded or needed elsewhere stays") {
  const std::string condition = "    %2 = gt %1, %1 : boolx8\n";
  CHECK(branched(condition + roots(3, 8, 1) + "    %11 = where %2, %10, %1 : f32x8\n    store y[%0], %11\n").empty());
  CHECK(
      branched(condition + roots(3, 12, 1) + "    %15 = where %2, %14, %1 : f32x8\n    store y[%0], %15\n    store y[%0], %14\n").empty());
  CHECK(branched(condition + roots(3, 12, 1) + "    %15 = where %2, %14, %14 : f32x8\n    store y[%0], %15\n").empty());
  const std::string text = branched(condition + "    %3 = load x[%0] : f32x8\n" + roots(4, 12, 3) +
                                    "    %16 = where %2, %15, %1 : f32x8\n    store y[%0], %16\n");
  CHECK(text.find("%3 = load") < text.find("if %2"));
}

TEST_CASE("branches: a division of integers is long") {
  const std::string text = branched(
      "    %2 = cast %1 : i64x8\n    %3 = gt %1, %1 : boolx8\n    %4 = div %2, %2 : i64x8\n"
      "    %5 = where %3, %4, %2 : i64x8\n    %6 = cast %5 : f32x8\n    store y[%0], %6\n");
  CHECK(count(block(text, "    if %3 {"), "div") == 1);
}

}  // namespace tenon::passes
