// What explain says of a GPU's kernels: what the compiler gave each function, and who computes a product, by which estimate.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

using namespace tenon;

namespace {

const Device kGpu("cuda:0");

std::vector<std::string> lines(const std::string& text, const std::string& start) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(start)) found.push_back(line);
  }
  return found;
}

Tensor filled(IntArrayRef sizes) { return rand(sizes, kGpu); }

struct Case {
  const char* name;
  Tensor value;
  size_t functions;    // lines about code
  const char* by;      // who computes the product; null: there is none
};

}  // namespace

TEST_CASE("explain: the registers, shared memory and spills of each function") {
  const Tensor x = filled({64, 200}), small = filled({4, 4}), large = filled({2048, 2048});
  eval({x, small, large});
  const Case cases[] = {
      {"a map", x * 2 + 1, 1, nullptr},
      {"a sort, several functions", x.argsort(1), 1, nullptr},
      {"a small product with an epilogue", relu(small.matmul(small)), 1, "this kernel"},
      {"a large product", large.matmul(large), 0, "the library"},
  };
  for (const Case& c : cases) {
    const std::string name = c.name, text = explain(c.value);
    CAPTURE(name);
    CAPTURE(text);
    const std::vector<std::string> code = lines(text, "  code "), product = lines(text, "  product ");
    CHECK(code.size() >= c.functions);
    for (const std::string& line : code) {
      int registers = 0, shared = -1;
      const size_t colon = line.find(": ");
      REQUIRE(colon != std::string::npos);
      CHECK(std::sscanf(line.c_str() + colon, ": %d registers, %d B shared", &registers, &shared) == 2);
      CHECK(registers > 0);
      CHECK(registers <= 255);
      CHECK(shared >= 0);
      CHECK(line.ends_with("no spills"));
    }
    CHECK(product.size() == (c.by ? 1u : 0u));
    if (!c.by) continue;
    double generated = 0, library = 0;
    const size_t estimate = product[0].find("; estimated: ");
    REQUIRE(estimate != std::string::npos);
    CHECK(product[0].starts_with(std::string("  product    by ") + c.by));
    CHECK(std::sscanf(product[0].c_str() + estimate, "; estimated: generated %lf us, a call of the library %lf us", &generated, &library) == 2);
    CHECK((library < generated) == (std::string(c.by) == "the library"));
  }
}

TEST_CASE("explain: asking compiles what a run would, and the run finds it") {
  const Tensor x = filled({37}), y = (x * 3).exp() + 0.25;
  explain(y);
  reset_counters();
  eval({y});
  CHECK(counters().kernels_compiled == 0);
  CHECK(counters().memory_hits >= 1);
}
