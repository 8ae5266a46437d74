// The CPU schedules on small kernels, text in, text out, with vectors of four floats. Their values are tested
// in tests/codegen/schedule_test.cpp.
#include <doctest/doctest.h>

#include <string>

#include "ir/looptree.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes {
namespace {

std::string lower(const std::string& kernel) {
  Lowered lowered = passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{128});
  ir::verify(lowered.tree);
  return ir::print(lowered.tree);
}

TEST_CASE("pointwise: chunks, vectors by four, then masked") {
  CHECK(lower(R"(kernel @scale(x: f32 in[30], a0: f32 scalar, y: f32 out[30]) {
  axes i: 30 parallel
  map i : %0 = load x[i] : f32
  map i : %1 = scalar a0 : f32
  map i : %2 = mul %0, %1 : f32
  map i : store y[i], %2
}
)") == R"(looptree @scale cpu lanes=4 {
  params x: f32 in, y: f32 out, a0: f32 scalar, sizes 2
  phase elements: parallel %0 in 0..s0 {
    %1 = const 0 : i64
    %2 = size s1 : i64
    %3 = const 4096 : i64
    %4 = mul %0, %3 : i64
    %5 = const 4096 : i64
    %6 = add %4, %5 : i64
    %7 = min %6, %2 : i64
    %8 = scalar a0 : f32
    %9 = splat %8 : f32x4
    %10 = sub %7, %4 : i64
    %11 = const -16 : i64
    %12 = and %10, %11 : i64
    %13 = add %4, %12 : i64
    for %14 in %4..%13 step 16 {
      %15 = load x[%14] : f32x4
      %16 = mul %15, %9 : f32x4
      store y[%14], %16
      %17 = const 4 : i64
      %18 = add %14, %17 : i64
      %19 = load x[%18] : f32x4
      %20 = mul %19, %9 : f32x4
      store y[%18], %20
      %21 = const 8 : i64
      %22 = add %14, %21 : i64
      %23 = load x[%22] : f32x4
      %24 = mul %23, %9 : f32x4
      store y[%22], %24
      %25 = const 12 : i64
      %26 = add %14, %25 : i64
      %27 = load x[%26] : f32x4
      %28 = mul %27, %9 : f32x4
      store y[%26], %28
    }
    for %29 in %13..%7 step 4 {
      %30 = sub %7, %29 : i64
      %31 = const 4 : i64
      %32 = min %30, %31 : i64
      %33 = cast %32 : i32
      %34 = const 0 : i32
      %35 = const 1 : i32
      %36 = ramp %34, %35 : i32x4
      %37 = splat %33 : i32x4
      %38 = lt %36, %37 : boolx4
      %39 = load x[%29] mask %38 : f32x4
      %40 = mul %39, %9 : f32x4
      store y[%29] mask %38, %40
    }
  }
}
)");
}

TEST_CASE("rows: lanes, a masked tail, and the fold by halves") {
  CHECK(lower(R"(kernel @rowsum(x: f32 in[3000], y: f32 out[10]) {
  axes i: 10 parallel, r: 3 inner
  map i r    : %0 = load x[3*i + r] : f32
  reduce i|r : %1 = reduce.sum %0 lanes : f32
  map i      : store y[i], %1
}
)") == R"(looptree @rowsum cpu lanes=4 {
  params x: f32 in, y: f32 out, sizes 3
  phase rows: parallel %0 in 0..s0 {
    %1 = size s1 : i64
    %2 = mul %0, %1 : i64
    %3 = const 0 : i64
    %4 = size s2 : i64
    %5 = const 0.0 : f32x4
    var %6 = %5
    %7 = sub %4, %3 : i64
    %8 = const -4 : i64
    %9 = and %7, %8 : i64
    %10 = add %3, %9 : i64
    for %11 in %3..%10 step 4 {
      %12 = add %2, %11 : i64
      %13 = load x[%12] : f32x4
      %14 = get %6 : f32x4
      %15 = add %14, %13 : f32x4
      set %6, %15
    }
    for %16 in %10..%4 step 4 {
      %17 = sub %4, %16 : i64
      %18 = const 4 : i64
      %19 = min %17, %18 : i64
      %20 = cast %19 : i32
      %21 = const 0 : i32
      %22 = const 1 : i32
      %23 = ramp %21, %22 : i32x4
      %24 = splat %20 : i32x4
      %25 = lt %23, %24 : boolx4
      %26 = add %2, %16 : i64
      %27 = load x[%26] mask %25 : f32x4
      %28 = get %6 : f32x4
      %29 = add %28, %27 : f32x4
      %30 = where %25, %29, %28 : f32x4
      set %6, %30
    }
    %31 = get %6 : f32x4
    %32 = high %31 : f32x2
    %33 = low %31 : f32x2
    %34 = add %33, %32 : f32x2
    %35 = high %34 : f32
    %36 = low %34 : f32
    %37 = add %36, %35 : f32
    store y[%0], %37
  }
}
)");
}

TEST_CASE("rows that share an operand are taken together: it is loaded once for four") {
  auto loads = [](const std::string& rows, const std::string& shared) {
    const std::string kernel = "kernel @mv(x: f32 in[30000], v: f32 in[30000], y: f32 out[101]) {\n  axes i: " + rows +
                               " parallel, r: 256 inner\n  map i r : %0 = load x[256*i + r] : f32\n"
                               "  map i r : %1 = load v[" + shared + "] : f32\n  map i r : %2 = mul %0, %1 : f32\n"
                               "  reduce i|r : %3 = reduce.sum %2 lanes : f32\n  map i : store y[i], %3\n}\n";
    const std::string tree = ir::print(passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{512}).tree);
    auto count = [&](const std::string& what) {
      int n = 0;
      for (size_t at = tree.find(what); at != std::string::npos; at = tree.find(what, at + 1)) ++n;
      return n;
    };
    return std::pair(count("load x["), count("load v["));
  };
  CHECK(loads("100", "r") == std::pair(16, 4));          // 64 lanes of four rows
  CHECK(loads("101", "r") == std::pair(20, 8));          // and a row left over, alone
  CHECK(loads("3", "r") == std::pair(4, 4));             // too few
  CHECK(loads("100", "256*i + r") == std::pair(4, 4));   // nothing to share
}

TEST_CASE("rows of more than a cache holds are asked for ahead, an operand that all share is not") {
  const auto prefetches = [](const std::string& rows) {
    const std::string tree = ir::print(
        passes::lower(ir::parse_kernel("kernel @k(x: f32 in[1000000], v: f32 in[1000], y: f32 out[1000]) {\n  axes i: " + rows +
                                   " parallel, r: 1000 inner\n  map i r : %0 = load x[1000*i + r] : f32\n"
                                   "  map i r : %1 = load v[r] : f32\n  map i r : %2 = mul %0, %1 : f32\n"
                                   "  reduce i|r : %3 = reduce.sum %2 lanes : f32\n  map i : store y[i], %3\n}\n"),
                  ir::CpuTarget{512})
            .tree);
    return std::pair(tree.find("prefetch x[") != std::string::npos, tree.find("prefetch v[") != std::string::npos);
  };
  CHECK(prefetches("1000") == std::pair(true, false));
  CHECK(prefetches("500") == std::pair(false, false));
}

TEST_CASE("rows of a few elements have the lanes across rows, if there are rows enough") {
  auto lowered = [](const std::string& axes, const std::string& load, const std::string& rest) {
    return passes::lower(ir::parse_kernel("kernel @k(x: f32 in[100000], y: f32 out[100000]) {\n  axes " + axes + "\n" + load + rest + "}\n"),
                     ir::CpuTarget{512});
  };
  auto sum = [&](const std::string& rows, const std::string& n) {
    return lowered("i: " + rows + " parallel, r: " + n + " inner", "  map i r : %0 = load x[" + n + "*i + r] : f32\n",
                   "  reduce i|r : %1 = reduce.sum %0 lanes : f32\n  map i : store y[i], %1\n");
  };
  for (const char* n : {"2", "3", "16"}) {
    CHECK(sum("100", n).schedule == "short rows");
    CHECK(ir::print(sum("100", n).tree).find(" = deal ") != std::string::npos);
    CHECK(ir::print(sum("100", n).tree, false) == ir::print(sum("2000", n).tree, false));
  }
  CHECK(sum("100", "17").schedule == "rows");
  CHECK(sum("10", "3").schedule == "rows");
  Lowered map = lowered("i: 100 parallel, j: 3 parallel", "  map i j : %0 = load x[3*i + j] : f32\n",
                        "  map i j : %1 = load x[i] : f32\n  map i j : %2 = mul %0, %1 : f32\n  map i j : store y[3*i + j], %2\n");
  CHECK(map.schedule == "short rows");
  CHECK(ir::print(map.tree).find(" = weave ") != std::string::npos);
}

TEST_CASE("lanes are those of most of the work; a contraction's those of its sums") {
  auto lanes = [](const std::string& body) {
    return passes::lower(ir::parse_kernel("kernel @k(x: f32 in[900], z: f64 in[900], y: f32 out[900], w: f64 out[900]) {\n" + body + "}\n"), ir::CpuTarget{512})
        .tree.lanes;
  };
  CHECK(lanes("  axes i: 900 parallel\n  map i : %0 = load z[i] : f64\n  map i : store w[i], %0\n") == 8);
  CHECK(lanes("  axes i: 900 parallel\n  map i : %0 = load x[i] : f32\n  map i : %1 = mul %0, %0 : f32\n  map i : %2 = cast %1 "
              ": f64\n  map i : store w[i], %2\n") == 16);
  CHECK(lanes("  axes i: 30 parallel, j: 30 parallel, k: 30 contract\n  contract i j|k : %0 = load x[30*i + k] : f32\n  contract i j|k : "
              "%1 = load x[30*k + j] : f32\n  reduce i j|k : %2 = contract %0, %1 : f32\n  map i j : %3 = cast %2 : f64\n  map i j : "
              "%4 = mul %3, %3 : f64\n  map i j : store w[30*i + j], %4\n") == 16);
}

TEST_CASE("columns: each lane a result, rows in order") {
  CHECK(lower(R"(kernel @columns(x: f32 in[40], y: f32 out[5]) {
  axes i: 5 parallel, r: 8 inner
  map i r    : %0 = load x[5*r + i] : f32
  reduce i|r : %1 = reduce.sum %0 columns : f32
  map i      : store y[i], %1
}
)") == R"(looptree @columns cpu lanes=4 {
  params x: f32 in, y: f32 out, sizes 5
  phase columns: parallel %0 in 0..s0 {
    %1 = const 4 : i64
    %2 = mul %0, %1 : i64
    %3 = size s1 : i64
    %4 = const 4 : i64
    %5 = add %2, %4 : i64
    %6 = le %5, %3 : bool
    if %6 {
      %7 = const 0 : i64
      %8 = add %2, %7 : i64
      %9 = const 0.0 : f32x4
      var %10 = %9
      %11 = const 0 : i64
      %12 = size s2 : i64
      for %13 in %11..%12 step 1 {
        %14 = size s3 : i64
        %15 = mul %13, %14 : i64
        %16 = add %8, %15 : i64
        %17 = load x[%16] : f32x4
        %18 = get %10 : f32x4
        %19 = add %18, %17 : f32x4
        set %10, %19
      }
      %20 = get %10 : f32x4
      store y[%8], %20
    } else {
      for %21 in %2..%3 step 4 {
        %22 = sub %3, %21 : i64
        %23 = const 4 : i64
        %24 = min %22, %23 : i64
        %25 = cast %24 : i32
        %26 = const 0 : i32
        %27 = const 1 : i32
        %28 = ramp %26, %27 : i32x4
        %29 = splat %25 : i32x4
        %30 = lt %28, %29 : boolx4
        %31 = const 0.0 : f32x4
        var %32 = %31
        %33 = const 0 : i64
        %34 = size s4 : i64
        for %35 in %33..%34 step 1 {
          %36 = size s3 : i64
          %37 = mul %35, %36 : i64
          %38 = add %21, %37 : i64
          %39 = load x[%38] mask %30 : f32x4
          %40 = get %32 : f32x4
          %41 = add %40, %39 : f32x4
          set %32, %41
        }
        %42 = get %32 : f32x4
        store y[%21] mask %30, %42
      }
    }
  }
}
)");
}

TEST_CASE("another size is the same tree, so no compiler runs; a scalar kind of access is another") {
  auto key = [](const std::string& n) {
    return ir::print(
        passes::lower(
            ir::parse_kernel("kernel @k(x: f32 in[" + n + "], y: f32 out[" + n + "]) {\n  axes i: " + n +
                             " parallel\n  map i : %0 = load x[i] : f32\n  map i : store y[i], %0\n}\n"),
            ir::CpuTarget{256})
            .tree,
        false);
  };
  CHECK(key("1000") == key("1001"));
  CHECK(key("1000") == key("5000000"));
}

}  // namespace
}  // namespace tenon::passes
