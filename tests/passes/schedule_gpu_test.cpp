// Kernel text in, loop-tree text out: the GPU schedules on small kernels, the shapes that share a tree, and
// refusals.
#include <doctest/doctest.h>

#include "ir/kernel.h"
#include "ir/looptree.h"
#include "passes/schedule/schedule.h"

using namespace tenon;

namespace {

passes::Lowered lower(const std::string& text) {
  const passes::Lowered lowered = passes::lower(ir::parse_kernel(text), ir::GpuTarget{});
  ir::verify(lowered.tree);
  return lowered;
}

std::string pointwise(const std::string& rows, const std::string& columns, const std::string& numel) {
  return "kernel @k(x: f32 in[" + numel + "], b: f32 in[" + columns + "], y: f32 out[" + numel + "]) {\n" +
         "  axes r: " + rows + " parallel, c: " + columns + " parallel\n" +  //
         "  map r c : %0 = load x[" + columns + "*r + c] : f32\n" +          //
         "  map r c : %1 = load b[c] : f32\n" +                              //
         "  map r c : %2 = mul %0, %1 : f32\n" +                             //
         "  map r c : store y[" + columns + "*r + c], %2\n}\n";
}

std::string rows(const std::string& rows, const std::string& columns, const std::string& numel,
                 const std::string& reduction = "reduce.sum %0 lanes") {
  return "kernel @k(x: f32 in[" + numel + "], y: f32 out[" + numel + "]) {\n" +  //
         "  axes r: " + rows + " parallel, c: " + columns + " inner\n" +         //
         "  map r c : %0 = load x[" + columns + "*r + c] : f32\n" +              //
         "  reduce r|c : %1 = " + reduction + " : f32\n" +                       //
         "  map r c : %2 = div %0, %1 : f32\n" +                                 //
         "  map r c : store y[" + columns + "*r + c], %2\n}\n";
}

const char* kTransposed = R"(kernel @t(x: f32 in[1200], y: f32 out[1200]) {
  axes r: 40 parallel, c: 30 parallel
  map r c : %0 = load x[40*c + r] : f32
  map r c : %1 = neg %0 : f32
  map r c : store y[30*r + c], %1
}
)";

}  // namespace

TEST_CASE("gpu schedule: four elements a thread where vectors are aligned") {
  const passes::Lowered lowered = lower(pointwise("6", "8", "48"));
  CHECK(lowered.schedule == "pointwise");
  CHECK(lowered.sizes == std::vector<int64_t>{1, 12, 8});  // blocks, threads that work, columns
  CHECK(ir::print(lowered.tree) == R"(looptree @k cuda threads=256 index=i32 {
  params x: f32 in, b: f32 in, y: f32 out, lanes3: f32 local[4], sizes 3
  phase map: parallel %0 in 0..s0 {
    %1 = const 256 : i32
    %2 = mul %0, %1 : i32
    %3 = thread : i32
    %4 = add %2, %3 : i32
    %5 = size s1 : i32
    %6 = lt %4, %5 : bool
    if %6 {
      %7 = const 4 : i32
      %8 = mul %4, %7 : i32
      %9 = size s2 : i32
      %10 = rem %8, %9 : i32
      %11 = quotient %8, %9 : i32
      %12 = const 0 : i32
      %13 = load x[%8] : f32x4
      %14 = load b[%10] : f32x4
      for %15 in %12..%7 step 1 unroll {
        %16 = add %10, %15 : i32
        %17 = extract %13, %15 : f32
        %18 = extract %14, %15 : f32
        %19 = mul %17, %18 : f32
        store lanes3[%15], %19
      }
      %20 = load lanes3[%12] : f32x4
      store y[%8], %20
    }
  }
}
)");
}

TEST_CASE("gpu schedule: one element a thread where they are not") {
  const passes::Lowered lowered = lower(pointwise("6", "7", "42"));
  CHECK(ir::print(lowered.tree) == R"(looptree @k cuda threads=256 index=i32 {
  params x: f32 in, b: f32 in, y: f32 out, sizes 3
  phase map: parallel %0 in 0..s0 {
    %1 = const 256 : i32
    %2 = mul %0, %1 : i32
    %3 = thread : i32
    %4 = add %2, %3 : i32
    %5 = size s1 : i32
    %6 = lt %4, %5 : bool
    if %6 {
      %7 = size s2 : i32
      %8 = rem %4, %7 : i32
      %9 = quotient %4, %7 : i32
      %10 = load x[%4] : f32
      %11 = load b[%8] : f32
      %12 = mul %10, %11 : f32
      store y[%4], %12
    }
  }
}
)");
}

TEST_CASE("gpu schedule: a warp takes a row and keeps it in registers") {
  const passes::Lowered lowered = lower(rows("8", "64", "512"));
  CHECK(lowered.schedule == "rows");
  CHECK(ir::print(lowered.tree) == R"(looptree @k cuda threads=256 index=i32 {
  params x: f32 in, y: f32 out, kept0: f32 local[2], acc1: f32 local[2], sizes 3
  phase rows: parallel %0 in 0..s0 {
    %1 = const 32 : i32
    %2 = thread : i32
    %3 = rem %2, %1 : i32
    %4 = quotient %2, %1 : i32
    %5 = const 8 : i32
    %6 = mul %0, %5 : i32
    %7 = add %6, %4 : i32
    %8 = const 0.0 : f32
    %9 = const 0 : i32
    store acc1[%9], %8
    %10 = const 1 : i32
    store acc1[%10], %8
    %11 = size s1 : i32
    %12 = const 2 : i32
    %13 = size s2 : i32
    %14 = mul %7, %13 : i32
    for %15 in %9..%12 step 2 unroll {
      for %16 in %9..%12 step 1 unroll {
        %17 = add %15, %16 : i32
        %18 = mul %17, %1 : i32
        %19 = add %18, %3 : i32
        %20 = add %14, %19 : i32
        %21 = load x[%20] : f32
        store kept0[%17], %21
        %22 = load acc1[%16] : f32
        %23 = add %22, %21 : f32
        store acc1[%16], %23
      }
    }
    %24 = load acc1[%9] : f32
    %25 = load acc1[%10] : f32
    %26 = add %24, %25 : f32
    %27 = const 16 : i32
    %28 = shuffle_down %26, %27 : f32
    %29 = add %26, %28 : f32
    %30 = shuffle_down %29, %5 : f32
    %31 = add %29, %30 : f32
    %32 = const 4 : i32
    %33 = shuffle_down %31, %32 : f32
    %34 = add %31, %33 : f32
    %35 = shuffle_down %34, %12 : f32
    %36 = add %34, %35 : f32
    %37 = shuffle_down %36, %10 : f32
    %38 = add %36, %37 : f32
    %39 = shuffle %38, %9 : f32
    for %40 in %9..%12 step 2 unroll {
      for %41 in %9..%12 step 1 unroll {
        %42 = add %40, %41 : i32
        %43 = mul %42, %1 : i32
        %44 = add %43, %3 : i32
        %45 = load kept0[%42] : f32
        %46 = div %45, %39 : f32
        %47 = add %14, %44 : i32
        store y[%47], %46
      }
    }
  }
}
)");
}

TEST_CASE("gpu schedule: a transposed load goes through a tile in shared memory") {
  const passes::Lowered lowered = lower(kTransposed);
  CHECK(lowered.schedule == "transpose");
  CHECK(ir::print(lowered.tree) == R"(looptree @t cuda threads=256 index=i32 {
  params x: f32 in, y: f32 out, tile0: f32 shared[1056], sizes 7
  phase tiles: parallel %0 in 0..s0 {
    %1 = size s1 : i32
    %2 = size s2 : i32
    %3 = const 32 : i32
    %4 = quotient %0, %1 : i32
    %5 = quotient %4, %2 : i32
    %6 = rem %4, %2 : i32
    %7 = mul %6, %3 : i32
    %8 = rem %0, %1 : i32
    %9 = mul %8, %3 : i32
    %10 = thread : i32
    %11 = rem %10, %3 : i32
    %12 = quotient %10, %3 : i32
    %13 = const 33 : i32
    %14 = const 0 : i32
    for %15 in %14..%3 step 8 unroll {
      %16 = add %12, %15 : i32
      %17 = add %7, %11 : i32
      %18 = add %9, %16 : i32
      %19 = size s3 : i32
      %20 = lt %17, %19 : bool
      if %20 {
        %21 = size s4 : i32
        %22 = lt %18, %21 : bool
        if %22 {
          %23 = mul %16, %13 : i32
          %24 = add %23, %11 : i32
          %25 = size s5 : i32
          %26 = mul %18, %25 : i32
          %27 = add %17, %26 : i32
          %28 = load x[%27] : f32
          store tile0[%24], %28
        }
      }
    }
    barrier
    for %29 in %14..%3 step 8 unroll {
      %30 = add %12, %29 : i32
      %31 = add %7, %30 : i32
      %32 = add %9, %11 : i32
      %33 = size s3 : i32
      %34 = lt %31, %33 : bool
      if %34 {
        %35 = size s4 : i32
        %36 = lt %32, %35 : bool
        if %36 {
          %37 = mul %11, %13 : i32
          %38 = add %37, %30 : i32
          %39 = load tile0[%38] : f32
          %40 = neg %39 : f32
          %41 = size s6 : i32
          %42 = mul %31, %41 : i32
          %43 = add %42, %32 : i32
          store y[%43], %40
        }
      }
    }
  }
}
)");
}

TEST_CASE("gpu schedule: shapes that need the same code share a tree") {
  const auto key = [](const std::string& text) { return ir::print(lower(text).tree, false); };
  CHECK(key(pointwise("6", "8", "48")) == key(pointwise("50", "64", "3200")));
  CHECK(key(pointwise("6", "7", "42")) == key(pointwise("7", "6", "42")));
  CHECK(key(pointwise("6", "8", "48")) != key(pointwise("6", "7", "42")));
  CHECK(key(rows("9", "200", "1800")) == key(rows("13", "130", "1690")));
  CHECK(key(rows("9", "200", "1800")) != key(rows("9", "20", "180")));
  CHECK(key(rows("9", "5000", "45000")) == key(rows("70", "9000", "630000")));
}

TEST_CASE("gpu schedule: the reduction's tree and the number of rows choose the program") {
  CHECK(lower(rows("9", "200", "1800")).schedule == "rows");
  CHECK(lower(rows("9", "5000", "45000")).schedule == "rows");
  CHECK(lower(rows("1", "100000", "100000")).schedule == "split");
  CHECK(lower(rows("1", "100000", "100000")).tree.phases.size() == 3);
  CHECK(lower(rows("9", "200", "1800", "reduce.sum %0 columns")).schedule == "columns");
}

TEST_CASE("gpu schedule: addresses beyond 2^31 take 64-bit indices") {
  CHECK(lower(pointwise("6", "8", "48")).tree.index_type == ir::DType::I32);
  CHECK(lower(pointwise("65536", "65536", "4294967296")).tree.index_type == ir::DType::I64);
}

TEST_CASE("gpu schedule: what it does not take, it names") {
  const char* contraction = R"(kernel @mm(a: f32 in[6], b: f32 in[6], y: f32 out[4]) {
  axes i: 2 parallel, j: 2 parallel, k: 3 contract
  contract i j|k : %0 = load a[3*i + k] : f32
  contract i j|k : %1 = load b[2*k + j] : f32
  reduce i j|k : %2 = contract %0, %1 : f32
  map i j : store y[2*i + j], %2
}
)";
  CHECK_THROWS_WITH_AS(lower(contraction),
                       "no GPU schedule takes kernel 'mm': the device has no schedule for this kind of kernel",
                       ir::IrError);
}
