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

int occurrences(const std::string& text, const std::string& what) {
  int n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// The lines from one that begins with `from` to the end of its block.
std::string block(const std::string& text, const std::string& from) {
  const size_t begin = text.find("\n" + from) + 1;
  REQUIRE(begin != 0);
  return text.substr(begin, text.find("\n" + from.substr(0, from.find_first_not_of(' ')) + "}", begin) - begin);
}

}  // namespace

TEST_CASE("branches: a long arm that no other value needs goes behind one, with the choice") {
  const std::string text = branched("    %2 = abs %1 : f32x8\n    %3 = gt %1, %2 : boolx8\n" + roots(4, 6, 1) +
                                    "    %10 = sqrt %2 : f32x8\n    %11 = where %3, %9, %10 : f32x8\n    store y[%0], %11\n");
  CHECK(text == tree_with("    %2 = abs %1 : f32x8\n    %3 = gt %1, %2 : boolx8\n    %4 = sqrt %2 : f32x8\n    var %5 = %4\n    if %3 {\n"
                          "      %6 = sqrt %1 : f32x8\n      %7 = sqrt %6 : f32x8\n      %8 = sqrt %7 : f32x8\n"
                          "      %9 = sqrt %8 : f32x8\n      %10 = sqrt %9 : f32x8\n      %11 = sqrt %10 : f32x8\n"
                          "      %12 = where %3, %11, %4 : f32x8\n      set %5, %12\n    }\n    %13 = get %5 : f32x8\n"
                          "    store y[%0], %13\n"));
}

TEST_CASE("branches: the other arm goes where a lane does not have the condition") {
  const std::string text = branched("    %2 = gt %1, %1 : boolx8\n    %3 = sqrt %1 : f32x8\n" + roots(4, 6, 1) +
                                    "    %10 = where %2, %3, %9 : f32x8\n    store y[%0], %10\n");
  CHECK(occurrences(text, "not %2 : boolx8") == 1);
  CHECK(occurrences(block(text, "    if %"), "sqrt") == 6);
}

TEST_CASE("branches: two long arms have one each") {
  const std::string text = branched("    %2 = gt %1, %1 : boolx8\n" + roots(3, 6, 1) + roots(9, 7, 1) +
                                    "    %16 = where %2, %8, %15 : f32x8\n    store y[%0], %16\n");
  CHECK(occurrences(text, "if %") == 2);
  CHECK(occurrences(block(text, "    if %2"), "sqrt") == 6);
  CHECK(occurrences(text, "where %2, ") == 1);
}

TEST_CASE("branches: choices on one condition share one, and an arm may have one within") {
  const std::string text = branched("    %2 = gt %1, %1 : boolx8\n    %3 = lt %1, %1 : boolx8\n" + roots(4, 6, 1) +
                                    "    %10 = sqrt %1 : f32x8\n    %11 = where %3, %9, %10 : f32x8\n    %12 = sqrt %11 : f32x8\n"
                                    "    %13 = sqrt %1 : f32x8\n    %14 = where %2, %11, %13 : f32x8\n"
                                    "    %15 = where %2, %12, %13 : f32x8\n    store y[%0], %14\n    store y[%0], %15\n");
  CHECK(occurrences(text, "if %") == 2);
  const std::string outer = block(text, "    if %2 {");
  CHECK(occurrences(outer, "where %2, ") == 2);
  CHECK(occurrences(outer, "sqrt") == 8);
  CHECK(occurrences(block(outer, "      if %"), "sqrt") == 6);
}

TEST_CASE("branches: what is short, loaded or needed elsewhere stays, and an arm beside a value at hand") {
  const std::string start = "    %2 = gt %1, %1 : boolx8\n    %3 = sqrt %1 : f32x8\n";
  CHECK(branched(start + roots(4, 5, 1) + "    %9 = where %2, %8, %3 : f32x8\n    store y[%0], %9\n").empty());
  CHECK(branched(start + roots(4, 6, 1) + "    %10 = where %2, %9, %1 : f32x8\n    store y[%0], %10\n").empty());
  CHECK(branched(start + roots(4, 6, 1) + "    %10 = where %2, %9, %3 : f32x8\n    store y[%0], %10\n    store y[%0], %9\n").empty());
  CHECK(branched(start + roots(4, 6, 1) + "    %10 = where %2, %9, %9 : f32x8\n    store y[%0], %10\n").empty());
  const std::string text =
      branched(start + "    %4 = load x[%0] : f32x8\n" + roots(5, 6, 4) + "    %11 = where %2, %10, %3 : f32x8\n    store y[%0], %11\n");
  CHECK(text.find("%4 = load") < text.find("if %2"));
}

TEST_CASE("branches: a division of integers is long") {
  const std::string text = branched(
      "    %2 = cast %1 : i64x8\n    %3 = gt %1, %1 : boolx8\n    %4 = div %2, %2 : i64x8\n"
      "    %5 = add %2, %2 : i64x8\n    %6 = add %5, %5 : i64x8\n    %7 = where %3, %4, %6 : i64x8\n"
      "    %8 = cast %7 : f32x8\n    store y[%0], %8\n");
  CHECK(occurrences(block(text, "    if %3 {"), "div") == 1);
}

}  // namespace tenon::passes
