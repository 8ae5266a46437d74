// Calls: the text form both ways, what the verifier refuses, and which calls and kernels are one work.
#include "ir/call/call.h"

#include <doctest/doctest.h>

#include "ir/call/join_parts.h"
#include "ir/call/work.h"

using namespace tenon::ir;

namespace {

const std::string kSort = R"(call @sort(x0: f32 in[12], y0: i64 out[12]) {
  %0 = view x0 : f32[3,4]
  %1 = sort %0 dim=1 descending=0 : i64[3,4]
  store y0, %1
}
)";

const std::string kAttention =
    R"(call @attention(x0: f16 in[960], x1: f16 in[960], x2: f16 in[960] unaligned, y0: f16 out[320], y1: f32 out[40]) {
  %0 = view x0 strides=[24,8,0,1] : f16[2,5,1,8]
  %1 = view x1 offset=8 strides=[24,8,0,1] : f16[2,5,1,8]
  %2 = view x2 offset=16 strides=[24,8,0,1] : f16[2,5,1,8]
  %3 = attention %0, %1, %2 causal=1 scale=0.25 rows=2 result=output : f16[2,5,1,8]
  %4 = attention %0, %1, %2 causal=1 scale=0.25 rows=2 result=lse : f32[2,5,1,1]
  store y0, %3
  store y1, %4
}
)";

const std::string kCat = R"(call @cat(x0: f32 in[100], y0: f32 inout[96], a1: f32 scalar) {
  %0 = view x0 offset=50 strides=[10,1] : f32[4,8]
  %1 = view a1 : f32[4,8]
  %2 = view y0 offset=16 strides=[24,1] : f32[4,8]
  %3 = cat %0, %1, %2 dim=1 : f32[4,24]
  store y0, %3
}
)";

const std::string kScatter = R"(call @scatter.add(x1: i64 in[6], x2: f32 in[48], y0: f32 inout[80]) {
  %0 = view y0 : f32[10,8]
  %1 = view x1 strides=[1,0] : i64[6,8]
  %2 = view x2 : f32[6,8]
  %3 = scatter.add %0, %1, %2 dim=0 : f32[10,8]
  store y0, %3
}
)";

std::string error_of_call(const std::string& text) {
  try {
    parse_call(text, "t");
  } catch (const IrError& error) {
    return error.what();
  }
  return "";
}

// What is said of the text with a piece of it replaced.
std::string refused_call(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return error_of_call(text.replace(at, from.size(), to));
}

bool says(const std::string& error, const std::string& reason) {
  CAPTURE(error);
  CAPTURE(reason);
  return error.starts_with("t:") && error.find(reason) != std::string::npos;
}

}  // namespace

TEST_CASE("call: text round-trips") {
  for (const std::string& text : {kSort, kAttention, kCat, kScatter}) {
    CHECK(error_of_call(text) == "");
    CHECK(print(parse_call(text)) == text);
  }
}

TEST_CASE("call: malformed text names its place") {
  CHECK(says(refused_call(kSort, "view x0", "view x1"), "there is no parameter named x1"));
  CHECK(says(refused_call(kSort, "sort %0", "sort %7"), "unknown name %7"));
  CHECK(says(refused_call(kSort, "i64[3,4]\n  store", "i64[4,3]\n  store"), "the type is i64[3,4]"));
  CHECK(says(refused_call(kSort, "store y0, %1", "store y0, %0"), "an operand is stored"));
  CHECK(says(refused_call(kSort, "%1 = sort", "%0 = sort"), "%0 is defined twice"));
  CHECK(says(refused_call(kSort, "= sort", "= const"), "unknown operation"));
  CHECK(says(error_of_call(kSort + "x"), "text after the end of the call"));
}

TEST_CASE("call: the verifier refuses views that do not fit, and results that are not stored once") {
  CHECK(says(refused_call(kSort, "in[12]", "in[11]"), "a view runs over 0..11, but x0 has 11 elements"));
  CHECK(says(refused_call(kSort, "view x0", "view x0 strides=[-4,1]"), "a view runs over -8..3"));
  CHECK(says(refused_call(kSort, "view x0", "view x0 strides=[4]"), "has a stride for each dim"));
  CHECK(says(refused_call(kSort, "x0: f32", "x0: f64"), "x0 is f64"));
  CHECK(says(refused_call(kSort, "y0: i64 out", "y0: i64 in"), "y0 is an input"));
  CHECK(says(refused_call(kSort, "y0: i64 out", "y0: i64 inout"), "y0 has the wrong role"));
  CHECK(says(refused_call(kSort, "x0: f32 in", "x0: f32 out"), "x0 is no input"));
  CHECK(says(refused_call(kSort, "  store y0, %1\n", ""), "there is no result"));
  CHECK(says(refused_call(kSort, "  store y0, %1\n", "  store y0, %1\n  store y0, %1\n"), "y0 has two results"));
  CHECK(says(refused_call(kSort, ", y0: i64 out[12]", ", x0: f32 in[1], y0: i64 out[12]"), "the name x0 is taken"));
  CHECK(says(refused_call(kAttention, "strides=[24,8,0,1]", "strides=[24,8,8,1]"), "a stride along a dim of one element"));
  CHECK(says(refused_call(kCat, "view a1", "view a1 strides=[1,0]"), "a1 is one element"));
  CHECK(says(refused_call(kCat, "offset=16", "offset=8"), "y0 has a part where it does not belong"));
  CHECK(says(refused_call(kScatter, "%0 = view y0", "%0 = view y0 offset=8 strides=[7,1]"),
             "what is written over lies elsewhere than the result"));
  CHECK(says(refused_call(kScatter, "inout[80]", "out[80]"), "y0 has the wrong role"));
}

TEST_CASE("call: a cat's parts are runs, and what a view has is counted once") {
  const Call cat = parse_call(kCat);
  const std::vector<JoinPart> parts = join_parts(cat);
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].from == 50);
  CHECK(parts[0].to == 0);
  REQUIRE(parts[0].dims.size() == 2);
  CHECK(parts[0].dims[0].extent == 4);
  CHECK(parts[0].dims[0].from == 10);
  CHECK(parts[0].dims[0].to == 24);
  CHECK(parts[1].scalar == 0);
  CHECK(parts[1].to == 8);
  CHECK(parts[2].from == parts[2].to);
  CHECK(!cat.is_in_place(0));
  CHECK(cat.is_in_place(2));
  CHECK(places(cat.operands[0], cat.shape(0)) == 32);
  CHECK(places(cat.operands[1], cat.shape(1)) == 1);
  CHECK(places(parse_call(kScatter).operands[1], Dims{6, 8}) == 6);
  const Call rows = parse_call(R"(call @cat(x0: f32 in[32], x1: f32 in[8], y0: f32 out[100]) {
  %0 = view x0 : f32[4,8]
  %1 = view x1 : f32[1,8]
  %2 = cat %0, %1 dim=0 : f32[5,8]
  store y0 offset=60, %2
}
)");
  REQUIRE(join_parts(rows)[0].dims.size() == 1);  // one block
  CHECK(join_parts(rows)[0].dims[0].extent == 32);
  CHECK(join_parts(rows)[1].to == 92);
}

TEST_CASE("work: calls are one if they do the same to buffers of the same sizes, whatever their names") {
  const Work sort = parse_call(kSort);
  const auto with = [](const std::string& text, const std::string& from, const std::string& to) {
    std::string changed = text;
    return Work(parse_call(changed.replace(changed.find(from), from.size(), to)));
  };
  CHECK(same_work(sort, with(kSort, "@sort", "@other")));
  CHECK(hash_of_work(sort) == hash_of_work(with(kSort, "@sort", "@other")));
  CHECK(!same_work(sort, with(kSort, "descending=0", "descending=1")));
  CHECK(!same_work(sort, with(kSort, "in[12]", "in[12] unaligned")));
  CHECK(!same_work(sort, with(kSort, "view x0", "view x0 strides=[1,3]")));
  CHECK(!same_work(sort, Work(parse_call(kCat))));
  const Work kernel = parse_kernel("kernel @k(x0: f32 in[12], y0: i64 out[12]) {\n}\n");
  CHECK(!same_work(sort, kernel));
  CHECK(same_work(kernel, kernel));
  const Work packed = parse_call(kAttention), other = with(kAttention, "offset=8", "offset=0");
  CHECK(!same_work(packed, other));
  CHECK(hash_of_form(packed) == hash_of_form(other));
  CHECK(hash_of_work(packed) != hash_of_work(other));
}
