// What explain says of a GPU's kernels: what the compiler gave each function, and who computes a product, by which estimate.
#include <tenon/tenon.h>

#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/simulator.h"
#include "runtime/base/options.h"

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
  size_t functions;  // lines about code
  const char* by;    // who computes the product; null: there is none
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
    CHECK(std::sscanf(product[0].c_str() + estimate, "; estimated: generated %lf us, a call of the library %lf us", &generated, &library) ==
          2);
    CHECK((library < generated) == (std::string(c.by) == "the library"));
  }
}

TEST_CASE("explain: what each access takes of memory, a line an access") {
  const Tensor x = filled({64, 256}), index = arange(64, kGpu).flip(0);
  const Tensor odd = x.slice(1, 1, 256), turned = x.transpose(0, 1);
  eval({x, index});
  const auto accesses = [](const Tensor& value) {
    std::string text;
    for (const std::string& line : lines(explain(value), "  access     ")) text += line.substr(13) + "\n";
    return text;
  };
  CHECK(accesses(x * 2) ==
        "map: reads x0, 16 B a thread: 16.00 sectors a warp, 16.00 at least\nmap: writes y0, 16 B a thread: 16.00 sectors a warp, 16.00 at "
        "least\n");
  CHECK(accesses(odd * 2) ==
        "map: reads x0, 4 B a thread: 4.89 sectors a warp, 4.00 at least\nmap: writes y0, 4 B a thread: 4.00 sectors a warp, 4.00 at "
        "least\n");
  CHECK(accesses((turned * 2).contiguous()) ==
        "tiles: reads x0, 16 B a thread: 16.00 sectors a warp, 16.00 at least\n"
        "tiles: writes shared tile0, 4 B a thread: 2.00 rounds of banks a warp, 1.00 at least, conflicts of 2 ways\n"
        "tiles: reads shared tile0, 4 B a thread: 2.00 rounds of banks a warp, 1.00 at least, conflicts of 2 ways\n"
        "tiles: writes y0, 16 B a thread: 16.00 sectors a warp, 16.00 at least\n");
  CHECK(accesses(x.index_select(0, index) * 2) ==
        "map: reads x0, 8 B a thread: 1.00 sectors a warp, 1.00 at least\nmap: reads x1, 16 B a thread: where data say\n"
        "map: writes y0, 16 B a thread: 16.00 sectors a warp, 16.00 at least\n");
  const Tensor large = filled({4096, 4096});
  eval(large);
  CHECK(accesses(large * 2).find(" at least (") != std::string::npos);  // some of its blocks
}

TEST_CASE("explain: asking compiles what a run would, and the run finds it") {
  const Tensor x = filled({37}), y = (x * 3).exp() + 0.25;
  explain(y);
  reset_counters();
  eval({y});
  CHECK(counters().kernels_compiled == 0);
  CHECK(counters().memory_hits >= 1);
}

TEST_CASE("explain: a text that spills registers is compiled a second time, with all of them, and that code runs") {
  const test::Simulator& sim = test::Simulator::get();
  if (!sim) return;
  const runtime::Options before = runtime::options();
  runtime::Options without_disk = before;
  without_disk.disk_cache = false;
  runtime::set_options(without_disk);
  const Tensor x = filled({41});
  eval(x);
  struct Compiled {
    long texts, programs;
    std::string error;
  };
  // From a cache that is empty; the nth compilation is refused.
  const auto compile = [&](bool spills, int refused) {
    clear_caches();
    sim.set("spills", spills);
    if (refused > 0) sim.fault("nvrtcCompileProgram", refused, 6);
    const long texts = sim.calls("nvrtcCompileProgram"), programs = sim.calls("nvrtcGetCUBINSize");
    std::string error;
    bool is_right = false;
    try {
      is_right = equal(((x * 3).exp() + 0.125).cpu(), (x.cpu() * 3).exp() + 0.125);
    } catch (const Error& e) {
      error = e.what();
    }
    sim.heal();
    CHECK(is_right == (refused == 0));
    return Compiled{sim.calls("nvrtcCompileProgram") - texts, sim.calls("nvrtcGetCUBINSize") - programs, error};
  };
  const Compiled plain = compile(false, 0), twice = compile(true, 0), first = compile(true, 1), second = compile(true, 2);
  sim.set("spills", 0);
  runtime::set_options(before);
  CHECK(plain.texts >= 1);
  CHECK(plain.programs == plain.texts);
  CHECK(twice.texts == 2 * plain.texts);
  CHECK(twice.programs == plain.programs);
  CHECK(first.error.find("NVRTC refused the text") != std::string::npos);
  CHECK(first.texts == 1);
  CHECK(second.error.find("NVRTC refused the text") != std::string::npos);
  CHECK(second.texts == 2);
}
