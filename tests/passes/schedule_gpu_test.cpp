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
  CHECK(lowered.sizes == std::vector<int64_t>{1, 12, 2, 8});  // blocks, threads that work, columns
  CHECK(ir::print(lowered.tree) == R"(looptree @k cuda threads=256 index=i32 {
  params x: f32 in, b: f32 in, y: f32 out, lanes3: f32 local[4], sizes 4
  phase map: parallel %0 in 0..s0 {
    %1 = thread : i32
    %2 = const 256 : i32
    %3 = mul %0, %2 : i32
    %4 = add %3, %1 : i32
    %5 = size s1 : i32
    %6 = lt %4, %5 : bool
    if %6 {
      %7 = size s2 : i32
      %8 = quotient %4, %7 : i32
      %9 = mul %8, %7 : i32
      %10 = sub %4, %9 : i32
      %11 = const 4 : i32
      %12 = mul %10, %11 : i32
      %13 = const 0 : i32
      %14 = size s3 : i32
      %15 = mul %8, %14 : i32
      %16 = add %15, %12 : i32
      %17 = load x[%16] : f32x4
      %18 = load b[%12] : f32x4
      %19 = const 4 : i32
      for %20 in %13..%19 step 1 unroll {
        %21 = add %12, %20 : i32
        %22 = extract %17, %20 : f32
        %23 = extract %18, %20 : f32
        %24 = mul %22, %23 : f32
        store lanes3[%20], %24
      }
      %25 = load lanes3[%13] : f32x4
      store y[%16], %25
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
    %1 = thread : i32
    %2 = const 256 : i32
    %3 = mul %0, %2 : i32
    %4 = add %3, %1 : i32
    %5 = size s1 : i32
    %6 = lt %4, %5 : bool
    if %6 {
      %7 = size s2 : i32
      %8 = quotient %4, %7 : i32
      %9 = mul %8, %7 : i32
      %10 = sub %4, %9 : i32
      %11 = load x[%4] : f32
      %12 = load b[%10] : f32
      %13 = mul %11, %12 : f32
      store y[%4], %13
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
    %1 = thread : i32
    %2 = const 32 : i32
    %3 = quotient %1, %2 : i32
    %4 = mul %3, %2 : i32
    %5 = sub %1, %4 : i32
    %6 = const 8 : i32
    %7 = mul %0, %6 : i32
    %8 = add %7, %3 : i32
    %9 = const 0.0 : f32
    %10 = const 0 : i32
    store acc1[%10], %9
    %11 = const 1 : i32
    store acc1[%11], %9
    %12 = const 0 : i32
    %13 = size s1 : i32
    %14 = size s2 : i32
    %15 = mul %8, %14 : i32
    %16 = const 0 : i32
    %17 = const 32 : i32
    %18 = const 2 : i32
    for %19 in %16..%18 step 2 unroll {
      %20 = const 2 : i32
      for %21 in %16..%20 step 1 unroll {
        %22 = add %19, %21 : i32
        %23 = mul %22, %17 : i32
        %24 = add %23, %5 : i32
        %25 = add %15, %24 : i32
        %26 = load x[%25] : f32
        store kept0[%22], %26
        %27 = load acc1[%21] : f32
        %28 = add %27, %26 : f32
        store acc1[%21], %28
      }
    }
    %29 = const 0 : i32
    %30 = load acc1[%29] : f32
    %31 = const 1 : i32
    %32 = load acc1[%31] : f32
    %33 = add %30, %32 : f32
    %34 = const 16 : i32
    %35 = shuffle_down %33, %34 : f32
    %36 = add %33, %35 : f32
    %37 = const 8 : i32
    %38 = shuffle_down %36, %37 : f32
    %39 = add %36, %38 : f32
    %40 = const 4 : i32
    %41 = shuffle_down %39, %40 : f32
    %42 = add %39, %41 : f32
    %43 = const 2 : i32
    %44 = shuffle_down %42, %43 : f32
    %45 = add %42, %44 : f32
    %46 = const 1 : i32
    %47 = shuffle_down %45, %46 : f32
    %48 = add %45, %47 : f32
    %49 = const 0 : i32
    %50 = shuffle %48, %49 : f32
    %51 = const 0 : i32
    %52 = size s1 : i32
    %53 = size s2 : i32
    %54 = mul %8, %53 : i32
    %55 = const 0 : i32
    %56 = const 32 : i32
    %57 = const 2 : i32
    for %58 in %55..%57 step 2 unroll {
      %59 = const 2 : i32
      for %60 in %55..%59 step 1 unroll {
        %61 = add %58, %60 : i32
        %62 = mul %61, %56 : i32
        %63 = add %62, %5 : i32
        %64 = load kept0[%61] : f32
        %65 = div %64, %50 : f32
        %66 = add %54, %63 : i32
        store y[%66], %65
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
    %1 = thread : i32
    %2 = size s1 : i32
    %3 = quotient %0, %2 : i32
    %4 = mul %3, %2 : i32
    %5 = sub %0, %4 : i32
    %6 = size s2 : i32
    %7 = quotient %3, %6 : i32
    %8 = mul %7, %6 : i32
    %9 = sub %3, %8 : i32
    %10 = const 32 : i32
    %11 = const 33 : i32
    %12 = mul %9, %10 : i32
    %13 = mul %5, %10 : i32
    %14 = quotient %1, %10 : i32
    %15 = mul %14, %10 : i32
    %16 = sub %1, %15 : i32
    %17 = const 0 : i32
    for %18 in %17..%10 step 8 unroll {
      %19 = add %14, %18 : i32
      %20 = add %12, %16 : i32
      %21 = add %13, %19 : i32
      %22 = mul %19, %11 : i32
      %23 = add %22, %16 : i32
      %24 = size s3 : i32
      %25 = lt %20, %24 : bool
      if %25 {
        %26 = size s4 : i32
        %27 = lt %21, %26 : bool
        if %27 {
          %28 = size s5 : i32
          %29 = mul %21, %28 : i32
          %30 = add %20, %29 : i32
          %31 = load x[%30] : f32
          store tile0[%23], %31
        }
      }
    }
    barrier
    %32 = const 0 : i32
    for %33 in %32..%10 step 8 unroll {
      %34 = add %14, %33 : i32
      %35 = add %12, %34 : i32
      %36 = add %13, %16 : i32
      %37 = mul %16, %11 : i32
      %38 = add %37, %34 : i32
      %39 = size s3 : i32
      %40 = lt %35, %39 : bool
      if %40 {
        %41 = size s4 : i32
        %42 = lt %36, %41 : bool
        if %42 {
          %43 = load tile0[%38] : f32
          %44 = neg %43 : f32
          %45 = size s6 : i32
          %46 = mul %35, %45 : i32
          %47 = add %46, %36 : i32
          store y[%47], %44
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
