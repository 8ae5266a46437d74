// Loops of multiply-adds, which bytecode does by few instructions: tiles of any number of rows and columns, indices that grow evenly and that
// do not, vectors under a mask, loops that run never, once and often; and loops that look like one and are none.
#include "codegen/bytecode/bytecode.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/bytecode/handlers.h"
#include "codegen/executable.h"
#include "ir/looptree/looptree.h"

using namespace tenon;

namespace {

struct Tile {
  int rows, columns, lanes, step;
  const char* type;
  bool even;              // else an element's index is a remainder
  bool masked = false;    // the last two lanes of each vector are not read
  bool table = false;     // the remainders stand in a table
  const char* more = "";  // one more statement in the loop, before the last
};

// y[r][c][lane] += sum of a[.. k ..] * b[.. k ..] for k in s0..s1; each row's elements lie 100 further on, each column's vectors 1,000.
std::string tile_text(const Tile& c) {
  int next = 14;
  const auto fresh = [&] { return "%" + std::to_string(next++); };
  const std::string lanes = std::to_string(c.lanes), vector = std::string(c.type) + "x" + lanes;
  std::string text = "looptree @tile cpu lanes=" + std::to_string(c.lanes) + " {\n  params a: " + c.type + " in, b: " + c.type +
                     " in, y: " + c.type + " out, t: i64 in, sizes 3\n  phase tiles: parallel %0 in 0..s2 {\n" +
                     "    %1 = size s0 : i64\n    %2 = size s1 : i64\n    %3 = const 7 : i64\n    %4 = const " + lanes +
                     " : i64\n    %5 = const 0.5 : " + vector +
                     "\n    %7 = const 2635249153387078803 : i64\n    %8 = const 0 : i32\n    %9 = const 1 : i32\n    %10 = const " +
                     std::to_string(c.lanes - 2) + " : i32\n    %11 = ramp %8, %9 : i32x" + lanes + "\n    %12 = splat %10 : i32x" + lanes +
                     "\n    %13 = lt %11, %12 : boolx" + lanes + "\n";
  std::vector<std::string> vars;
  for (int i = 0; i < c.rows * c.columns; ++i) {
    vars.push_back(fresh());
    text += "    var " + vars.back() + " = %5\n";
  }
  text += "    for %6 in %1..%2 step " + std::to_string(c.step) + " {\n";
  std::vector<std::string> columns(static_cast<size_t>(c.columns));
  for (int r = 0; r < c.rows; ++r) {
    const std::string offset = fresh(), index = fresh(), element = fresh(), splat = fresh();
    text += "      " + offset + " = const " + std::to_string(100 * r) + " : i64\n";
    if (c.even) {
      text += "      " + index + " = add %6, " + offset + " : i64\n";
    } else if (c.table) {
      const std::string rest = fresh();
      text += "      " + rest + " = load t[%6] : i64\n      " + index + " = add " + rest + ", " + offset + " : i64\n";
    } else {
      const std::string quotient = fresh(), product = fresh(), rest = fresh();
      text += "      " + quotient + " = mulhi %6, %7 : i64\n      " + product + " = mul " + quotient + ", %3 : i64\n      " + rest +
              " = sub %6, " + product + " : i64\n      " + index + " = add " + rest + ", " + offset + " : i64\n";
    }
    text +=
        "      " + element + " = load a[" + index + "] : " + c.type + "\n      " + splat + " = splat " + element + " : " + vector + "\n";
    for (int j = 0; j < c.columns; ++j) {
      std::string& column = columns[static_cast<size_t>(j)];
      if (column.empty()) {
        const std::string scaled = fresh(), start = fresh(), at = fresh();
        column = fresh();
        text += "      " + scaled + " = mul %6, %4 : i64\n      " + start + " = const " + std::to_string(1000 * j) + " : i64\n      " + at +
                " = add " + scaled + ", " + start + " : i64\n      " + column + " = load b[" + at + "]" + (c.masked ? " mask %13" : "") +
                " : " + vector + "\n";
      }
      const std::string& var = vars[static_cast<size_t>(r * c.columns + j)];
      const std::string sum = fresh(), result = fresh();
      text += "      " + sum + " = get " + var + " : " + vector + "\n      " + result + " = fma " + splat + ", " + column + ", " + sum +
              " : " + vector + "\n      set " + var + ", " + result + "\n";
    }
  }
  text += std::string(c.more) + "    }\n";
  for (int i = 0; i < c.rows * c.columns; ++i) {
    const std::string sum = fresh(), at = fresh();
    text += "    " + sum + " = get " + vars[static_cast<size_t>(i)] + " : " + vector + "\n    " + at + " = const " +
            std::to_string(i * c.lanes) + " : i64\n    store y[" + at + "], " + sum + "\n";
  }
  return text + "  }\n}\n";
}

template <typename T>
void check_tile(const Tile& c, int64_t from, int64_t to) {
  const ir::LoopTree tree = ir::parse_looptree(tile_text(c));
  std::vector<T> a(2000), b(9000), wanted;
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 23) / 7 - 1;
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 31) / 3 - 5;
  for (int r = 0; r < c.rows; ++r) {
    for (int j = 0; j < c.columns; ++j) {
      for (int l = 0; l < c.lanes; ++l) {
        T sum = T(0.5);
        for (int64_t k = from; k < to; k += c.step) {
          const auto at = static_cast<size_t>((c.even ? k : k % 7) + 100 * r);
          const T x = c.masked && l >= c.lanes - 2 ? T(0) : b[static_cast<size_t>(k * c.lanes + 1000 * j + l)];
          sum = std::fma(a[at], x, sum);
        }
        wanted.push_back(sum);
      }
    }
  }
  for (const codegen::bytecode::Handlers* handlers : codegen::bytecode::all_handlers()) {
    const auto bytecode = codegen::Bytecode::of(tree, *handlers);
    REQUIRE(bytecode);
    const bool is_one =
        handlers->multiply_adds(c.type == std::string("f32") ? ir::DType::F32 : ir::DType::F64, c.lanes, c.even && !c.masked) != nullptr;
    CHECK((bytecode->slowdown() < 10) == (is_one && *c.more == 0));
    std::vector<T> got(wanted.size());
    std::vector<int64_t> table(static_cast<size_t>(to));  // no longer than the loop
    for (size_t k = 0; k < table.size(); ++k) table[k] = static_cast<int64_t>(k % 7);
    void* const buffers[] = {a.data(), b.data(), got.data(), table.data()};
    const int64_t sizes[] = {from, to, 1};
    std::vector<std::byte> registers(bytecode->register_bytes() + codegen::kLocalAlign);
    const auto misplaced = reinterpret_cast<uintptr_t>(registers.data()) % codegen::kLocalAlign;
    bytecode->run(0, buffers, sizes, nullptr, 0, 1, nullptr, registers.data() + codegen::kLocalAlign - misplaced);
    INFO(ir::print(tree));
    CHECK(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)) == 0);
  }
}

}  // namespace

TEST_CASE("bytecode: a loop of multiply-adds is few instructions") {
  for (const auto& [even, masked, table] :
       {std::tuple(true, false, false), std::tuple(false, false, false), std::tuple(true, true, false), std::tuple(false, true, false),
        std::tuple(false, false, true), std::tuple(false, true, true)}) {
    for (const int rows : {1, 2, 3, 5, 8, 11}) {
      for (const int columns : {1, 2, 3, 4, 5}) {
        for (const auto& [from, to] : {std::pair(0, 0), std::pair(3, 4), std::pair(2, 34), std::pair(2, 75)}) {
          check_tile<float>({rows, columns, 16, 1, "f32", even, masked, table}, from, to);
          check_tile<float>({rows, columns, 8, 3, "f32", even, masked, table}, from, to);
        }
        check_tile<double>({rows, columns, 8, 1, "f64", even, masked, table}, 1, 67);
        check_tile<double>({rows, columns, 4, 2, "f64", even, masked, table}, 1, 67);
      }
    }
  }
}

TEST_CASE("bytecode: a loop that does more than multiply-adds is none of them") {
  for (const char* more : {"      store y[%6], %5\n", "      set %14, %5\n      set %14, %5\n"}) {
    Tile c{2, 1, 16, 1, "f32", true, false, false, more};
    const auto bytecode = codegen::Bytecode::of(ir::parse_looptree(tile_text(c)));
    REQUIRE(bytecode);
    CHECK(bytecode->slowdown() > 10);
  }
}

TEST_CASE("bytecode: a value whose bits are another's is not taken for it") {
  const ir::LoopTree tree = ir::parse_looptree(R"(looptree @casts cpu lanes=8 {
  params x: f32 in, y: f64 out, z: bool out, sizes 1
  phase all: parallel %0 in 0..s0 {
    %1 = const 0 : i64
    %2 = load x[%1] : f32x8
    %3 = bitcast %2 : i32x8
    %4 = cast %3 : f64x8
    %5 = cast %2 : f64x8
    %6 = sub %4, %5 : f64x8
    store y[%1], %6
    %7 = add %2, %2 : f32x8
    %8 = bitcast %7 : i32x8
    %9 = lt %2, %7 : boolx8
    %10 = lt %3, %8 : boolx8
    %11 = eq %9, %10 : boolx8
    store z[%1], %11
  }
}
)");
  const float x[8] = {1.5f, -2, 3, -0.25f, 5, 6, -7, 8};
  for (const codegen::bytecode::Handlers* handlers : codegen::bytecode::all_handlers()) {
    const auto bytecode = codegen::Bytecode::of(tree, *handlers);
    REQUIRE(bytecode);
    double y[8];
    bool z[8];
    const void* const buffers[] = {x, y, z};
    const int64_t sizes[] = {1};
    std::vector<std::byte> registers(bytecode->register_bytes() + codegen::kLocalAlign);
    const auto misplaced = reinterpret_cast<uintptr_t>(registers.data()) % codegen::kLocalAlign;
    bytecode->run(0, const_cast<void* const*>(buffers), sizes, nullptr, 0, 1, nullptr, registers.data() + codegen::kLocalAlign - misplaced);
    for (int l = 0; l < 8; ++l) {
      const float twice = x[l] + x[l];
      int32_t bits, of_twice;
      std::memcpy(&bits, &x[l], sizeof bits);
      std::memcpy(&of_twice, &twice, sizeof of_twice);
      CHECK(y[l] == double(bits) - double(x[l]));
      CHECK(z[l] == ((x[l] < twice) == (bits < of_twice)));
    }
  }
}
