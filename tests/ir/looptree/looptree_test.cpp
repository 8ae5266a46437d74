// The loop tree's builder, text form and verifier: trees print, parse and print the same; the key holds no
// names; each broken rule is refused with its place.
#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "ir/looptree/looptree.h"

using namespace tenon::ir;

namespace {

// Every kind of statement once.
const char* kEverything = R"(looptree @all cpu lanes=8 {
  params x: f32 in, idx: i64 in, y: f32 out, tmp: f32 global[s2], row: f32 local[64], a0: f32 scalar, sizes 3
  phase rows: parallel %0 in 0..s0 {
    %1 = size s1 : i64
    %2 = const -inf : f32x8
    %3 = const 0 : i64
    %4 = scalar a0 : f32
    %5 = splat %4 : f32x8
    var %6 = %2
    for %7 in %3..%1 step 8 unroll {
      %8 = ramp %7, %3 : i64x8
      %9 = splat %1 : i64x8
      %10 = lt %8, %9 : boolx8
      %11 = load x[%7] mask %10 : f32x8
      %12 = load x[%7 stride %1] : f32x8
      %13 = load idx[%7] : i64x8
      %14 = load x[%13] mask %10 : f32x8
      %15 = fma %11, %12, %14 : f32x8
      %16 = where %10, %15, %5 : f32x8
      store row[%3], %16
      store y[%7 stride %1] mask %10, %16
      store tmp[%13], %16
      %17 = get %6 : f32x8
      %18 = max %17, %16 : f32x8
      set %6, %18
      prefetch x[%7]
    }
    %19 = get %6 : f32x8
    %20 = low %19 : f32x4
    %21 = high %19 : f32x4
    %22 = max %20, %21 : f32x4
    %23 = extract %22, %3 : f32
    %24 = const 1.5 : f32
    %25 = gt %23, %24 : bool
    if %25 {
      store y[%3], %23
    } else {
      store y[%3], %24
    }
    if %25 {
    }
  }
  phase end: parallel %26 in 0..s2 {
    %27 = cast %26 : f32
    store y[%26], %27
    %28 = load x[%26] : f32x8
    %29 = deal %28, %28, %28 at 2 : f32x8
    %30 = weave %29, %28 at 0 : f32x8
    store y[%26], %30
  }
}
)";

std::string error_of(const std::string& text) {
  try {
    parse_looptree(text, "t");
  } catch (const IrError& error) {
    return error.what();
  }
  return "";
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kEverything;
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("looptree: prints and parses back") {
  const LoopTree tree = parse_looptree(kEverything);
  CHECK(print(tree) == kEverything);
  CHECK(tree.phases.size() == 2);
  verify(tree);
  const std::string gpu = R"(looptree @g cuda threads=256 resident=2 index=i32 {
  params x: f16 in, s: f32 shared[256], sizes 1
  phase rows: parallel %0 in 0..s0 {
    %1 = thread : i32
    %2 = load x[%1] : f16
    %3 = cast %2 : f32
    %4 = shuffle_down %3, %1 : f32
    %5 = max %3, %4 fast : f32
    store s[%1], %5
    barrier
  }
}
)";
  CHECK(print(parse_looptree(gpu)) == gpu);
  verify(parse_looptree(gpu));
  const char* broken[][3] = {
      {"max %3, %4 fast", "add %3, %4 fast", "no machine has this operation"},
      {"max %3, %4 fast : f32", "max %1, %1 fast : i32", "fast is for an f32 on a GPU"},
      {"resident=2", "resident=9", "more resident threads than a multiprocessor has"},
  };
  for (const auto& [from, to, reason] : broken) {
    std::string changed = gpu;
    CHECK(error_of(changed.replace(changed.find(from), std::strlen(from), to)).find(reason) != std::string::npos);
  }
}

TEST_CASE("looptree: tiles of a warp print, parse and keep to their types") {
  const std::string text = R"(looptree @m cuda threads=32 index=i32 {
  params y: f32 out, l: f16 shared[640], s: bf16 shared[640], g: f16 global[s0], w: f32 shared[640], r: f32 local[8], sizes 1
  phase tiles: parallel %0 in 0..s0 {
    %1 = const 0 : i32
    %2 = const 40 : i32
    %3 = const 0.0 : f32x8
    var %4 = %3
    %5 = load_tile l[%1] : f16x8
    %6 = load_tile s[%2] transposed : bf16x8
    %7 = get %4 : f32x8
    %8 = mma %5, %5, %7 : f32x8
    set %4, %8
    %9 = extract %8, %1 : f32
    store y[%1], %9
    store r[%1], %8
    %10 = load r[%1] : f32x8
    %11 = cast %10 : f16x8
    %12 = mma %11, %5, %10 : f32x8
    %13 = load g[%1] : f16x8
    store l[%1], %13
  }
}
)";
  CHECK(print(parse_looptree(text)) == text);
  const char* broken[][3] = {
      {"%11 = cast %10 : f16x8", "%11 = cast %10 : f16x4", "the result has another type"},
      {"%11 = cast %10 : f16x8", "%11 = cast %10 : bf16x8", "both factors of mma have one type"},
      {"load r[%1] : f32x8", "load r[%1] : f16x8", "the buffer has another dtype"},
      {"store l[%1], %13", "store s[%1], %13", "the buffer has another dtype"},
      {"mma %5, %5", "mma %5, %6", "both factors of mma have one type"},
      {"mma %5, %5", "mma %3, %3", "mma multiplies tiles of f16 or bf16"},
      {"mma %5, %5, %7", "mma %5, %5, %5", "mma adds to a tile of f32"},
      {"mma %5, %5, %7", "mma %5, %5", "takes 3 operands"},
      {"load_tile l[", "load_tile g[", "a tile is read from shared memory"},
      {"load_tile l[%1]", "load_tile l[%1 stride %2]", "a tile has neither stride nor mask"},
      {"load_tile l[%1] : f16x8", "load_tile l[%1] : f16x4", "eight elements of a tile"},
      {"load_tile l[%1] : f16x8", "load_tile w[%1] : f32x8", "eight elements of a tile"},
      {"cuda threads=32", "cpu", "a tile of a warp is for a GPU"},
  };
  for (const auto& [from, to, reason] : broken) {
    CAPTURE(to);
    std::string changed = text;
    changed.replace(changed.find(from), std::strlen(from), to);
    for (size_t at; changed.find("cpu") != std::string::npos && (at = changed.find("shared")) != std::string::npos;)
      changed.replace(at, 6, "local");
    CHECK(error_of(changed).find(reason) != std::string::npos);
  }
}

TEST_CASE("looptree: asynchronous copies print, parse, and come in an order in which they can be read") {
  const std::string text = R"(looptree @ring cuda threads=32 index=i32 {
  params x: f16 in, y: f16 out, s: f16 shared[768] stages 3, o: f32 shared[32], sizes 1
  phase rows: parallel %0 in 0..s0 {
    %1 = const 0 : i32
    %2 = const 256 : i32
    %3 = size s0 : i32
    %4 = thread : i32
    for %5 in %1..%3 step 1 {
      wait 1
      barrier
      %6 = lt %4, %3 : bool
      if %6 {
        copy_async s[%1] from x[%5] mask %6
      }
      copy_async s[%2] from x[%1]
      commit
      %7 = load s[%1] : f16
      store y[%5], %7
    }
  }
}
)";
  CHECK(print(parse_looptree(text)) == text);
  LoopTree tree = parse_looptree(text);
  CHECK(same_code(tree, parse_looptree(text)));
  tree.buffers[2].stages = 2;
  CHECK_FALSE(same_code(tree, parse_looptree(text)));
  const char* broken[][3] = {
      {"      commit\n", "", "no commit follows"},
      {"      wait 1\n", "", "what copy_async fills is read after a wait and a barrier"},
      {"      wait 1\n      barrier\n", "      barrier\n      wait 1\n", "read after a wait and a barrier"},
      {"wait 1", "wait 3", "more groups under way than there are stages"},
      {"mask %6\n      }\n", "mask %6\n        commit\n      }\n", "all threads come to a commit and a wait"},
      {"mask %6\n      }\n", "mask %6\n        wait 0\n      }\n", "all threads come to a commit and a wait"},
      {"    for %5 in %1..%3 step 1 {\n      wait 1\n      barrier\n", "    wait 1\n    barrier\n    for %5 in %1..%3 step 1 {\n",
       "no wait follows"},
      {"copy_async s[%2] from x", "copy_async o[%2] from x", "copy_async keeps the dtype"},
      {"copy_async s[%2] from x", "copy_async y[%2] from x", "copy_async fills shared memory"},
      {"copy_async s[%2] from x", "copy_async s[%2] from s", "copy_async reads global memory"},
      {"mask %6", "mask %5", "the mask of copy_async is one bool"},
      {"shared[768] stages 3", "shared[770] stages 3", "equal parts"},
      {"x: f16 in", "x: f16 in, g: f16 global[s0] stages 2", "shared memory alone has stages"},
  };
  for (const auto& [from, to, reason] : broken) {
    CAPTURE(to);
    std::string changed = text;
    CHECK(error_of(changed.replace(changed.find(from), std::strlen(from), to)).find(reason) != std::string::npos);
  }
}

TEST_CASE("looptree: a branch may hold a commit and a wait if all threads of a block take it together") {
  const std::string text = R"(looptree @ring cuda threads=32 index=i32 {
  params x: f16 in, y: f16 out, s: f16 shared[256], n: i32 scalar, sizes 2
  phase rows: parallel %0 in 0..s0 {
    %1 = const 0 : i32
    %2 = size s1 : i32
    %3 = thread : i32
    %4 = scalar a0 : i32
    %5 = sub %0, %2 : i32
    %6 = lt %5, %4 : bool
    if %6 {
      copy_async s[%1] from x[%1]
      commit
      wait 0
      barrier
      %7 = load s[%1] : f16
      store y[%1], %7
    }
  }
}
)";
  CHECK(error_of(text) == "");
  const char* apart[][2] = {{"sub %0, %2", "sub %0, %3"},
                            {"lt %5, %4", "lt %3, %4"},
                            {"%5 = sub %0, %2 : i32", "%5 = shuffle %0, %3 : i32"},
                            {"%5 = sub %0, %2 : i32", "%5 = load z[%1] : i32"}};
  for (const auto& [from, to] : apart) {
    CAPTURE(to);
    std::string changed = text;
    changed.replace(changed.find(from), std::strlen(from), to);
    if (const size_t x = changed.find("x: f16 in"); changed.find(" z[") != std::string::npos) changed.replace(x, 9, "x: f16 in, z: i32 in");
    CHECK(error_of(changed).find("all threads come to a commit and a wait") != std::string::npos);
  }
}

TEST_CASE("looptree: all threads of a block come to a barrier, also in a loop that they go round equally often") {
  const std::string text = R"(looptree @turns cuda threads=32 index=i32 {
  params x: i32 in, y: i32 out, n: i32 scalar, sizes 2
  phase in_turn: parallel %0 in 0..s0 {
    %1 = const 0 : i32
    %2 = size s1 : i32
    %3 = thread : i32
    %4 = load x[%3] : i32
    for %5 in %1..%2 step 1 {
      %6 = scalar a0 : i32
      %7 = lt %5, %6 : bool
      for %8 in %5..%2 step 2 {
        if %7 {
          store y[%3], %4
          barrier
        }
      }
    }
  }
}
)";
  CHECK(error_of(text) == "");
  const char* apart[][2] = {{"%5 in %1..%2", "%5 in %3..%2"},
                            {"%5 in %1..%2", "%5 in %1..%4"},
                            {"%8 in %5..%2", "%8 in %5..%3"},
                            {"lt %5, %6", "lt %4, %6"},
                            {"lt %5, %6", "lt %5, %3"}};
  for (const auto& [from, to] : apart) {
    CAPTURE(to);
    std::string changed = text;
    changed.replace(changed.find(from), std::strlen(from), to);
    CHECK(error_of(changed).find("all threads come to a barrier") != std::string::npos);
  }
}

TEST_CASE("looptree: the key leaves out names and numbering alone") {
  LoopTree tree = parse_looptree(kEverything);
  const std::string key = print(tree, false), bytes = code_bytes(tree);
  for (const char* name : {"@all", "idx", "tmp", "row", "end"}) CHECK(key.find(name) == std::string::npos);
  CHECK(print(parse_looptree(key), false) == key);
  tree.name = "other";
  tree.buffers[0].name = "renamed";
  tree.phases[1].name = "finish";
  CHECK(print(tree, false) == key);
  CHECK(code_bytes(tree) == bytes);
  // Unused and reordered value ids print alike.
  std::string sparse = with("%24 = const 1.5 : f32", "%924 = const 1.5 : f32");
  for (size_t at; (at = sparse.find("%24")) != std::string::npos;) sparse.replace(at, 3, "%924");
  CHECK(print(parse_looptree(sparse), false) == key);

  const char* changes[][2] = {{"lanes=8", "lanes=4"},     {"unroll ", ""},    {"step 8", "step 16"}, {"const -inf", "const inf"},
                              {"local[64]", "local[65]"}, {"0..s0", "0..s1"}, {" mask %10", ""},     {"max %17, %16", "max %16, %17"}};
  for (const auto& change : changes) {
    CHECK(print(parse_looptree(with(change[0], change[1])), false) != key);
    CHECK(code_bytes(parse_looptree(with(change[0], change[1]))) != bytes);
  }
}

TEST_CASE("looptree: the builder types values and closes blocks") {
  LoopTree tree;
  tree.name = "built";
  tree.lanes = 4;
  tree.scalars = {DType::F64};
  TreeBuilder b(tree);
  const int32_t x = b.add_buffer({"x", DType::F32, Space::In});
  const int32_t y = b.add_buffer({"y", DType::Bool, Space::Out});
  const int32_t n = b.new_size();
  b.begin_phase("p", n);
  const ValueId zero = b.index_constant(0);
  const ValueId loop = b.begin_for(zero, b.size(n), 4);
  const ValueId v = b.load(x, loop, 4);
  const ValueId s = b.splat(b.op(Op::Cast, {b.scalar(0)}, DType::F32), 4);
  const ValueId c = b.op(Op::Lt, {v, s});
  CHECK(b.type(c) == VType{DType::Bool, 4});
  CHECK(b.type(b.op(Op::Where, {c, v, s})) == VType{DType::F32, 4});
  CHECK(b.type(b.op(Op::Bitcast, {v}, DType::I32)) == VType{DType::I32, 4});
  CHECK(b.splat(v, 4) == v);
  b.store(y, loop, c);
  b.end_for();
  const ValueId flag = b.constant({DType::Bool, 1});
  b.begin_if(flag);
  b.store(y, zero, flag);
  b.begin_else();
  const ValueId r = b.var(flag);
  b.begin_if(b.get(r));
  b.set(r, flag);
  b.end_if();
  b.end_if();
  CHECK_THROWS_AS(b.op(Op::Add, {v, zero}), IrError);
  CHECK_THROWS_AS(b.op(Op::Add, {c, c}), IrError);
  CHECK_THROWS_AS(b.op(Op::Add, {v}), IrError);
  CHECK_THROWS_AS(b.op(Op::Where, {v, v, v}), IrError);
  CHECK_THROWS_AS(b.op(Op::Bitcast, {v}, DType::F64), IrError);
  CHECK_THROWS_AS(b.end_for(), IrError);
  CHECK_THROWS_AS(b.begin_else(), IrError);
  b.end_phase();
  verify(tree);
  REQUIRE(tree.phases[0].body.size() == 5);
  const Stmt& branch = tree.phases[0].body[4];
  CHECK(branch.body.size() == 1);
  CHECK(branch.orelse.size() == 3);
  CHECK(print(parse_looptree(print(tree))) == print(tree));
}

TEST_CASE("looptree: deal and weave name one of their operands, all of one type") {
  auto refused = [](const char* text, const char* reason) {
    CHECK(error_of(with("deal %28, %28, %28 at 2", text)).find(reason) != std::string::npos);
  };
  refused("deal %28, %28, %28 at 3", "which one is beyond the operands");
  refused("deal %28, %27 at 1", "all operands have the result's type");
  refused("deal at 0", "which one is beyond the operands");
  refused("deal %28, %28", "expected 'at'");
}

TEST_CASE("looptree: malformed text is refused with its place") {
  CHECK(error_of(with("%18 = max", "%18 = mox")) == "t:24:13: 'mox' is not an op");
  CHECK(error_of(with("max %17, %16", "max %17, %99")) == "t:24:22: this value is not defined");
  CHECK(error_of(with("store tmp[", "store tmq[")).find("t:22:13: there is no buffer tmq") == 0);
  CHECK(error_of(with("const -inf", "const fred")).find("t:5:16: 'fred' is not a constant") == 0);
  CHECK(error_of(with("f32x8", "f33x8")).find("'f33' is not a type") != std::string::npos);
  const char* broken[][3] = {
      {"store row[%3]", "store x[%3]", "a store into an input"},
      {"%19 = get %6", "%19 = get %5", "needs a register"},
      {"lt %8, %9 : boolx8", "lt %8, %6 : boolx8", "a register is read with get"},
      {"%20 = low %19 : f32x4", "%20 = low %19 : f32x2", "twice the lanes"},
      {"%19 = get %6 : f32x8", "%19 = add %16, %16 : f32x8", "not defined here"},
      {"if %25 {", "if %22 {", "scalar"},
      {"scalar a0", "scalar a1", "no such scalar"},
      {"size s1", "size s3", "no such size"},
      {"[%7] mask %10 : f32x8", "[%7] mask %10 : f32x4", "mask"},
      {"[%7] mask %10 : f32x8", "[%7] mask %10 : i32x8", "dtype"},
      {"step 8", "step 0", "positive"},
      {"set %6, %18", "set %6, %3", "register has another type"},
      {"const -inf : f32x8", "const -inf : f32x7", "power of two"},
      {"x: f32 in, idx", "idx: f32 in, idx", "two buffers"},
      {"if %25 {\n    }\n", "barrier\n", "GPU"},
      {"prefetch x[%7]", "prefetch x[%8]", "scalar"},
      {"prefetch x[%7]", "prefetch x[%7] mask %10", "one place"},
      {"prefetch x[%7]", "prefetch x[%7 stride %1]", "1 operands"},
  };
  for (const auto& rule : broken) {
    CAPTURE(rule[1]);
    CHECK(error_of(with(rule[0], rule[1])).find(rule[2]) != std::string::npos);
  }
  std::string deep = "looptree cpu {\n params sizes 1\n phase p: parallel %0 in 0..s0 { %1 = const true : bool\n";
  for (int i = 0; i < 100000; ++i) deep += "if %1 {";
  CHECK(error_of(deep).find("nested too deeply") != std::string::npos);
}

// Whatever is done to a text, the parser accepts or throws IrError; what it accepts prints and parses back.
TEST_CASE("looptree: damaged text never crashes the parser") {
  std::mt19937 random(7);
  const std::string source = kEverything;
  int accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text = source;
    const size_t at = random() % text.size();
    switch (random() % 3) {
      case 0: text[at] = source[random() % source.size()]; break;
      case 1: text.erase(at, random() % 20); break;
      default: text.insert(at, source.substr(random() % source.size(), random() % 20)); break;
    }
    try {
      const LoopTree tree = parse_looptree(text);
      ++accepted;
      const std::string printed = print(tree);
      if (print(parse_looptree(printed)) != printed) FAIL("does not round-trip:\n" << text);
    } catch (const IrError& error) {
      if (std::strncmp(error.what(), "<text>:", 7) != 0) FAIL("no place in: " << error.what());
    }
  }
  CHECK(accepted > 100);
}

TEST_CASE("looptree: a vector may be the condition of a branch on a CPU alone") {
  const auto tree = [](const std::string& head) {
    return "looptree @t " + head +
           " {\n  params x: f32 in, y: f32 out, sizes 1\n  phase p: parallel %0 in 0..s0 {\n"
           "    %1 = load x[%0] : f32x4\n    %2 = gt %1, %1 : boolx4\n    if %2 {\n      store y[%0], %1\n    }\n  }\n}\n";
  };
  CHECK(error_of(tree("cpu lanes=4")).empty());
  CHECK(error_of(tree("cuda threads=32")).find("needs a scalar operand") != std::string::npos);
}
