// Which CPU schedule takes a kernel, and what changes with its sizes. What the trees look like is in tests/filecheck/cpu,
// their values are tested in tests/codegen/schedule_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ir/call/call.h"
#include "ir/looptree/looptree.h"
#include "passes/schedule/schedule.h"

namespace tenon::passes {
namespace {

TEST_CASE("rows that share an operand are taken together: it is loaded once for four") {
  auto loads = [](const std::string& rows, const std::string& shared) {
    const std::string kernel = "kernel @mv(x: f32 in[300000], v: f32 in[300000], y: f32 out[1000]) {\n  axes i: " + rows +
                               " parallel, r: 256 inner\n  map i r : %0 = load x[256*i + r] : f32\n"
                               "  map i r : %1 = load v[" +
                               shared +
                               "] : f32\n  map i r : %2 = mul %0, %1 : f32\n"
                               "  reduce i|r : %3 = reduce.sum %2 lanes : f32\n  map i : store y[i], %3\n}\n";
    const std::string tree = ir::print(passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{512}).tree);
    auto count = [&](const std::string& what) {
      int n = 0;
      for (size_t at = tree.find(what); at != std::string::npos; at = tree.find(what, at + 1)) ++n;
      return n;
    };
    return std::pair(count("load x["), count("load v["));
  };
  for (const char* rows : {"3", "100", "101"}) CHECK(loads(rows, "r") == std::pair(20, 8));  // 64 lanes of four rows, or of one left over
  CHECK(loads("100", "256*i + r") == std::pair(1, 1));                                       // nothing to share: vector by vector
  CHECK(loads("1000", "256*i + r") == std::pair(8, 8));                                      // 64 lanes, and the same masked
}

TEST_CASE("rows of more than a cache holds are asked for ahead one at a time, not side by side") {
  const auto prefetches = [](const std::string& rows, const std::string& n = "1000") {
    const std::string tree =
        ir::print(passes::lower(ir::parse_kernel("kernel @k(x: f32 in[1024000], v: f32 in[1024], y: f32 out[1000]) {\n  axes i: " + rows +
                                                 " parallel, r: " + n + " inner\n  map i r : %0 = load x[" + n +
                                                 "*i + r] : f32\n"
                                                 "  map i r : %1 = load v[r] : f32\n  map i r : %2 = mul %0, %1 : f32\n"
                                                 "  reduce i|r : %3 = reduce.sum %2 lanes : f32\n  map i : store y[i], %3\n}\n"),
                                ir::CpuTarget{512})
                      .tree);
    return std::pair(tree.find("prefetch x[") != std::string::npos, tree.find("prefetch v[") != std::string::npos);
  };
  CHECK(prefetches("1000") == std::pair(true, false));
  CHECK(prefetches("500") == std::pair(false, false));
  CHECK(prefetches("1000", "1024") == std::pair(false, false));  // four rows have an operand in common
}

TEST_CASE("a product asks for what its epilogue reads of a large matrix before k runs") {
  const auto asked = [](int64_t rows, const std::string& place) {
    const std::string n = std::to_string(rows);
    const std::string kernel = "kernel @k(a: f32 in[98304], b: f32 in[65536], m: f32 in[393216], y: f32 out[393216]) {\n  axes i: " + n +
                               " parallel, j: 512 parallel, c: 128 contract\n"
                               "  contract i j|c : %0 = load a[128*i + c] : f32\n"
                               "  contract i j|c : %1 = load b[j + 512*c] : f32\n"
                               "  reduce i j|c   : %2 = contract %0, %1 : f32\n"
                               "  map i j        : %3 = load m[" +
                               place +
                               "] : f32\n"
                               "  map i j        : %4 = add %2, %3 : f32\n"
                               "  map i j        : store y[512*i + j], %4\n}\n";
    const std::string tree = ir::print(passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{512}).tree);
    const size_t first = tree.find("prefetch m[");
    return first != std::string::npos && first < tree.find("fma");
  };
  CHECK(asked(768, "512*i + j"));
  CHECK_FALSE(asked(768, "j"));          // a row for all
  CHECK_FALSE(asked(768, "768*j + i"));  // gathered
  CHECK_FALSE(asked(16, "512*i + j"));   // little work
}

TEST_CASE("a packed panel of a product serves twice as many rows where enough iterations are left") {
  const auto iterations = [](int64_t rows, int cores) {
    const std::string n = std::to_string(rows);
    const std::string kernel = "kernel @k(a: f32 in[1048576], b: f32 in[65536], y: f32 out[1048576]) {\n  axes i: " + n +
                               " parallel, j: 128 parallel, c: 512 contract\n"
                               "  contract i j|c : %0 = load a[512*i + c] : f32\n"
                               "  contract i j|c : %1 = load b[512*j + c] : f32\n"
                               "  reduce i j|c   : %2 = contract %0, %1 : f32\n"
                               "  map i j        : store y[128*i + j], %2\n}\n";
    const passes::Lowered lowered = passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{.vector_bits = 512, .cores = cores});
    return lowered.sizes[static_cast<size_t>(lowered.tree.phases.at(0).extent)];
  };
  CHECK(iterations(768, 8) == 16);  // two tiles of columns by 8 panels of 96 rows
  CHECK(iterations(384, 8) == 16);  // by 8 panels of 48
  CHECK(iterations(768, 2) == 8);   // four for each core are enough
  CHECK(iterations(768, 1) == 2);   // no other thread wants any
}

TEST_CASE("lines of neighbours are loaded under masks, unless they are too short or do not end together") {
  const auto by_lines = [](const std::string& index, int bits = 512, const std::string& dtype = "f32") {
    const std::string kernel = "kernel @k(x: " + dtype + " in[4096], y: " + dtype +
                               " out[60]) {\n  axes c: 60 parallel\n  map c : %0 = load x[" + index + "] : " + dtype +
                               "\n  map c : store y[c], %0\n}\n";
    const std::string tree = ir::print(passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{bits}).tree);
    return tree.find("where ") != std::string::npos;  // one line's lanes or another's
  };
  CHECK(by_lines("c mod 15 + 17*(c / 15)"));
  CHECK(by_lines("c mod 10 + 17*((c mod 30) / 10) + 100*(c / 30)"));
  CHECK(!by_lines("c mod 4 + 7*(c / 4)"));          // five lines to a vector
  CHECK(!by_lines("2*(c mod 15) + 40*(c / 15)"));   // no neighbours
  CHECK(!by_lines("c mod 15 + 17*(c / 10)"));       // some lines end within others
  CHECK(!by_lines("c mod 15 + 17*(c / 15)", 128));  // no masks
  CHECK(by_lines("c mod 15 + 17*(c / 15)", 512, "f16"));
  CHECK(!by_lines("c mod 15 + 17*(c / 15)", 256, "f16"));
}

TEST_CASE("rows of a few elements have the lanes across rows, if there are rows enough") {
  auto lowered = [](const std::string& axes, const std::string& load, const std::string& rest) {
    return passes::lower(
        ir::parse_kernel("kernel @k(x: f32 in[300000], y: f32 out[300000]) {\n  axes " + axes + "\n" + load + rest + "}\n"),
        ir::CpuTarget{512});
  };
  auto sum = [&](const std::string& rows, const std::string& n) {
    return lowered("i: " + rows + " parallel, r: " + n + " inner", "  map i r : %0 = load x[" + n + "*i + r] : f32\n",
                   "  reduce i|r : %1 = reduce.sum %0 lanes : f32\n  map i : store y[i], %1\n");
  };
  for (const auto& [n, few] : {std::pair("2", "8200"), {"3", "8200"}, {"16", "2100"}}) {
    CHECK(sum(few, n).schedule == "short rows");
    CHECK(ir::print(sum(few, n).tree).find(" = deal ") != std::string::npos);
    CHECK(ir::print(sum(few, n).tree, false) == ir::print(sum("9000", n).tree, false));
  }
  for (const char* n : {"3", "16", "17"}) CHECK(sum("1000", n).schedule == "rows");  // each length would be other code, for little
  CHECK(sum("5000", "17").schedule == "rows");
  CHECK(sum("10", "3").schedule == "rows");
  CHECK(ir::print(sum("1", "3").tree, false) == ir::print(sum("1", "1000").tree, false));
  CHECK(sum("1000", "16").better_often);
  CHECK(sum("1000", "32").better_often);
  CHECK(sum("10", "65").better_often);
  for (const auto& [rows, n] : {std::pair("9000", "3"), {"3000", "65"}, {"1", "16"}}) CHECK_FALSE(sum(rows, n).better_often);
  CHECK(sum("1", "3").schedule == "rows");
  Lowered map = lowered("i: 6000 parallel, j: 3 parallel", "  map i j : %0 = load x[3*i + j] : f32\n",
                        "  map i j : %1 = load x[i] : f32\n  map i j : %2 = mul %0, %1 : f32\n  map i j : store y[3*i + j], %2\n");
  CHECK(map.schedule == "short rows");
  CHECK(ir::print(map.tree).find(" = weave ") != std::string::npos);
}

TEST_CASE("many long lines are summed in runs, whose sums are twice as far apart as the columns; lines of half a tile in one piece") {
  const auto lowered = [](const std::string& rows, const std::string& columns, const std::string& op) {
    const std::string kernel = "kernel @k(x: f32 in[10000000], y: f32 out[100000]) {\n  axes c: " + columns + " parallel, r: " + rows +
                               " inner\n  map c r : %0 = load x[c + " + columns + "*r] : f32\n  reduce c|r : %1 = reduce." + op +
                               " %0 columns : f32\n  map c : store y[c], %1\n}\n";
    return passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{512});
  };
  for (const char* op : {"sum", "max"}) {
    CHECK(lowered("32", "100000", op).schedule == "columns");
    const Lowered runs = lowered("33", "100000", op);
    CHECK(runs.schedule == "columns in runs");
    CHECK(ir::print(runs.tree).find(": f32 local[2048]") != std::string::npos);
  }
  const auto tree = [&](const char* columns) { return ir::print(lowered("10000", columns, "max").tree, false); };
  CHECK(tree("17") == tree("127"));
  CHECK(tree("128") == tree("255"));
  for (const auto& [columns, width] : {std::pair("127", "64"), {"128", "128"}, {"256", "256"}}) {
    CAPTURE(columns);
    CHECK(tree(columns).find(" = const " + std::string(width) + " : i64\n    %6 = mul %2, ") != std::string::npos);
  }
}

TEST_CASE("lanes are those of most of the work; a contraction's those of its sums") {
  auto lanes = [](const std::string& body) {
    return passes::lower(ir::parse_kernel("kernel @k(x: f32 in[900], z: f64 in[900], y: f32 out[900], w: f64 out[900]) {\n" + body + "}\n"),
                         ir::CpuTarget{512})
        .tree.lanes;
  };
  CHECK(lanes("  axes i: 900 parallel\n  map i : %0 = load z[i] : f64\n  map i : store w[i], %0\n") == 8);
  CHECK(lanes("  axes i: 900 parallel\n  map i : %0 = load x[i] : f32\n  map i : %1 = mul %0, %0 : f32\n  map i : %2 = cast %1 "
              ": f64\n  map i : store w[i], %2\n") == 16);
  CHECK(lanes("  axes i: 30 parallel, j: 30 parallel, k: 30 contract\n  contract i j|k : %0 = load x[30*i + k] : f32\n  contract i j|k : "
              "%1 = load x[30*k + j] : f32\n  reduce i j|k : %2 = contract %0, %1 : f32\n  map i j : %3 = cast %2 : f64\n  map i j : "
              "%4 = mul %3, %3 : f64\n  map i j : store w[30*i + j], %4\n") == 16);
}

TEST_CASE("a long body stands once where loads have masks; a product's is the same for all numbers of rows") {
  const auto count = [](const std::string& text, const std::string& what) {
    int n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
  };
  const auto bodies = [&](int instrs, int bits, const std::string& end) {
    std::string text = "kernel @k(x: f32 in[90000], y: f32 out[90000]) {\n  axes i: 300 parallel, j: 300 " + end +
                       "\n  map i j : %0 = load x[300*i + j] : f32\n";
    const auto value = [](int v) { return "%" + std::to_string(v); };
    for (int v = 1; v <= instrs; ++v) text += "  map i j : " + value(v) + " = mul " + value(v - 1) + ", " + value(v - 1) + " : f32\n";
    if (end == "parallel") {
      text += "  map i j : store y[300*i + j], " + value(instrs) + "\n}\n";
    } else {
      text += "  reduce i|j : " + value(instrs + 1) + " = reduce.sum " + value(instrs) + " lanes : f32\n  map i : store y[i], " +
              value(instrs + 1) + "\n}\n";
    }
    return count(ir::print(passes::lower(ir::parse_kernel(text), ir::CpuTarget{bits}).tree), "load x[");
  };
  CHECK(bodies(40, 512, "parallel") == 3);  // two a step, then masked ones
  CHECK(bodies(60, 512, "parallel") == 2);
  CHECK(bodies(160, 512, "parallel") == 1);
  CHECK(bodies(160, 256, "parallel") == 1);
  CHECK(bodies(160, 128, "parallel") == 2);                                // a masked load is a branch for each lane
  for (int instrs : {100, 160}) CHECK(bodies(instrs, 512, "inner") == 1);  // the lanes in memory

  const auto products = [&](const std::string& rows) {
    const std::string text = "kernel @k(x: f32 in[90000], z: f32 in[90000], y: f32 out[90000]) {\n  axes i: " + rows +
                             " parallel, j: 128 parallel, k: 30 contract\n  contract i j|k : %0 = load x[30*i + k] : f32\n"
                             "  contract i j|k : %1 = load z[128*k + j] : f32\n  reduce i j|k : %2 = contract %0, %1 : f32\n"
                             "  map i j : store y[128*i + j], %2\n}\n";
    return count(ir::print(passes::lower(ir::parse_kernel(text), ir::CpuTarget{512}).tree), "load x[");
  };
  for (const char* rows : {"25", "64", "67"}) CHECK(products(rows) == 6 + 3);
}

TEST_CASE("a tile of a product has no more than eight rows that lie apart, or as many beside each other as fit the registers") {
  const auto tree = [](const char* columns, const char* place) {
    const std::string j = columns,
                      text = "kernel @k(x: f32 in[90000], z: f32 in[90000], y: f32 out[90000]) {\n  axes i: 240 parallel, j: " + j +
                             " parallel, k: 30 contract\n  contract i j|k : %0 = load x[" + place +
                             "] : f32\n"
                             "  contract i j|k : %1 = load z[" +
                             j +
                             "*k + j] : f32\n  reduce i j|k : %2 = contract %0, %1 : f32\n"
                             "  map i j : store y[" +
                             j + "*i + j], %2\n}\n";
    ir::CpuTarget target{512};
    target.often = true;
    return ir::print(passes::lower(ir::parse_kernel(text), target).tree);
  };
  for (const auto& [columns, apart, beside] : {std::tuple("16", 8, 16), {"32", 8, 12}, {"64", 6, 6}}) {
    CAPTURE(columns);
    const auto has_step = [&](const char* place, int rows) {
      return tree(columns, place).find(" step " + std::to_string(rows) + " {") != std::string::npos;
    };
    CHECK(has_step("30*i + k", apart));
    CHECK(has_step("i + 240*k", beside));
  }
}

TEST_CASE("lengths that vary are the same code but for a few borders") {
  const auto text = [](const std::string& axes, const std::string& body) {
    const std::string kernel =
        "kernel @k(x: f32 in[9000000], z: f32 in[9000000], y: f32 out[9000000]) {\n  axes " + axes + "\n" + body + "}\n";
    return ir::print(passes::lower(ir::parse_kernel(kernel), ir::CpuTarget{512}).tree, false);
  };
  const auto softmax = [&](int64_t n) {  // of rows of this length
    const std::string s = std::to_string(n);
    return text("i: 12 parallel, r: " + s + " inner",
                "  map i r : %0 = load x[" + s +
                    "*i + r] : f32\n  reduce i|r : %1 = reduce.max %0 lanes : f32\n"
                    "  map i r : %2 = sub %0, %1 : f32\n  map i r : %3 = mul %2, %2 : f32\n  reduce i|r : %4 = reduce.sum %3 lanes : f32\n"
                    "  map i r : %5 = div %3, %4 : f32\n  map i r : store y[" +
                    s + "*i + r], %5\n");
  };
  const auto product = [&](int64_t rows, int64_t columns, int64_t depth) {
    const std::string m = std::to_string(rows), n = std::to_string(columns), k = std::to_string(depth);
    return text("i: " + m + " parallel, j: " + n + " parallel, k: " + k + " contract",
                "  contract i j|k : %0 = load x[" + k + "*i + k] : f32\n  contract i j|k : %1 = load z[" + n +
                    "*k + j] : f32\n"
                    "  reduce i j|k : %2 = contract %0, %1 : f32\n  map i j : store y[" +
                    n + "*i + j], %2\n");
  };
  const auto kinds = [](const auto& lower, int64_t from, int64_t to) {
    std::set<std::string> texts;
    for (int64_t n = from; n <= to; ++n) texts.insert(lower(n));
    return texts.size();
  };
  CHECK(kinds(softmax, 2, 1000) == 1);
  CHECK(kinds([&](int64_t n) { return product(n, 64, 64); }, 25, 200) == 1);
  CHECK(kinds([&](int64_t n) { return product(n, 64, 64); }, 2, 24) <= 3);
  CHECK(kinds([&](int64_t n) { return product(64, n, 64); }, 2, 64) == 1);
  CHECK(kinds([&](int64_t n) { return product(64, n, 64); }, 65, 300) == 2);  // whole tiles alone, or what they leave over too
  CHECK(kinds([&](int64_t n) { return product(64, 64, n); }, 2, 200) == 1);
}

// Kernels of one body by their lengths, for several targets: what lowering finds among those of other lengths is what it makes of each
// alone. Gives how many were found.
int found_by_lengths(const std::vector<std::string>& kernels) {
  std::vector<ir::CpuTarget> targets;
  for (const int bits : {128, 256, 512}) {
    for (const bool often : {false, true}) {
      targets.push_back(ir::CpuTarget{bits});
      targets.back().often = often;
    }
  }
  int found = 0;
  std::vector<std::shared_ptr<const Lowered>> known;
  for (size_t n = 0; n < kernels.size() * targets.size(); ++n) {
    const std::string& text = kernels[n / targets.size()];
    const ir::CpuTarget& target = targets[n % targets.size()];
    CAPTURE(text);
    CAPTURE(target.vector_bits);
    const ir::Kernel kernel = ir::parse_kernel(text);
    const Lowered alone = passes::lower(kernel, target);
    auto lowered = std::make_shared<Lowered>(passes::lower(kernel, target, known));
    CHECK(ir::same_code(lowered->whole_tree(), alone.tree));
    CHECK(lowered->schedule == alone.schedule);
    CHECK(lowered->sizes == alone.sizes);
    CHECK(lowered->phase_cost == alone.phase_cost);
    CHECK(lowered->donations == alone.donations);
    CHECK(lowered->packing == alone.packing);
    CHECK(lowered->better_often == alone.better_often);
    const bool is_found =
        std::any_of(known.begin(), known.end(), [&](const auto& other) { return other->lengths && other->lengths == lowered->lengths; });
    found += is_found;
    if (is_found) continue;
    if (!lowered->known) lowered->known = std::make_shared<const ir::LoopTree>(std::move(lowered->tree));
    known.push_back(std::move(lowered));
  }
  return found;
}

TEST_CASE("a kernel that differs from a known one in lengths alone is not made again, and its sizes are right") {
  std::mt19937 random(7);
  const auto draw = [&](std::initializer_list<int> most) {
    const int up_to = most.begin()[random() % most.size()];
    return std::to_string(1 + random() % static_cast<unsigned>(up_to));
  };
  const std::string buffers = "kernel @k(x: f32 in[90000000], z: f32 in[90000000], y: f32 out[90000000]) {\n  axes ";
  const auto many = [](const auto& kernel) {
    std::vector<std::string> texts;
    for (int n = 0; n < 16; ++n) texts.push_back(kernel());
    return texts;
  };
  int products = 0, sums = 0, maps = 0;
  for (const char* columns : {"1", "7", "16", "40", "64", "100", "256"}) {
    for (const char* left : {"6000*i + k", "i + 300*k"}) {
      for (const char* right : {"6000*j + k", "j + 300*k", "2*j + 600*k"}) {
        products += found_by_lengths(many([&] {
          return buffers + "b: " + draw({3}) + " parallel, i: " + draw({8, 60, 300}) + " parallel, j: " + columns +
                 " parallel, k: " + draw({8, 300, 5000}) + " contract\n  contract b i j|k : %0 = load x[1800000*b + " + left +
                 "] : f32\n  contract b i j|k : %1 = load z[" + right + "] : f32\n  reduce b i j|k : %2 = contract %0, %1 : f32\n" +
                 "  map b i j : %3 = mul %2, %2 : f32\n  map b i j : store y[90000*b + 300*i + j], %3\n}\n";
        }));
      }
    }
    sums += found_by_lengths(many([&] {
      return buffers + "i: " + columns + " parallel, r: " + draw({8, 60, 2000}) +
             " inner\n  map i r : %0 = load x[300*r + i] : f32\n  reduce i|r : %1 = reduce.sum %0 columns : f32\n  map i : store y[i], "
             "%1\n}\n";
    }));
  }
  maps += found_by_lengths(many([&] {
    return buffers + "i: " + draw({8, 300}) + " parallel, j: " + draw({8, 300, 20000}) +
           " parallel\n  map i j : %0 = load x[30000*i + j] : f32\n  map i j : %1 = load z[j] : f32\n  map i j : %2 = add %0, %1 : f32\n" +
           "  map i j : store y[20000*i + j], %2\n}\n";
  }));
  MESSAGE("found: " << products << " products, " << sums << " sums, " << maps << " maps");
  CHECK(products > 1000);
  CHECK(sums > 100);
  CHECK(maps > 40);
}

TEST_CASE("another size is the same tree, so no compiler runs; a scalar kind of access is another") {
  auto key = [](const std::string& n) {
    return ir::print(passes::lower(ir::parse_kernel("kernel @k(x: f32 in[" + n + "], y: f32 out[" + n + "]) {\n  axes i: " + n +
                                                    " parallel\n  map i : %0 = load x[i] : f32\n  map i : store y[i], %0\n}\n"),
                                   ir::CpuTarget{256})
                         .tree,
                     false);
  };
  CHECK(key("1000") == key("1001"));
  CHECK(key("1000") == key("5000000"));
}

TEST_CASE("the text of an attention is lowered if its queries are enough, and refused with the reason if they are few") {
  const auto lowered = [](const std::string& queries) {
    const std::string text =
        "call @attention(x0: f32 in[32], x1: f32 in[96], x2: f32 in[96], y0: f32 out[32]) {\n"
        "  %0 = view x0 : f32[" +
        queries +
        ",4]\n  %1 = view x1 : f32[9,4]\n  %2 = view x2 : f32[9,4]\n"
        "  %3 = attention %0, %1, %2 causal=0 scale=0.5 rows=0 result=output : f32[" +
        queries + ",4]\n  store y0, %3\n}\n";
    return lower(ir::parse_call(text), ir::CpuTarget{512}).schedule;
  };
  for (const char* queries : {"5", "8"}) CHECK(lowered(queries) == "attention");
  CHECK_THROWS_WITH_AS(lowered("4"), "no CPU schedule takes call 'attention': vectors lie along the queries, which are few", ir::IrError);
}

}  // namespace
}  // namespace tenon::passes
